/** The content of a report of amounts taken, for its audit record. */
import { createHash } from 'node:crypto';
import type { Db, Tables } from '../../database/tables.ts';

const LINES_AT_ONCE = 1_000;

/** Returns the number of a report's lines, and the SHA-256 of them and of its idempotency key. */
export async function contentOfReport(
  db: Db,
  {
    run_id,
    report,
    key_hash,
  }: Pick<Tables['taken_reports'], 'run_id' | 'report'> & { key_hash: string | null },
): Promise<{ lines: number; content_hash: string }> {
  const hash = createHash('sha256').update(JSON.stringify(key_hash));
  let lines = 0;
  for (let after: readonly [string, string] = ['', '']; ; ) {
    const rows = await db
      .selectFrom('taken_lines')
      .select(['employee_id', 'line', 'amount', 'owed'])
      .where('run_id', '=', run_id)
      .where('report', '=', report)
      .where(({ eb, refTuple, tuple }) => eb(refTuple('employee_id', 'line'), '>', tuple(...after)))
      .orderBy('employee_id')
      .orderBy('line')
      .limit(LINES_AT_ONCE)
      .execute();
    for (const { employee_id, line, amount, owed } of rows)
      hash.update(JSON.stringify([employee_id, line, amount, owed]));
    lines += rows.length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < LINES_AT_ONCE) return { lines, content_hash: hash.digest('hex') };
    after = [last.employee_id, last.line];
  }
}
