/** Audit records: who did what, when, to which resource, and why. Append-only, in the transaction of the change. */
import { randomBytes } from 'node:crypto';
import { type NotNull, type RawBuilder, type SqlBool, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { component, nullableText, text } from '../contract/fields.ts';
import { parseJson } from '../contract/json.ts';
import { insertRows, isOneOf } from '../database/bulk.ts';
import type { AuditRecordTable, Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { codeOf } from '../errors.ts';
import { type Head, hashAfter, headText, lockHead, reasonHash } from './audit-chain.ts';

/** The actions that leave a record, in words. The part before the dot is the type of the resource. */
export const ACTION_NAMES = {
  'approval-setting.put': 'Second approval set',
  'census.erase': 'Census erased',
  'census.read': 'Census read',
  'census.stage': 'Census staged',
  'census-sync.request': 'Census sync requested',
  'census-sync.dismiss': 'Census sync dismissed',
  'census-sync.release': 'Census released',
  'census-sync.read': 'Census response read',
  'change.report': 'Employment change reported',
  'change.retry': 'Employment change retried',
  'change.cancel': 'Employment change canceled',
  'change.release': 'Employment change released',
  'change.read': 'Employment change read',
  'codes.put': 'Payroll codes set',
  'cut-over.sign': 'Cut-over signed off',
  'database.back-up': 'Database backed up',
  'database.copy': 'Database copied',
  'database.migrate': 'Database migrated',
  'database.restore': 'Database restored',
  'deduction.assign': 'Deduction assigned to an employer',
  'deduction.import': 'Deductions imported',
  'employer.export': 'Employer exported',
  'event.reprocess': 'Event reprocessed',
  'event.dismiss': 'Event dismissed',
  'file-format.put': 'File format set',
  'item.decide': 'Open items decided',
  'item.open': 'Opening items added',
  'key.rotate': 'Encryption key rotated',
  'loss.accept': 'Data loss accepted',
  'name.show': 'Names shown',
  'notification.retry': 'Notification retried',
  'notification.test': 'Notifications tested',
  'policy.put': 'Payroll policy set',
  'reason.erase': 'Reason erased',
  'retention.apply': 'Old data deleted',
  'run.accept-findings': 'Findings accepted',
  'run.approve': 'Run approved',
  'run.approval-withdraw': 'Approval withdrawn',
  'run.create': 'Run created',
  'run.delete': 'Run deleted',
  'run.download': 'File of a run downloaded',
  'run.finalize': 'Run finalized',
  'run.read': 'Evidence of a run read',
  'run.override': 'Amount overridden',
  'run.remove-override': 'Override removed',
  'run.taken': 'Deductions taken reported',
  'run.void': 'Run voided',
  'schedule.delete': 'Pay schedule deleted',
  'schedule.put': 'Pay schedule set',
  'sending.off': 'Pilot started',
  'sending.on': 'Pilot ended',
  'session.begin': 'Signed in',
  'session.end': 'Signed out',
  'token.create': 'Token created',
  'token.revoke': 'Token revoked',
} as const;
export type Action = keyof typeof ACTION_NAMES;
export const ACTIONS = Object.keys(ACTION_NAMES) as Action[];

/** The actions that show or export stored data, and change nothing. */
export const READS = [
  'census.read',
  'census-sync.read',
  'change.read',
  'employer.export',
  'name.show',
  'run.download',
  'run.read',
] as const satisfies readonly Action[];

export const ACTOR_KINDS = ['person', 'token', 'cli', 'system'] as const;

export const Actor = component(
  'Actor',
  {
    kind: Type.Enum([...ACTOR_KINDS], {
      description: '`cli`: a command, by a user of the operating system. `system`: the sidecar itself.',
    }),
    issuer: nullableText('The issuer that identified a person. Null for other kinds.'),
    id: nullableText('The subject of a person, or the ID of a token. Null for other kinds.'),
    name: text('The name of the person, the token or the user of the operating system.'),
    acting_user: nullableText(
      'The user in the header `X-Acting-User`, as the program claimed. Not verified.',
    ),
  },
  'Who did it.',
);
export type Actor = Static<typeof Actor>;

/** The actor of an action, and its time. */
export type Acting = { actor: Actor; now: string };

const UNKNOWN = { issuer: null, id: null, acting_user: null };

export const SYSTEM: Actor = { kind: 'system', name: 'system', ...UNKNOWN };

export function cliActor(name: string): Actor {
  return { kind: 'cli', name, ...UNKNOWN };
}

export function tokenActor(
  { tokenId, name }: { tokenId: string; name: string },
  actingUser: string | null,
): Actor {
  return { kind: 'token', issuer: null, id: tokenId, name, acting_user: actingUser };
}

export function personActor(
  { issuer, subject }: { issuer: string; subject: string },
  name: string,
  actingUser: string | null,
): Actor {
  return { kind: 'person', issuer, id: subject, name, acting_user: actingUser };
}

/** Ids, and the values of settings before and after. Never names, SSNs or other personal data. */
export type Details = Readonly<Record<string, unknown>>;

/** Returns stored details, or null if they are damaged. */
export function readDetails(text: string): Details | null {
  const parsed = parseJson(text);
  const value = parsed.ok ? parsed.value : null;
  return typeof value === 'object' && !Array.isArray(value) ? (value as Details | null) : null;
}

export type NewRecord = {
  action: Action;
  /** The id of the resource. Null for an action on several. */
  resource: string | null;
  employer?: string | null;
  employee?: string | null;
  details?: Details;
  /** The reason that a person typed. */
  reason?: string | null;
};

/** Records an action and returns the id of its record. Call it after the other locks of the transaction. */
export async function record(trx: Trx, acting: Acting, made: NewRecord): Promise<number> {
  const [id] = await recordAll(trx, [{ ...acting, ...made }]);
  return id as number;
}

/** Returns the records of an action on an employee: one for each employer that it concerns, or one without an employer. */
export function forEmployers<R extends NewRecord>(made: R, employers: readonly string[]): R[] {
  return employers.length === 0 ? [made] : employers.map((employer) => ({ ...made, employer }));
}

/** Records several actions in order and returns the ids of their records. It locks the head of the chain until the end. */
export async function recordAll(trx: Trx, made: readonly (Acting & NewRecord)[]): Promise<number[]> {
  if (made.length === 0) return [];
  let head = await lockHead(trx);
  const rows = made.map((action) => {
    const row = rowAfter(head, action);
    head = row;
    return row;
  });
  await insertRows(trx, 'audit_records', rows);
  await trx.updateTable('audit_head').set({ record_id: head.record_id, hash: head.hash }).execute();
  return rows.map(({ record_id }) => record_id);
}

/** Returns the time of a record. */
type RecordTime = () => Promise<Date>;

/**
 * Runs an action of several transactions between two records: `phase` is `start` in the first, and `end` in the last,
 * with what `summarize` returns of the result, or with the code of the error. A process that dies leaves only the first.
 */
export async function recordStartAndEnd<R>(
  db: Db,
  { actor, time }: { actor: Actor; time: RecordTime },
  made: NewRecord,
  work: () => Promise<R>,
  summarize: (result: R) => Details,
): Promise<R> {
  const write = async (details: Details): Promise<void> => {
    const now = (await time()).toISOString();
    const all = { ...made.details, ...details };
    await transact(db, (trx) => record(trx, { actor, now }, { ...made, details: all }));
  };
  await write({ phase: 'start' });
  let result: R;
  try {
    result = await work();
  } catch (error) {
    // The error of the work matters more than a record that cannot be written.
    await write({ phase: 'end', failed: codeOf(error) || 'INTERNAL' }).catch(() => {});
    throw error;
  }
  await write({ phase: 'end', ...summarize(result) });
  return result;
}

/** Returns what records a migration of an existing database in its transaction. */
export function migrationRecord(acting: Acting) {
  return (trx: Trx, names: string[]) =>
    record(trx, acting, { action: 'database.migrate', resource: null, details: { migrations: names } });
}

const REASON_KEY_BYTES = 32;

function rowAfter(head: Head, { actor, now, action, ...made }: Acting & NewRecord): AuditRecordTable {
  const { resource, employer = null, employee = null, details = {} } = made;
  const reason = storedText(made.reason ?? null);
  const reason_key = reason === null ? null : randomBytes(REASON_KEY_BYTES);
  const chained = {
    record_id: head.record_id + 1,
    recorded_at: now,
    actor_kind: actor.kind,
    actor_issuer: storedText(actor.issuer),
    actor_id: storedText(actor.id),
    actor_name: actor.name.toWellFormed(),
    acting_user: storedText(actor.acting_user),
    action,
    resource_type: resourceTypeOf(action),
    resource_id: storedText(resource),
    employer_id: storedText(employer),
    employee_id: storedText(employee),
    details: JSON.stringify(details),
    reason_hash: reason === null || reason_key === null ? null : reasonHash(reason_key, reason),
  };
  return { ...chained, hash: hashAfter(head.hash, chained), reason, reason_key };
}

/** A database stores other characters in place of lone surrogates, so the hash must not contain them either. */
function storedText(text: string | null): string | null {
  return text === null ? null : text.toWellFormed();
}

export function resourceTypeOf(action: string): string {
  return action.slice(0, action.indexOf('.'));
}

export const ACTOR_COLUMNS = ['actor_kind', 'actor_issuer', 'actor_id', 'actor_name', 'acting_user'] as const;

/** Returns the actor of a stored record. */
export function actorOf(row: Pick<AuditRecordTable, (typeof ACTOR_COLUMNS)[number]>): Actor {
  const { actor_kind, actor_issuer, actor_id, actor_name, acting_user } = row;
  return { kind: actor_kind, issuer: actor_issuer, id: actor_id, name: actor_name, acting_user };
}

/** The actor of a record, its time and its reason. */
export type Made = { by: Actor; at: string; reason: string | null };

/** The maker of a record that is missing from a damaged database. */
export const UNKNOWN_MAKER: Made = { by: SYSTEM, at: '', reason: null };

/** Returns who made each record, by its id. */
export async function makersOf(db: Db | Trx, recordIds: readonly number[]): Promise<Map<number, Made>> {
  if (recordIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('audit_records')
    .select(['record_id', 'recorded_at', 'reason', ...ACTOR_COLUMNS])
    .where(isOneOf(db, 'record_id', recordIds))
    .execute();
  return new Map(
    rows.map((row) => [row.record_id, { by: actorOf(row), at: row.recorded_at, reason: row.reason }]),
  );
}

/** Returns who made a record. */
export function makerOf(makers: ReadonlyMap<number, Made>, recordId: number): Made {
  return makers.get(recordId) ?? UNKNOWN_MAKER;
}

/** The actor, the time and the details of a record, and the head of the chain after it. */
export type LastRecord = { by: Actor; at: string; details: Details; head: string };

/** Returns the last record of each of these actions on a resource, by action. */
export async function lastRecordsOf(
  db: Db | Trx,
  resourceId: string,
  actions: readonly Action[],
): Promise<Map<string, LastRecord>> {
  const lastIds = db
    .selectFrom('audit_records')
    .select(({ fn }) => fn.max('record_id').as('record_id'))
    .where('resource_type', 'in', [...new Set(actions.map(resourceTypeOf))])
    .where('resource_id', '=', resourceId)
    .where('action', 'in', actions)
    .groupBy('action');
  const rows = await db
    .selectFrom('audit_records')
    .select(['action', 'record_id', 'recorded_at', 'details', 'hash', ...ACTOR_COLUMNS])
    .where('record_id', 'in', lastIds)
    .execute();
  return new Map(
    rows.map((row) => {
      const { action, recorded_at: at, details } = row;
      return [action, { by: actorOf(row), at, details: readDetails(details) ?? {}, head: headText(row) }];
    }),
  );
}

/** Selects the records of an action. */
export function recordsOfAction(db: Db | Trx, action: Action) {
  return db
    .selectFrom('audit_records')
    .where('resource_type', '=', resourceTypeOf(action))
    .where('action', '=', action);
}

/** Returns the times of the last records of an action on these resources, by resource. */
export async function lastTimesOf(
  db: Db,
  action: Action,
  resourceIds: readonly string[],
): Promise<Map<string | null, string>> {
  if (resourceIds.length === 0) return new Map();
  const rows = await recordsOfAction(db, action)
    .select(({ fn }) => ['resource_id', fn.max('recorded_at').as('at')])
    .where(isOneOf(db, 'resource_id', resourceIds))
    .groupBy('resource_id')
    .execute();
  return new Map(rows.map(({ resource_id, at }) => [resource_id, at]));
}

/** Returns the employers of an action's records on a resource, in the order of the records. */
export async function recordedEmployers(db: Db | Trx, action: Action, resourceId: string): Promise<string[]> {
  const rows = await recordsOfAction(db, action)
    .select('employer_id')
    .where('resource_id', '=', resourceId)
    .orderBy('record_id')
    .execute();
  return [...new Set(rows.flatMap(({ employer_id }) => employer_id ?? []))];
}

/** Returns the query of an action's records by resource and employer. */
export function recordsOf(db: Db | Trx, action: Action) {
  return recordsOfAction(db, action)
    .select(['resource_id', 'employer_id', 'recorded_at'])
    .where('employer_id', 'is not', null)
    .$narrowType<{ employer_id: NotNull }>();
}

/** Returns the condition that an action on a resource was recorded at one of these employers; null: at any. */
export function isRecordedAt(
  employers: readonly string[] | null,
  action: Action,
  resourceId: RawBuilder<string>,
): RawBuilder<boolean> {
  const isAtOne = employers === null ? sql`is not null` : sql`in (${sql.join(employers)})`;
  return sql`exists (select 1 from audit_records
    where audit_records.resource_type = ${resourceTypeOf(action)} and audit_records.resource_id = ${resourceId}
      and audit_records.action = ${action} and audit_records.employer_id ${isAtOne})`;
}

/** Returns the condition that a row's `record_id` is of a record made at or before an instant; always true without one. */
export function isRecordedBy(db: Db | Trx, knownAt: string | undefined) {
  if (knownAt === undefined) return sql<SqlBool>`true`;
  const records = db.selectFrom('audit_records').select('record_id').where('recorded_at', '<=', knownAt);
  return sql<SqlBool>`record_id in ${records}`;
}
