/** Audit records: who did what, when, to which resource, and why. Append-only, in the transaction of the change. */
import Type, { type Static } from 'typebox';
import { component, nullableText, text } from '../contract/fields.ts';
import { parseJson } from '../contract/json.ts';
import { isOneOf } from '../database/bulk.ts';
import type { AuditRecordTable, Db, Trx } from '../database/tables.ts';
import { AppError } from '../errors.ts';

/** The actions that leave a record. The part before the dot is the type of the resource. */
export const ACTIONS = [
  'census.read',
  'census-sync.request',
  'census-sync.dismiss',
  'census-sync.read',
  'change.retry',
  'change.cancel',
  'change.release',
  'change.read',
  'codes.put',
  'deduction.assign',
  'deduction.decide-start',
  'event.reprocess',
  'event.dismiss',
  'loss.accept',
  'policy.put',
  'run.create',
  'run.delete',
  'run.finalize',
  'run.taken',
  'run.void',
  'schedule.delete',
  'schedule.put',
  'token.create',
  'token.revoke',
] as const;
export type Action = (typeof ACTIONS)[number];

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

/** Ids, and the values of settings before and after. Never names, SSNs or other personal data. */
type Details = Readonly<Record<string, unknown>>;

export type NewRecord = {
  action: Action;
  /** The id of the resource. Null for an action on several. */
  resource: string | null;
  employer?: string | null;
  details?: Details;
  /** The reason that a person typed. */
  reason?: string | null;
};

/**
 * Records an action and returns the id of its record. Call it after the other locks of the transaction: it locks the row
 * of `audit_head` until the end.
 */
export async function record(trx: Trx, { actor, now }: Acting, made: NewRecord): Promise<number> {
  const { action, resource, employer = null, details = {}, reason = null } = made;
  const { record_id } = await trx
    .updateTable('audit_head')
    .set((eb) => ({ record_id: eb('record_id', '+', 1) }))
    .returning('record_id')
    .executeTakeFirstOrThrow();
  const row: AuditRecordTable = {
    record_id,
    recorded_at: now,
    actor_kind: actor.kind,
    actor_issuer: actor.issuer,
    actor_id: actor.id,
    actor_name: actor.name,
    acting_user: actor.acting_user,
    action,
    resource_type: resourceTypeOf(action),
    resource_id: resource,
    employer_id: employer,
    details: JSON.stringify(details),
    reason,
  };
  await trx.insertInto('audit_records').values(row).execute();
  return record_id;
}

export function resourceTypeOf(action: string): string {
  return action.slice(0, action.indexOf('.'));
}

const ACTOR_COLUMNS = ['actor_kind', 'actor_issuer', 'actor_id', 'actor_name', 'acting_user'] as const;

function actorOf(row: Pick<AuditRecordTable, (typeof ACTOR_COLUMNS)[number]>): Actor {
  const { actor_kind, actor_issuer, actor_id, actor_name, acting_user } = row;
  return { kind: actor_kind, issuer: actor_issuer, id: actor_id, name: actor_name, acting_user };
}

/** The actor of a record, and its time. */
export type Made = { by: Actor; at: string };

/** Returns who made each record, by its id. */
export async function makersOf(db: Db | Trx, recordIds: readonly number[]): Promise<Map<number, Made>> {
  if (recordIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('audit_records')
    .select(['record_id', 'recorded_at', ...ACTOR_COLUMNS])
    .where(isOneOf(db, 'record_id', recordIds))
    .execute();
  return new Map(rows.map((row) => [row.record_id, { by: actorOf(row), at: row.recorded_at }]));
}

/** Returns who took the last of each of these actions on a resource. */
export async function lastActorsOf(
  db: Db | Trx,
  resourceId: string,
  actions: readonly Action[],
): Promise<Map<string, Actor>> {
  const rows = await db
    .selectFrom('audit_records')
    .select(['action', ...ACTOR_COLUMNS])
    .where('resource_type', 'in', [...new Set(actions.map(resourceTypeOf))])
    .where('resource_id', '=', resourceId)
    .where('action', 'in', actions)
    .orderBy('record_id')
    .execute();
  return new Map(rows.map((row) => [row.action, actorOf(row)]));
}

/** Returns stored details, or null if they are damaged. */
export function readDetails(text: string): Details | null {
  const parsed = parseJson(text);
  const value = parsed.ok ? parsed.value : null;
  return typeof value === 'object' && !Array.isArray(value) ? (value as Details | null) : null;
}

export const AuditRecord = component(
  'AuditRecord',
  {
    id: text('The ID of the record. IDs increase by one.'),
    recorded_at: text('The time of the action.'),
    actor: Actor,
    action: text('What was done, such as `run.finalize`.'),
    resource_type: text('The type of the resource.'),
    resource_id: nullableText('The ID of the resource. Null for an action on several.'),
    employer_id: nullableText('The employer. Null if the action concerns none or several.'),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'IDs, and the values of settings before and after.',
    }),
    reason: nullableText('The reason that was given.'),
  },
  'Who did what, when, to which resource, and why.',
);
export type AuditRecord = Static<typeof AuditRecord>;

/** Returns the records of one resource oldest first. `next` continues the list after the id `after`. */
export async function recordsOf(
  db: Db,
  resource: { type: string; id: string },
  { after, limit }: { after?: number | undefined; limit: number },
): Promise<{ records: AuditRecord[]; next: number | null }> {
  const rows = await db
    .selectFrom('audit_records')
    .selectAll()
    .where('resource_type', '=', resource.type)
    .where('resource_id', '=', resource.id)
    .where('record_id', '>', after ?? 0)
    .orderBy('record_id')
    .limit(limit + 1)
    .execute();
  const shown = rows.slice(0, limit);
  const next = rows.length > limit ? (shown.at(-1)?.record_id ?? null) : null;
  return { records: shown.map(viewRecord), next };
}

function viewRecord(row: AuditRecordTable): AuditRecord {
  const { record_id, recorded_at, action, resource_type, resource_id, employer_id, reason } = row;
  const details = readDetails(row.details);
  if (details === null) {
    const advice = 'run "benefits-sidecar verify", and restore a backup if it reports differences';
    throw new AppError('STORED_JSON_DAMAGED', `audit_records.details of ${record_id} is damaged: ${advice}`);
  }
  const resource = { resource_type, resource_id, employer_id };
  return { id: String(record_id), recorded_at, actor: actorOf(row), action, ...resource, details, reason };
}
