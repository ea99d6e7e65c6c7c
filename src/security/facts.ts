/** Recorded facts: rows that are inserted with one audit record, which has the hash of their content. */
import { hash } from 'node:crypto';
import { type SelectQueryBuilder, sql } from 'kysely';
import { type AnyRow, insertRows } from '../database/bulk.ts';
import { KEYS } from '../database/keys.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import {
  ACTOR_COLUMNS,
  type Acting,
  type Action,
  actorOf,
  forEmployers,
  type Made,
  type NewRecord,
  recordAll,
  UNKNOWN_MAKER,
} from './audit.ts';
import type { ReasonColumn } from './reasons.ts';

type OfTable<T extends keyof Tables> = Tables[T] extends { record_id: number } ? T : never;

/** The tables whose rows have the audit record that inserted them. */
export type FactTable = Exclude<
  { [T in keyof Tables]: OfTable<T> }[keyof Tables],
  // Accepted findings repeat the records of earlier actions.
  'audit_records' | 'audit_head' | 'accepted_findings'
>;

/** The columns by what an audit record names. */
type Subject<Column> = { readonly [name in 'resource' | 'employer' | 'employee']?: Column };

export type AnyFact = {
  readonly table: FactTable;
  /** The actions that insert rows. */
  readonly actions: readonly [Action, ...Action[]];
  /** The columns whose values the audit record names. A value that its rows do not share is null there. */
  readonly subject: Subject<string>;
  /** The rows repeat the reason of their audit record. */
  readonly hasReason?: true;
  /** Columns that change later. */
  readonly changing?: readonly string[];
  /** The actions that remove rows: the row whose key the record states, or all rows of the resource. */
  readonly removedBy?: { readonly row?: Action; readonly all: Action };
};

type ColumnOf<T extends FactTable> = keyof Tables[T] & string;

export type Fact<T extends FactTable> = AnyFact & {
  readonly table: T;
  readonly subject: Subject<ColumnOf<T>>;
  readonly changing?: readonly ColumnOf<T>[];
};

/** A row as a caller states it. */
export type FactContent<T extends FactTable> = Omit<Tables[T], 'record_id' | 'reason'>;

/** `employers`: each gets a record. `employer` and `employee` are for facts that have no column of them. */
type Recording = Pick<NewRecord, 'employer' | 'employee' | 'details' | 'reason'> & {
  action?: Action;
  employers?: readonly string[];
};

/** Inserts rows with their audit record, and returns them. Call it after the other locks of the transaction. */
export async function insertFacts<T extends FactTable>(
  trx: Trx,
  fact: Fact<T>,
  contents: readonly FactContent<T>[],
  acting: Acting,
  { action = fact.actions[0], employers = [], details, reason = null, ...subject }: Recording,
): Promise<Tables[T][]> {
  const record = {
    ...{ ...acting, action, ...subjectOf(fact, contents), ...subject, reason },
    details: { ...details, content_hash: contentHash(contents, fact) },
  };
  const [record_id] = await recordAll(trx, forEmployers(record, employers));
  const added = fact.hasReason ? { reason, record_id } : { record_id };
  const rows = contents.map((content) => ({ ...content, ...added })) as unknown as Tables[T][];
  await insertRows(trx, fact.table, rows);
  return rows;
}

/** Returns what the audit record of rows names: the values that all of them share. */
export function subjectOf({ subject }: AnyFact, rows: readonly AnyRow[]): { resource: string | null } {
  const common = (column: string) => {
    const values = new Set(rows.map((row) => row[column]));
    return values.size === 1 ? [...values][0] : null;
  };
  const named = Object.entries(subject).map(([name, column]) => [name, common(column)]);
  return Object.fromEntries(named);
}

/**
 * Returns the SHA-256 of the content of rows, for the details of their audit record. Nulls are left out, so that a new column
 * does not change the hash of older rows.
 */
export function contentHash(
  rows: readonly object[],
  { changing = [] }: Pick<AnyFact, 'changing'> = {},
): string {
  const isContent = ([column, value]: [string, unknown]) =>
    value !== null && column !== 'record_id' && column !== 'reason' && !changing.includes(column);
  const contents = rows.map((row) =>
    Object.entries(row)
      .filter(isContent)
      .sort(([column], [other]) => (column < other ? -1 : 1))
      .map(([column, value]) => [column, storedValue(value)]),
  );
  return hash('sha256', JSON.stringify(contents));
}

/** A database stores other characters in place of lone surrogates. */
function storedValue(value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

type ActorRow = Parameters<typeof actorOf>[0];

/** Returns the rows of a query, each with the actor, the time and the reason of its audit record. */
export async function withMakers<T extends FactTable, Row>(
  query: SelectQueryBuilder<Tables, T, Row>,
): Promise<(Row & { made: Made })[]> {
  const rows = await (query as unknown as SelectQueryBuilder<Tables, FactTable, object>)
    .leftJoin(
      ({ selectFrom }) =>
        selectFrom('audit_records')
          // Named apart from the fact's columns, so that the conditions of the query need no table names.
          .select([
            'record_id as made_id',
            'recorded_at as made_at',
            'reason as made_reason',
            ...ACTOR_COLUMNS,
          ])
          .as('made'),
      (join) => join.onRef('made_id', '=', 'record_id'),
    )
    .select(['made_at', 'made_reason', ...ACTOR_COLUMNS])
    .execute();
  return rows.map(({ made_at, made_reason, ...row }) => {
    const { actor_kind, actor_issuer, actor_id, actor_name, acting_user, ...fact } = row as typeof row &
      ActorRow;
    const by = actorOf({ actor_kind, actor_issuer, actor_id, actor_name, acting_user });
    const made = made_at === null ? UNKNOWN_MAKER : { by, at: made_at, reason: made_reason };
    return { ...fact, made } as Row & { made: Made };
  });
}

/** Returns the number of an employer's last row, 0 without one. The key of the fact is an employer and a number. */
export async function lastNumber(db: Db | Trx, { table }: AnyFact, employerId: string): Promise<number> {
  const [employer, number] = KEYS[table] as unknown as readonly [string, string];
  const { rows } = await sql<{ last: number | null }>`
    select max(${sql.ref(number)}) as last from ${sql.table(table)}
    where ${sql.ref(employer)} = ${employerId}`.execute(db);
  return Number(rows[0]?.last ?? 0);
}

/** Returns the column that repeats the reasons of a fact's audit records; none for a fact without reasons. */
export function reasonColumnsOf({ table, actions, hasReason }: AnyFact): ReasonColumn[] {
  if (!hasReason) return [];
  return [{ table, column: 'reason', actions, by: { column: 'record_id', is: 'record_id' } }];
}
