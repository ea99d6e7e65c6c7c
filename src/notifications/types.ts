/**
 * The types of notifications: what each one has, who may be told in which order, and its sentence. Never personal data.
 *
 * To add a type, add it to `NOTIFICATIONS`: the reference, the client's types, `benefits-sidecar/testing` and the docs follow. Then
 * the module that decides it calls `notify` in the transaction of its cause (`store.ts`). If no transaction decides it, the module
 * exports a `Computed` (`computed.ts`), which `runtime/serving.ts` lists.
 */
import Type, { type Static, type TProperties } from 'typebox';
import * as field from '../contract/fields.ts';
import { describeUnknown, UNKNOWN_KINDS } from '../contract/unknown.ts';
import { configError } from '../environment.ts';
import type { NotifyConfig } from '../notify-config.ts';

/** The subject of everything that is told of a payroll run. */
export const runSubject = (runId: string): string => `run:${runId}`;

const run = {
  run_id: field.text('The ID of the payroll run.'),
  employer_id: field.text('The ID of its employer.'),
  pay_date: field.text('Its pay date.'),
};

/** The states of a census sync that needs payroll or a person. */
export const CENSUS_NEEDED = ['waiting', 'held', 'failed'] as const;
export const CENSUS_REASONS = {
  'no-census': 'no census is staged',
  'census-too-old': 'the staged census is older than CENSUS_MAX_AGE',
  'file-format': 'the census is not as its confirmed file format',
  'employees-missing': 'the census lacks many employees of the last upload',
  'employees-elsewhere': 'the census names employees of another employer',
  'breaks-contract': 'the census breaks the contract',
  'employer-id': 'the employer ID cannot be part of a URL',
  'upload-rejected': 'the benefits service rejected the upload',
} as const;
export type CensusReason = keyof typeof CENSUS_REASONS;

/** `subject`: notifications of one subject are sent in order. `data` has ids, dates and codes, and `text` is made from it alone. */
function type<P extends TProperties>(
  summary: string,
  properties: P,
  subject: (data: Static<ReturnType<typeof field.closed<P>>>) => string,
  text: (data: Static<ReturnType<typeof field.closed<P>>>) => string,
) {
  return { summary, data: field.closed(properties), subject, text };
}

/** Every type. Its name never changes; fields may be added to its data. */
export const NOTIFICATIONS = {
  'run.finalized': type(
    'A payroll run was finalized',
    run,
    ({ run_id }) => runSubject(run_id),
    ({ run_id, employer_id, pay_date }) =>
      `Payroll run ${run_id} of employer ${employer_id} for ${pay_date} is final. Take its deductions.`,
  ),
  'run.voided': type(
    'A payroll run was voided',
    run,
    ({ run_id }) => runSubject(run_id),
    ({ run_id, employer_id, pay_date }) =>
      `Payroll run ${run_id} of employer ${employer_id} for ${pay_date} was voided. Its deductions no longer count.`,
  ),
  'run.outdated': type(
    'A fact or a report of amounts taken about an employee of an open run arrived after its readiness was read',
    run,
    ({ run_id }) => runSubject(run_id),
    ({ run_id, employer_id, pay_date }) =>
      `Payroll run ${run_id} of employer ${employer_id} for ${pay_date} may have changed since it was reviewed. Review it again.`,
  ),
  'approval.requested': type(
    'A payroll run, or the end of second approval, waits for a second person',
    {
      employer_id: field.text('The ID of the employer.'),
      action: field.oneOfDescribed(
        ['finalize', 'void', 'stop-requiring'],
        'What waits: finalizing or voiding a run, or the request to stop requiring second approval.',
      ),
      run_id: field.nullableText('The ID of the payroll run. Null for `stop-requiring`.'),
      pay_date: field.nullableText('Its pay date.'),
    },
    ({ employer_id, run_id }) => (run_id === null ? `approval:${employer_id}` : runSubject(run_id)),
    ({ employer_id, action, run_id, pay_date }) =>
      run_id === null
        ? `Another person must confirm that payroll runs of employer ${employer_id} no longer need a second approval.`
        : `Payroll run ${run_id} of employer ${employer_id} for ${pay_date} waits for a second person: one approves it, and another one can ${action} it.`,
  ),
  'readiness.changed': type(
    'Other checks of the ledger fail for an employer, or none',
    {
      employer_id: field.text('The ID of the employer.'),
      ready: field.boolean('No check fails.'),
      failed_checks: Type.Array(Type.String(), { description: 'The IDs of the failed checks.' }),
    },
    ({ employer_id }) => `readiness:${employer_id}`,
    ({ employer_id, ready, failed_checks }) =>
      ready
        ? `No check of the ledger fails for employer ${employer_id} anymore.`
        : `Employer ${employer_id} is not ready for payroll. Failed checks: ${failed_checks.join(', ')}.`,
  ),
  'schedule.ending': type(
    'A pay schedule ends within 60 days',
    {
      employer_id: field.text('The ID of the employer.'),
      pay_frequency: field.text('The pay frequency of the schedule.'),
      pay_group: field.nullableText('Its pay group.'),
      last_pay_date: field.text('Its last pay date.'),
    },
    ({ employer_id, pay_frequency, pay_group }) =>
      `schedule:${JSON.stringify([employer_id, pay_frequency, pay_group])}`,
    ({ employer_id, pay_frequency, pay_group, last_pay_date }) =>
      `The ${pay_frequency} pay schedule${pay_group === null ? '' : ` ${pay_group}`} of employer ${employer_id} ends with ${last_pay_date}. Add the next pay dates.`,
  ),
  'census.needed': type(
    'A census sync waits, is held or failed',
    {
      sync_id: field.text('The ID of the newest census sync that needs it.'),
      employer_id: field.text('The ID of the employer.'),
      state: field.oneOfDescribed(CENSUS_NEEDED, 'The state of the sync.'),
      reason: field.oneOfDescribed(
        Object.keys(CENSUS_REASONS) as CensusReason[],
        `Why: ${Object.entries(CENSUS_REASONS)
          .map(([reason, why]) => `\`${reason}\`: ${why}`)
          .join('; ')}.`,
      ),
    },
    ({ employer_id }) => `census:${employer_id}`,
    ({ sync_id, employer_id, state, reason }) =>
      `A census of employer ${employer_id} is needed: sync ${sync_id} is ${state}, because ${CENSUS_REASONS[reason]}.`,
  ),
  'change.rejected': type(
    'The benefits service rejected an employment change',
    {
      change_id: field.text('The ID of the employment change.'),
      employee_id: field.text('The ID of the employee.'),
    },
    ({ change_id }) => `change:${change_id}`,
    ({ change_id, employee_id }) =>
      `The benefits service rejected the employment change ${change_id} of employee ${employee_id}. Correct it, retry it or cancel it.`,
  ),
  'event.quarantined': type(
    'An event was quarantined',
    { event_id: field.text('The ID of the event.') },
    ({ event_id }) => `event:${event_id}`,
    ({ event_id }) =>
      `The event ${event_id} was not understood and is quarantined. Reprocess it after a fix, or dismiss it.`,
  ),
  'contract.changed': type(
    'An event had something that the contract does not know, for the first time. Names of fields, no values',
    {
      event_id: field.text('The ID of the event.'),
      event_type: field.text('Its type, or `[…]`.'),
      field: field.text('The path of the field. A name that may be personal data is `[…]`.'),
      kind: field.oneOfDescribed(
        UNKNOWN_KINDS,
        'A new field, a new value of a list, another type of value, or a new type of event.',
      ),
    },
    () => 'contract',
    ({ event_id, event_type, field, kind }) =>
      `The event ${event_id} of type ${event_type} has ${describeUnknown({ field, kind })}, which the contract does not know.`,
  ),
  'events.silent': type(
    'No event arrived for longer than `EVENTS_SILENT_AFTER`',
    { last_event_at: field.nullableText('When the last event arrived. Null if none ever did.') },
    () => 'events',
    ({ last_event_at }) =>
      `${last_event_at === null ? 'No event has ever arrived' : `No event has arrived since ${last_event_at}`}. Check the endpoint in the provider's portal.`,
  ),
  'sending.paused': type(
    'The circuit breaker paused sending',
    {},
    () => 'sending',
    () => 'Sending to the benefits service is paused: its address or the API key is wrong.',
  ),
  'sending.resumed': type(
    'Sending was resumed',
    {},
    () => 'sending',
    () => 'Sending to the benefits service is active again.',
  ),
  'ledger.changed': type(
    'The ledger has newer positions. Sent at most once a second; one that waits has the newest position',
    { position: field.integer('The newest position of the ledger.') },
    () => 'ledger',
    ({ position }) => `The ledger has changed up to position ${position}. Read the change feed.`,
  ),
  'notification.test': type(
    'A person or a program tested the address',
    {},
    () => 'test',
    () => 'This is a test notification of benefits-sidecar. Nothing happened.',
  ),
} as const;

export type NotificationType = keyof typeof NOTIFICATIONS;
export type DataOf<T extends NotificationType> = Static<(typeof NOTIFICATIONS)[T]['data']>;

export const NOTIFICATION_TYPES = Object.keys(NOTIFICATIONS) as NotificationType[];

/** Sent although `NOTIFY_TYPES` does not name it. */
export const TEST = 'notification.test';

/** A notification as the receiver gets it. */
export type NotificationOf<T extends NotificationType> = {
  readonly type: T;
  /** When it happened. */
  readonly timestamp: string;
  readonly data: DataOf<T>;
  /** A sentence for people. */
  readonly text: string;
};
/** What is sent. A newer release may have stored a type that this one does not know. */
export type SentBody = Record<keyof NotificationOf<NotificationType>, unknown>;
export type Notification = { [T in NotificationType]: NotificationOf<T> }[NotificationType];

/** Returns what a notification is about: notifications of one subject are sent in order. */
export function subjectOf<T extends NotificationType>(type: T, data: DataOf<T>): string {
  return (NOTIFICATIONS[type] as { subject: (data: DataOf<T>) => string }).subject(data);
}

/** Returns the notification with its sentence. */
export function notificationOf<T extends NotificationType>(
  type: T,
  data: DataOf<T>,
  timestamp: string,
): NotificationOf<T> {
  const { text } = NOTIFICATIONS[type] as { text: (data: DataOf<T>) => string };
  return { type, timestamp, data, text: text(data) };
}

/** Throws CONFIG for a name in `NOTIFY_TYPES` that is no type. */
export function assertTypes({ types }: NotifyConfig): void {
  const known: readonly string[] = NOTIFICATION_TYPES;
  const unknown = types?.findIndex((name) => !known.includes(name)) ?? -1;
  if (unknown < 0) return;
  throw configError('NOTIFY_TYPES', `entry ${unknown + 1} must be one of ${NOTIFICATION_TYPES.join(', ')}`);
}

/** The schema of a notification's body, for the reference. */
export function bodySchema(name: NotificationType) {
  const { summary, data } = NOTIFICATIONS[name];
  const component = name
    .replace('notification.', '')
    .replace(/(?:^|[.-])(\w)/g, (_, letter: string) => letter.toUpperCase());
  return field.component(
    `${component}Notification`,
    {
      type: Type.Unsafe<string>({ type: 'string', const: name, description: 'The type.' }),
      timestamp: field.text('When it happened.'),
      data,
      text: field.text('A sentence for people, which may change.'),
    },
    `${summary}.`,
  );
}
