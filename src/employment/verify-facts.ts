/** Checks that roster facts from employment changes match a change. */
import { pagesOf, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';

/** Facts read at once. */
const ROWS_AT_ONCE = 2_000;

/**
 * Checks all roster facts up to a position against the requests that they name. The contents of a census or a
 * delivered change are not kept, so an altered date is not detected.
 */
export async function verifyFacts(db: Db, until: number, on: Verifying): Promise<void> {
  const page = (after: number) => pageOf(db, after, until);
  for await (const rows of pagesOf(on, 0, ROWS_AT_ONCE, page, (row) => row.position)) {
    for (const row of rows) verifyOne(row, on);
  }
}

type Row = Awaited<ReturnType<typeof pageOf>>[number];

function pageOf(db: Db, after: number, until: number) {
  return db
    .selectFrom('roster_facts')
    .leftJoin('outbox', 'outbox.request_id', 'roster_facts.source_id')
    .select(['position', 'employee_id', 'source', 'recorded_at', 'kind', 'subject_id', 'outbox.created_at'])
    .where('position', '>', after)
    .where('position', '<=', until)
    .orderBy('position')
    .limit(ROWS_AT_ONCE)
    .execute();
}

function verifyOne(row: Row, { report }: Verifying): void {
  const wrong = (field: string, rule: string) =>
    report({ table: 'roster_facts', id: String(row.position), field, rule });
  if (row.source === 'census') {
    if (row.kind !== null) wrong('source', 'is not the kind of the request that it names');
    return;
  }
  if (row.kind === null) wrong('source_id', 'there is no such request');
  else if (row.kind !== row.source) wrong('source', 'is not the kind of the request that it names');
  else if (row.subject_id !== row.employee_id) {
    wrong('employee_id', 'is not the employee of the request that it names');
  } else if (row.recorded_at !== row.created_at) wrong('recorded_at', 'is not when its request was accepted');
}
