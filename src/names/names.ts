/**
 * The names of employees, encrypted per employer. A staged census and a hire store them, so that hires since the last census and
 * leavers have one too.
 */
import { sql } from 'kysely';
import { insertRows, isOneOf, isOneOfOrAny, pagesByKey, textRows } from '../database/bulk.ts';
import { KEYS } from '../database/keys.ts';
import type { Db, Trx } from '../database/tables.ts';
import { isAppError } from '../errors.ts';
import type { EncryptedColumn } from '../security/encrypted-columns.ts';
import type { Encryptor, Place } from '../security/encryption.ts';

export type Name = { readonly first_name: string; readonly last_name: string };
export type NamedEmployee = Name & { readonly employer_id: string; readonly employee_id: string };

export type NameKey = { readonly employer_id: string; readonly employee_id: string };

/** When a name was reported last. */
export type NotedName = NameKey & { readonly noted_at: string };

export const TABLE = 'employee_names';

function placeOf({ employer_id, employee_id }: NameKey): Place {
  return { table: TABLE, row: JSON.stringify([employer_id, employee_id]), column: 'ciphertext' };
}

/** For key rotation: about 100 bytes each. */
export const ENCRYPTED_NAMES: EncryptedColumn = {
  table: TABLE,
  column: 'ciphertext',
  also: [],
  placeOf: ({ employer_id, employee_id }) =>
    placeOf({ employer_id: String(employer_id), employee_id: String(employee_id) }),
  rowsAtOnce: 1_000,
};

/** Most reports change nobody's name, and reading one is cheaper than writing it. */
export async function changedNames(
  db: Db | Trx,
  encryptor: Encryptor,
  reported: readonly NamedEmployee[],
  notedAt: string,
) {
  if (reported.length === 0) return [];
  const ids = [...new Set(reported.map(({ employee_id }) => employee_id))];
  const stored = await db
    .selectFrom(TABLE)
    .selectAll()
    .where(isOneOf(db, 'employee_id', ids))
    .execute();
  const keyOf = ({ employer_id, employee_id }: NameKey) => JSON.stringify([employer_id, employee_id]);
  const before = new Map(stored.map((row) => [keyOf(row), row]));
  return reported.flatMap(({ employer_id, employee_id, first_name, last_name }) => {
    const key = { employer_id, employee_id };
    const known = before.get(keyOf(key));
    if (known !== undefined && isSame(readName(encryptor, known), { first_name, last_name })) return [];
    const plain = Buffer.from(JSON.stringify([first_name, last_name]));
    return [{ ...key, noted_at: notedAt, ciphertext: encryptor.encrypt(plain, placeOf(key)) }];
  });
}

/** Stores what `changedNames` returned. */
export async function storeNames(trx: Trx, rows: Awaited<ReturnType<typeof changedNames>>): Promise<void> {
  const replace = `on conflict (employer_id, employee_id) do update
    set noted_at = excluded.noted_at, ciphertext = excluded.ciphertext
    where ${TABLE}.noted_at <= excluded.noted_at`;
  if (rows.length > 0) await insertRows(trx, TABLE, rows, replace);
}

/**
 * Returns the newest name of each of these employees that one of the employers reported (null: any). A name whose data key is
 * missing is left out.
 */
export async function namesOf(
  db: Db,
  encryptor: Encryptor,
  employeeIds: readonly string[],
  employers: readonly string[] | null,
): Promise<NamedEmployee[]> {
  const rows = await db
    .selectFrom(TABLE)
    .selectAll()
    .where(isOneOf(db, 'employee_id', employeeIds))
    .where(isOneOfOrAny(db, 'employer_id', employers))
    .orderBy('noted_at')
    .execute();
  const newest = new Map(rows.map((row) => [row.employee_id, row]));
  return [...newest.values()].flatMap((row) => {
    const { employer_id, employee_id } = row;
    const name = readName(encryptor, row);
    return name === null ? [] : [{ employer_id, employee_id, ...name }];
  });
}

/** Yields the keys of names that were reported before a day, at most 500 at once. */
export async function* namesNotedBefore(db: Db, day: string): AsyncGenerator<NotedName[]> {
  const selected = sql`employer_id, employee_id, noted_at`;
  for await (const page of pagesByKey<NotedName>(db, TABLE, selected, 500))
    yield page.filter(({ noted_at }) => noted_at < day);
}

/** Removes names, except those that were reported again. Returns how many. */
export async function dropNames(trx: Trx, names: readonly NotedName[]): Promise<number> {
  const keys = names.map(({ employer_id, employee_id, noted_at }) => [employer_id, employee_id, noted_at]);
  const { numAffectedRows } = await sql`
    delete from employee_names where (employer_id, employee_id, noted_at) in (
      select employer_id, employee_id, noted_at from ${textRows(trx, [...KEYS[TABLE], 'noted_at'], keys)} as given)`.execute(
    trx,
  );
  return Number(numAffectedRows ?? 0n);
}

/** Removes the names of an employer's employees. Returns how many. */
export async function eraseNames(trx: Trx, employerId: string): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom(TABLE)
    .where('employer_id', '=', employerId)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

export type StoredName = NameKey & { readonly ciphertext: Buffer };

/** Returns a stored name, or null if its data key is missing. */
export function readName(encryptor: Encryptor, row: StoredName): Name | null {
  try {
    const [first_name, last_name] = JSON.parse(encryptor.decrypt(row.ciphertext, placeOf(row)).toString());
    return { first_name, last_name };
  } catch (error) {
    if (isAppError(error, 'DATA_KEY_MISSING')) return null;
    throw error;
  }
}

function isSame(known: Name | null, { first_name, last_name }: Name): boolean {
  return known?.first_name === first_name && known.last_name === last_name;
}
