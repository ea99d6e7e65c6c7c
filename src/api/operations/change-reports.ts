/** Reports of single employment changes. With the 202, the sidecar takes over their delivery. */
import Type from 'typebox';
import { claimedAt } from '../../census/elsewhere.ts';
import * as field from '../../contract/fields.ts';
import { createGroupCommit, KEY_MAX_CHARACTERS } from '../../employment/accept.ts';
import { CHANGE_SCHEMAS, checkChange } from '../../employment/change.ts';
import { type Limits, limitProblem } from '../../employment/limits.ts';
import { conflict, notFound, type Problem, refused } from '../../errors.ts';
import { nearWarning } from '../../ledger/near-ids.ts';
import { CHANGE_KINDS, type ChangeKind } from '../../outbox/manual.ts';
import type { Caller } from '../../security/tokens.ts';
import { oncePer } from '../once-per.ts';
import { Answer, operation, type Parts } from '../operation.ts';
import { PROBLEMS } from '../problem-types.ts';

/** draft-ietf-httpapi-idempotency-key-header, in lower case as Node provides header names. */
export const KEY_HEADER = 'idempotency-key';
export const Key = Type.Optional(
  field.text(
    `Identifies the change when it is sent again: 1 to ${KEY_MAX_CHARACTERS} visible ASCII characters.`,
  ),
);

/** The fields of an accepted change that probably names the wrong employee. */
export const NEAR_FIELDS = {
  near_employee_id: Type.Optional(
    field.text(
      'For an employee who is in no census and no hire: the ID in the roster that differs only by zeros at its front, case, width or blanks.',
    ),
  ),
  warnings: Type.Optional(
    Type.Array(field.FieldProblem, { description: 'What is probably a mistake. It blocks nothing.' }),
  ),
};

const Receipt = field.component(
  'EmployeeChangeReceipt',
  {
    id: field.text('The ID of the change.'),
    kind: Type.Enum([...CHANGE_KINDS], { description: 'The kind of change.' }),
    employee_id: field.text('The employee ID.'),
    state: Type.Enum(['pending', 'canceled'], {
      description:
        '`pending`: the change is sent until it is delivered. See `GET /v1/employee-changes/{change_id}`. `canceled`: sending was off, so it is not sent.',
    }),
    created_at: field.text('The time of acceptance.'),
    ...NEAR_FIELDS,
  },
  'The change is stored and, unless sending was off, will be sent to the benefits service.',
);

/** Concurrent reports are committed together. */
const groupCommitOf = oncePer((parts: Parts) => createGroupCommit(parts));

function reportOperation(kind: ChangeKind, id: string, summary: string) {
  return operation({
    id,
    method: 'POST',
    path: `/v1/employee-changes/${kind}`,
    scope: 'changes:write',
    employers: 'request',
    action: 'change.report',
    summary,
    description:
      'Validates the change and stores it until the benefits service accepts it. The changes of one employee are sent in the order ' +
      'they were accepted. With an `Idempotency-Key`, the same change always returns the first response, and a different ' +
      'change with the same key is a 409. Without a key, each request is a separate change.',
    headers: Type.Object({ [KEY_HEADER]: Key }),
    body: Type.Unsafe<unknown>(CHANGE_SCHEMAS[kind]),
    isBodyUnchecked: true,
    response: { 202: Receipt },
    refuses: ['INVALID_REQUEST', 'CONFLICT', 'CHANGE_REFUSED', 'EMPLOYEE_ELSEWHERE'],
    async run(call, parts) {
      const actor = call.actor();
      const checked = checkChange(kind, call.body);
      if (!checked.ok) throw refused('CHANGE_REFUSED', checked.problems);
      const { change } = checked;
      const { idempotencyKey } = call;
      const accepted = await groupCommitOf(parts).accept({
        ...{ change, idempotencyKey, actor },
        limits: limitsOf(call),
      });
      if (accepted.outcome === 'conflict') {
        throw conflict(
          'This Idempotency-Key was used for another change. Keys never expire: send a new change with a new key.',
        );
      }
      if (accepted.outcome === 'employee-unknown' && accepted.near === undefined) throw notFound('employee');
      if (accepted.outcome === 'elsewhere') throw refused('EMPLOYEE_ELSEWHERE', [limitProblem(accepted)]);
      if (!('changeId' in accepted)) {
        call.noteRefused(PROBLEMS.NOT_FOUND.status);
        throw refused('CHANGE_REFUSED', [limitProblem(accepted)]);
      }
      const { outcome, changeId, createdAt, state, near } = accepted;
      const isUnchanged = outcome !== 'accepted';
      if (!isUnchanged) parts.wakeSend();
      const { employee_id } = change.body;
      const stored = { id: changeId, kind, employee_id, state, created_at: createdAt } as const;
      return new Answer({ ...stored, ...nearFields(near) }, { isUnchanged });
    },
    logs: (_call, { id }) => [{ request_id: id, kind }, 'an employment change was accepted'],
  });
}

/** Returns the limits of the caller's token; null if it has none. */
export function limitsOf({ caller }: { readonly caller: Caller | null }): Limits | null {
  if (caller === null || caller.employers === null) return null;
  return { owner: caller.tokenId ?? caller.person ?? '', employers: caller.employers, claimedAt };
}

export function nearFields(near: string | undefined): { near_employee_id?: string; warnings?: Problem[] } {
  return near === undefined ? {} : { near_employee_id: near, warnings: [nearWarning('employee_id', near)] };
}

export const reportNewHire = reportOperation('new-hire', 'reportNewHire', 'Report a new hire');
export const reportTermination = reportOperation('termination', 'reportTermination', 'Report a termination');
export const reportMove = reportOperation('demographic', 'reportMove', 'Report a change of address or name');
export const reportCompensationChange = reportOperation(
  'compensation-change',
  'reportCompensationChange',
  'Report a change of pay or employment status',
);
