/**
 * The chain of audit records. The hash of a record is the SHA-256 of the preceding record's hash (nothing for the first
 * record), a line feed, and the record's text: a JSON array of the columns of `CHAINED`, in this order. A head is the id
 * and the hash of a record, which people keep outside the database to compare later.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { forUpdate } from '../database/engine.ts';
import type { AuditRecordTable, Db, Trx } from '../database/tables.ts';

const CHAINED = [
  ...['record_id', 'recorded_at', 'actor_kind', 'actor_issuer', 'actor_id', 'actor_name', 'acting_user'],
  ...['action', 'resource_type', 'resource_id', 'employer_id', 'employee_id', 'details', 'reason_hash'],
] as readonly Exclude<keyof AuditRecordTable, 'hash' | 'reason' | 'reason_key'>[];

type ChainedRecord = Pick<AuditRecordTable, (typeof CHAINED)[number]>;

export type Head = { record_id: number; hash: string };

const HEAD = /^(?:(0):|([1-9]\d{0,14}):([0-9a-f]{64}))$/;

/** Returns a head as text. Before the first record it is `0:`. */
export function headText({ record_id, hash }: Head): string {
  return `${record_id}:${hash}`;
}

/** Returns the head that a text states, or null if it states none. */
export function parseHead(text: string): Head | null {
  const [matched, empty, id, hash = ''] = HEAD.exec(text) ?? [];
  return matched === undefined ? null : { record_id: Number(empty ?? id), hash };
}

export function readHead(db: Db | Trx): Promise<Head> {
  return db.selectFrom('audit_head').select(['record_id', 'hash']).executeTakeFirstOrThrow();
}

/** Returns the head, or null if its row was removed, for verification. */
export async function findHead(db: Db): Promise<Head | null> {
  return (await db.selectFrom('audit_head').select(['record_id', 'hash']).executeTakeFirst()) ?? null;
}

/** Returns whether the chain has the record of a head. */
export async function isRecorded(db: Db, { record_id, hash }: Head): Promise<boolean> {
  const record = db.selectFrom('audit_records').select('record_id').where('record_id', '=', record_id);
  return (await record.where('hash', '=', hash).executeTakeFirst()) !== undefined;
}

/** Locks the head until the transaction ends and returns it. Take every other lock first. */
export function lockHead(trx: Trx): Promise<Head> {
  return forUpdate(trx, trx.selectFrom('audit_head').select(['record_id', 'hash'])).executeTakeFirstOrThrow();
}

/** Returns the hash of a record that follows a record with the hash `before`. */
export function hashAfter(before: string, record: ChainedRecord): string {
  return hash('sha256', `${before}\n${JSON.stringify(CHAINED.map((column) => record[column]))}`);
}

/** Returns the keyed hash of a reason. Without the key, which is erased with the reason, no search finds the reason. */
export function reasonHash(key: Buffer, reason: string): string {
  return createHmac('sha256', key).update(reason).digest('hex');
}

export function isReasonHash(expected: string, key: Buffer, reason: string): boolean {
  const actual = Buffer.from(reasonHash(key, reason));
  const stored = Buffer.from(expected);
  return actual.length === stored.length && timingSafeEqual(actual, stored);
}
