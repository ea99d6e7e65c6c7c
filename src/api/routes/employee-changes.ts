import Type, { type Static } from 'typebox';
import { createGroupCommit, KEY_MAX_CHARACTERS, keyProblem } from '../../employment/accept.ts';
import { type ChangeKind, checkChange } from '../../employment/change.ts';
import { CHANGE_SCHEMAS } from '../../employment/change-view.ts';
import { CHANGE_KINDS } from '../../outbox/manual.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { broken, invalid, Refusal } from '../problem.ts';
import { type Api, closed, named, ownInstant } from '../schemas.ts';
import { exceptBody } from '../validation.ts';

/** RFC draft-ietf-httpapi-idempotency-key-header, as field names reach us. */
const KEY_HEADER = 'idempotency-key';

const Receipt = closed(
  {
    change_id: Type.String({ description: 'The id that it was accepted under.' }),
    kind: Type.Enum([...CHANGE_KINDS], { description: 'What was reported.' }),
    employee_id: Type.String({ description: "Payroll's id of the employee." }),
    state: Type.Enum(['pending'], {
      description:
        'It is sent from now on until it is delivered: `GET /v1/employee-changes/{change_id}` tells.',
    }),
    created_at: ownInstant('When it was accepted.'),
  },
  'The change is on the disk and owed to the service: payroll may forget it.',
);
type Receipt = Static<typeof Receipt>;

const OPERATIONS = {
  'new-hire': { operationId: 'reportNewHire', summary: 'Report a new employee' },
  termination: { operationId: 'reportTermination', summary: 'Report a departing employee' },
  demographic: { operationId: 'reportMove', summary: "Report an employee's new address" },
  'compensation-change': {
    operationId: 'reportCompensationChange',
    summary: 'Report a change of pay or status',
  },
} as const satisfies Record<ChangeKind, object>;

const DESCRIPTION =
  'Checked in full, then kept until the service has taken it; the changes of one employee reach it in the order ' +
  'accepted. With an `Idempotency-Key` the same change again is answered as the first time, for ever, and another ' +
  'change under the same key is refused. Without one each request is a change of its own.';

/** Payroll reports a change; from the 202 on it is the sidecar's to deliver. */
export function employeeChangeRoutes(app: Api, { db, encryptor, now, log, wakeSend }: ApiParts): void {
  const gathering = createGroupCommit({ db, encryptor, now });
  const Named = named(app, 'ChangeReceipt', Receipt);
  const headers = Type.Object({
    [KEY_HEADER]: Type.Optional(
      Type.String({ description: `1 to ${KEY_MAX_CHARACTERS} visible ASCII characters.` }),
    ),
  });

  for (const kind of CHANGE_KINDS) {
    app.post(
      `/v1/employee-changes/${kind}`,
      {
        config: { scope: 'changes:write', refuses: ['invalid-request', 'conflict', 'change-refused'] },
        // The employment room checks the body, and the handler the one header.
        validatorCompiler: (part) => (part.httpPart === 'headers' ? () => true : exceptBody(part)),
        schema: {
          ...OPERATIONS[kind],
          tags: ['Employment'],
          description: DESCRIPTION,
          headers,
          body: Type.Unsafe<unknown>(CHANGE_SCHEMAS[kind]),
          response: { 202: Named },
        },
      },
      async (request, reply) => {
        const idempotencyKey = keyOf(request.headers[KEY_HEADER]);
        const checked = checkChange(kind, request.body);
        if (!checked.ok) throw broken('change-refused', checked.problems.map(ofTheBody));
        const { change } = checked;
        const accepted = await gathering.accept({ change, idempotencyKey });
        if (accepted.outcome === 'conflict') throw usedBefore();
        const { outcome, changeId, createdAt } = accepted;
        if (outcome === 'accepted') {
          wakeSend();
          log.info({ request_id: changeId, kind, ...by(request) }, 'an employment change was accepted');
        }
        const receipt: Receipt = {
          change_id: changeId,
          kind,
          employee_id: change.body.employee_id,
          state: 'pending',
          created_at: createdAt,
        };
        return reply.code(202).send(receipt);
      },
    );
  }
}

function keyOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  const problem = keyProblem('Idempotency-Key', header);
  if (problem !== null) throw invalid([problem]);
  return header;
}

function usedBefore(): Refusal {
  return new Refusal(
    'conflict',
    'the Idempotency-Key came with another change before, and keys are kept for ever: a new change needs a new key',
  );
}

/** A problem of the body as a whole has a name too. */
function ofTheBody<P extends { path: string }>(problem: P): P {
  return problem.path === '' ? { ...problem, path: 'body' } : problem;
}
