/** The types of notifications: what each one has, who may be told in which order, and its sentence. Never personal data. */
import Type, { type Static, type TProperties } from 'typebox';
import * as field from '../contract/fields.ts';
import { describeUnknown, UNKNOWN_KINDS } from '../contract/unknown.ts';
import { configError } from '../environment.ts';
import type { NotifyConfig } from '../notify-config.ts';

const run = {
  run_id: field.text('The ID of the payroll run.'),
  employer_id: field.text('The ID of its employer.'),
  pay_date: field.text('Its pay date.'),
};

/** `subject`: notifications of one subject are sent in order. `data` has ids only, and `text` is made from it alone. */
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
    ({ run_id }) => `run:${run_id}`,
    ({ run_id, employer_id, pay_date }) =>
      `Payroll run ${run_id} of employer ${employer_id} for ${pay_date} is final. Take its deductions.`,
  ),
  'run.voided': type(
    'A payroll run was voided',
    run,
    ({ run_id }) => `run:${run_id}`,
    ({ run_id, employer_id, pay_date }) =>
      `Payroll run ${run_id} of employer ${employer_id} for ${pay_date} was voided. Its deductions no longer count.`,
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
