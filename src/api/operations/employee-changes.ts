/** Employment changes that were reported: their delivery, and what a person does about it. */
import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import type { Trx } from '../../database/tables.ts';
import { readBody } from '../../employment/bodies.ts';
import {
  type AcceptedChange,
  ATTEMPTS_SHOWN,
  actOnChange,
  findChange,
  listChanges,
} from '../../employment/changes.ts';
import { notFound } from '../../errors.ts';
import { EMPTY_PAGE } from '../../formats/cursor.ts';
import { CHANGE_KINDS, cancelManually, releaseManually, retryManually } from '../../outbox/manual.ts';
import { SENDING_OFF } from '../../outbox/pilot.ts';
import { type Acting, forEmployers, recordedEmployers } from '../../security/audit.ts';
import { actingIn, alsoNeeds, writeReadDown } from '../auth.ts';
import { assertKnownFilter, employersOf, seesEmployer } from '../employers.ts';
import { type Call, operation, type Parts } from '../operation.ts';
import { cursor, flag, idFilter, instant, limit, ownId, pageOf } from '../schemas.ts';

const STATES = ['pending', 'sending', 'delivered', 'rejected', 'canceled'] as const;
const status = field.nullable(field.integer('The HTTP status of the response. Null if there was none.'));

const SUMMARY = {
  id: field.text('The ID of the change.'),
  kind: Type.Enum([...CHANGE_KINDS], { description: 'The kind of change.' }),
  employee_id: field.text('The employee ID.'),
  state: Type.Enum([...STATES], {
    description:
      '`pending`: it will be sent automatically. `rejected`: the benefits service rejected it and a person must decide.',
  }),
  reason: field.nullableText('Why the change was rejected or canceled, or the result of the last attempt.'),
  status,
  created_at: field.text('The time of acceptance.'),
  due_at: field.nullableText('The time of the next attempt, if nothing blocks it. Null when finished.'),
  finished_at: field.nullableText('The time the change was delivered, rejected or canceled.'),
  attempts: Type.Integer({ minimum: 0, description: 'The number of attempts.' }),
  may_have_been_applied: field.boolean(
    'The change is not delivered, but a response was lost, so the benefits service may have applied it.',
  ),
  blocking: field.boolean(
    "A rejected new hire blocks the employee's later changes until it is retried, canceled or released.",
  ),
  earlier_change_id: field.nullableText(
    'The earlier change of the employee that must be sent first. Null if there is none.',
  ),
  erased_at: field.nullableText(
    'The time retention (`RETENTION_REQUESTS`) deleted the attempts. Null if all are shown.',
  ),
  effective_on: field.nullableText(
    'The date from which the change applies to payroll, if the caller stated one.',
  ),
  pay_group: field.nullableText("The employee's pay group, if the caller stated one."),
};

export const ChangeSummary = field.component(
  'EmployeeChangeSummary',
  SUMMARY,
  'An employment change, without its contents.',
);

/** Reports whether a change was canceled because it was reported while sending was off. */
export function isUnsent({ state, reason }: Static<typeof ChangeSummary>): boolean {
  return state === 'canceled' && reason === SENDING_OFF;
}

const AttemptShown = field.component('DeliveryAttempt', {
  attempt: Type.Integer({ minimum: 1, description: 'The number of the attempt, from 1.' }),
  started_at: field.text('The start time.'),
  finished_at: field.nullableText('The end time. Null while the attempt is running.'),
  status,
  reason: field.nullableText('The result of the attempt. Null while the attempt is running.'),
});

const WholeChange = field.component(
  'EmployeeChange',
  {
    ...SUMMARY,
    last_attempts: Type.Array(AttemptShown, {
      description: `Up to ${ATTEMPTS_SHOWN} attempts, newest first.`,
    }),
    body: Type.Optional(
      Type.Unsafe<Readonly<Record<string, unknown>> | null>({
        type: ['object', 'null'],
        description:
          'With `body=true`: the reported change, with only the last four digits of an SSN. Null after it is erased.',
      }),
    ),
    body_absent: Type.Optional(field.nullableText('With `body=true`: why there is no body.')),
    response: Type.Optional(
      field.nullableText('With `body=true`: the first 4 KiB of the response that rejected the change.'),
    ),
  },
  'An employment change and its attempts.',
);

const ChangeId = field.closed({ change_id: { ...ownId, description: 'The ID of the change.' } });

export const listEmployeeChanges = operation({
  id: 'listEmployeeChanges',
  method: 'GET',
  path: '/v1/employee-changes',
  scope: 'changes:read',
  employers: 'list',
  summary: 'List employment changes',
  description: 'Lists changes without their contents, newest first. Parameters are combined with AND.',
  query: field.closed({
    state: Type.Optional(field.oneOfDescribed(STATES, 'Only changes in this state.')),
    employee_id: idFilter('Only results for this employee.'),
    employer_id: idFilter(
      'Only changes of this employer: a hire states it, and another change is about the employers of its employee when it was reported.',
    ),
    kind: Type.Optional(field.oneOfDescribed(CHANGE_KINDS, 'Only changes of this kind.')),
    from: instant('Only changes accepted at or after this time.'),
    until: instant('Only changes accepted before this time.'),
    cursor,
    limit,
  }),
  response: { 200: pageOf(ChangeSummary) },
  refuses: ['NOT_FOUND'],
  async run(call, { db }) {
    const { employee_id, employer_id, ...filter } = call.query;
    await assertKnownFilter(call, { db }, employer_id);
    if (employer_id !== undefined && !seesEmployer(call, employer_id)) return EMPTY_PAGE;
    const ids = { employeeId: employee_id, employerId: employer_id, employers: employersOf(call) };
    return listChanges(db, { ...filter, ...ids }, call.query);
  },
});

export const getEmployeeChange = operation({
  id: 'getEmployeeChange',
  method: 'GET',
  path: '/v1/employee-changes/:change_id',
  scope: 'changes:read',
  employers: 'change',
  summary: 'Get an employment change',
  description:
    'Returns the change with its attempts. `body=true` adds its contents and, ' +
    'if the benefits service rejected it, the response. This is personal data: it requires the scope `pii:read`, and each read is recorded.',
  params: ChangeId,
  query: field.closed({
    body: flag('Include the contents. Also requires the scope `pii:read`, and each read is recorded.'),
  }),
  response: { 200: WholeChange },
  refuses: ['NOT_FOUND'],
  async run(call, parts): Promise<Static<typeof WholeChange>> {
    const { db } = parts;
    const { change_id } = call.params;
    if (call.query.body === true) alsoNeeds(call, 'pii:read');
    const change = await findChange(db, change_id, employersOf(call));
    if (change === null) throw notFound('employment change');
    if (call.query.body !== true) return change;
    const made = { action: 'change.read', resource: change_id, employee: change.employee_id } as const;
    const employers = await recordedEmployers(db, 'change.report', change_id);
    await writeReadDown(parts, call, ...forEmployers(made, employers));
    const read = await readBody(db, parts.encryptor, change_id);
    if (read === null) throw notFound('employment change');
    return { ...change, body: read.body, body_absent: read.absent, response: read.response };
  },
  logs: (call, { id, kind }) =>
    call.query.body === true
      ? [{ request_id: id, kind }, 'the contents of an employment change were read']
      : null,
});

/** Acts on a change at the database's time and returns the change as it is afterward. */
async function acted(
  call: Pick<Call, 'caller' | 'actor'> & { params: { change_id: string } },
  { db, sharedNow, wakeSend }: Parts,
  act: (trx: Trx, acting: Acting) => Promise<void>,
): Promise<AcceptedChange> {
  const acting = actingIn(call, await sharedNow(db));
  const change = await actOnChange(db, call.params.change_id, (trx) => act(trx, acting), employersOf(call));
  wakeSend();
  return change;
}

function logged({ id, kind }: AcceptedChange, what: string) {
  return [{ request_id: id, kind }, `an employment change was ${what}`] as const;
}

export const retryEmployeeChange = operation({
  id: 'retryEmployeeChange',
  method: 'POST',
  path: '/v1/employee-changes/:change_id/retry',
  scope: 'changes:write',
  employers: 'change',
  action: 'change.retry',
  summary: 'Retry a change now',
  description:
    'A rejected change is sent before the changes that wait for it, with the same idempotency key. Fails with 409 if a newer change ' +
    'of the employee was delivered, unless `force` is true. A pending change is sent immediately.',
  params: ChangeId,
  body: field.component(
    'RetryRequest',
    {
      force: flag('Retry even if a newer change of the employee was delivered, which this change may undo.'),
    },
    'Options of a retry.',
  ),
  isBodyOptional: true,
  response: { 202: ChangeSummary },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  run: (call, parts) =>
    acted(call, parts, (trx, acting) => {
      return retryManually(trx, call.params.change_id, { force: call.body.force === true, ...acting });
    }),
  logs: ({ body }, change) => logged(change, body.force === true ? 'retried by force' : 'retried'),
});

export const cancelEmployeeChange = operation({
  id: 'cancelEmployeeChange',
  method: 'POST',
  path: '/v1/employee-changes/:change_id/cancel',
  scope: 'changes:write',
  employers: 'change',
  action: 'change.cancel',
  summary: 'Cancel a change',
  description:
    'Cancels a pending or rejected change. It is never sent, its contents are erased, and the changes that wait for it ' +
    'are sent. Facts that the roster recorded from it remain.',
  params: ChangeId,
  body: field.component(
    'CancelRequest',
    { reason: field.reasonField('The reason for the cancellation. It is stored with the change.') },
    'The reason for canceling a change.',
  ),
  response: { 200: ChangeSummary },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  run: (call, parts) =>
    acted(call, parts, (trx, acting) => {
      return cancelManually(trx, call.params.change_id, { reason: call.body.reason, ...acting });
    }),
  logs: (_call, change) => logged(change, 'canceled'),
});

export const releaseEmployeeChange = operation({
  id: 'releaseEmployeeChange',
  method: 'POST',
  path: '/v1/employee-changes/:change_id/release',
  scope: 'changes:write',
  employers: 'change',
  action: 'change.release',
  summary: 'Release the changes that wait for a rejected new hire',
  description: 'Use it when the benefits service already knows the employee. The new hire remains rejected.',
  params: ChangeId,
  response: { 200: ChangeSummary },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  run: (call, parts) =>
    acted(call, parts, (trx, acting) => releaseManually(trx, call.params.change_id, acting)),
  logs: (_call, change) => logged(change, 'released'),
});
