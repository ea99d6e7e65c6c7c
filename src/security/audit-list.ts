/** Lists of audit records, as the API, the command line and the console show them. */
import Type, { type Static } from 'typebox';
import { component, nullableText, text } from '../contract/fields.ts';
import { isOneOf } from '../database/bulk.ts';
import type { AuditRecordTable, Db } from '../database/tables.ts';
import { AppError } from '../errors.ts';
import { type Action, Actor, actorOf, READS, readDetails } from './audit.ts';

export const AuditRecord = component(
  'AuditRecord',
  {
    id: text('The ID of the record. IDs increase by one.'),
    recorded_at: text('The time of the action.'),
    actor: Actor,
    action: text('What was done, such as `run.finalize`.'),
    resource_type: text('The type of the resource.'),
    resource_id: nullableText('The ID of the resource. Null for an action on several.'),
    employer_id: nullableText(
      'The employer. An action on an employee with two employers has a record for each of them. Null if the action concerns no single employer.',
    ),
    employee_id: nullableText('The employee. Null if the action concerns none or several.'),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'IDs, and the values of settings before and after.',
    }),
    reason: nullableText('The reason that was given. Null without one, and after it was erased.'),
    reason_hash: nullableText('The keyed hash of the reason. It stays when the reason is erased.'),
    hash: text('The SHA-256 over the hash of the preceding record and this record.'),
  },
  'Who did what, when, to which resource, and why.',
);
export type AuditRecord = Static<typeof AuditRecord>;

export type AuditFilter = {
  action?: string | undefined;
  resourceType?: string | undefined;
  resourceId?: string | undefined;
  employerId?: string | undefined;
  employeeId?: string | undefined;
  /** The id of a token, or the subject of a person. */
  actorId?: string | undefined;
  /** At or after, and before: instants in milliseconds UTC. */
  from?: string | undefined;
  until?: string | undefined;
  /** Only records of these employers; null for all. */
  employers?: readonly string[] | null;
};

/** Returns a record, or null if there is none with this id. `employers`: only a record of these; null for all. */
export async function findRecord(
  db: Db,
  recordId: number,
  employers: readonly string[] | null,
): Promise<AuditRecord | null> {
  const row = await selectRecords(db, { employers })
    .where('record_id', '=', recordId)
    .selectAll()
    .executeTakeFirst();
  return row === undefined ? null : viewRecord(row);
}

/** Selects the records that match. */
export function selectRecords(db: Db, filter: AuditFilter) {
  const { action, resourceType, resourceId, employerId, employeeId, actorId, from, until } = filter;
  const equal = {
    action,
    resource_type: resourceType,
    resource_id: resourceId,
    employer_id: employerId,
    employee_id: employeeId,
    actor_id: actorId,
  };
  let query = db.selectFrom('audit_records');
  for (const [column, value] of Object.entries(equal)) {
    if (value !== undefined) query = query.where(column as keyof typeof equal, '=', value);
  }
  if (from !== undefined) query = query.where('recorded_at', '>=', from);
  if (until !== undefined) query = query.where('recorded_at', '<', until);
  if (filter.employers != null) query = query.where(isOneOf(db, 'employer_id', filter.employers));
  return query;
}

export function viewRecord(row: AuditRecordTable): AuditRecord {
  const details = readDetails(row.details);
  if (details === null) {
    const advice = 'run "benefits-sidecar verify", and restore a backup if it reports differences';
    const damaged = `audit_records.details of ${row.record_id} is damaged: ${advice}`;
    throw new AppError('STORED_JSON_DAMAGED', damaged);
  }
  return {
    id: String(row.record_id),
    recorded_at: row.recorded_at,
    actor: actorOf(row),
    action: row.action,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    employer_id: row.employer_id,
    employee_id: row.employee_id,
    details,
    reason: row.reason,
    reason_hash: row.reason_hash,
    hash: row.hash,
  };
}

/** Reports whether a change for an employer was recorded after a record: any, or this one. Reads change nothing. */
export async function isChangeRecordedAfter(
  db: Db,
  employerId: string,
  recordId: number,
  action?: Action,
): Promise<boolean> {
  const row = await db
    .selectFrom('audit_records')
    .select('record_id')
    .where('employer_id', '=', employerId)
    .where('record_id', '>', recordId)
    .where((eb) => (action === undefined ? eb('action', 'not in', READS) : eb('action', '=', action)))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns the resources on which an action was recorded for an employer after a record. */
export async function resourcesRecordedAfter(
  db: Db,
  employerId: string,
  recordId: number,
  action: Action,
): Promise<string[]> {
  const rows = await db
    .selectFrom('audit_records')
    .select('resource_id')
    .distinct()
    .where('employer_id', '=', employerId)
    .where('record_id', '>', recordId)
    .where('action', '=', action)
    .execute();
  return rows.flatMap(({ resource_id }) => resource_id ?? []);
}

/** Returns the employers for which an action was recorded after a record. */
export async function employersRecordedAfter(db: Db, recordId: number, action: Action): Promise<string[]> {
  const rows = await db
    .selectFrom('audit_records')
    .select('employer_id')
    .distinct()
    .where('record_id', '>', recordId)
    .where('action', '=', action)
    .execute();
  return rows.flatMap(({ employer_id }) => employer_id ?? []);
}
