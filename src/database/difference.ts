import type { Tables } from './tables.ts';

/** A finding of `verify`: a row that is not as it must be. It names fields and ids and holds no value. */
export type Difference = {
  table: keyof Tables & string;
  /** The key of the row. Several columns are separated by slashes. */
  id: string;
  field: string;
  /** The rule that the field breaks, such as `is not the number of its versions`. */
  rule: string;
};

export type Verifying = {
  report: (table: Difference['table'], id: string | number, field: string, rule: string) => void;
  /** Receives the number of further rows that were checked. */
  looked: (rows: number) => void;
  signal: AbortSignal;
};

export type ReportDifference = Verifying['report'];

/** Yields pages of rows until one is short. `read` returns at most `size` rows after a place. */
export async function* pagesOf<Place, Row>(
  { looked, signal }: Pick<Verifying, 'looked' | 'signal'>,
  first: Place,
  size: number,
  read: (after: Place) => Promise<Row[]>,
  placeOf: (last: Row) => Place,
): AsyncGenerator<Row[]> {
  for (let after = first; ; ) {
    signal.throwIfAborted();
    const rows = await read(after);
    yield rows;
    looked(rows.length);
    const last = rows.at(-1);
    if (last === undefined || rows.length < size) return;
    after = placeOf(last);
  }
}

/** A time on a day that every year has. `verify` reads millions, and making a date of each takes 15 times as long. */
const USUAL_TIME =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Returns whether a value is a time in the format of our own clock. Whether it is the right one has no second source. */
export function isTime(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  if (USUAL_TIME.test(value)) return true;
  const time = new Date(value);
  return !Number.isNaN(time.getTime()) && time.toISOString() === value;
}

export type Differences = ReturnType<typeof createDifferences>;

/** Collects differences: all are counted by `table.field`, and the first `most` are kept. */
export function createDifferences(most: number) {
  const counts = new Map<string, number>();
  const named: Difference[] = [];
  let total = 0;
  const report: ReportDifference = (table, id, field, rule) => {
    const name = `${table}.${field}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    total += 1;
    if (named.length < most) named.push({ table, id: String(id), field, rule });
  };
  return {
    report,
    counts,
    named,
    get total() {
      return total;
    },
  };
}
