/** Repeats of reports of amounts taken: the same idempotency key with the same lines. */
import type { Db, Trx } from '../../database/tables.ts';
import { AppError } from '../../errors.ts';

/** A report whose lines are written. `lines` is their number. */
export type WrittenReport = { run_id: string; report: number; lines: number; key_hash: string | null };

/**
 * Returns the recorded report with the same key and lines; null without one. Throws KEY_REUSED if its lines or amounts
 * differ.
 */
export async function reportWithKey(
  db: Db | Trx,
  { run_id, report, lines, key_hash }: WrittenReport,
): Promise<number | null> {
  if (key_hash === null) return null;
  const known = await db
    .selectFrom('taken_reports')
    .select(['report', 'line_count'])
    .where('run_id', '=', run_id)
    .where('key_hash', '=', key_hash)
    .executeTakeFirst();
  if (known === undefined) return null;
  const { written, same } = await db
    .selectFrom('taken_lines as line')
    .leftJoin('taken_lines as stored', (join) =>
      join
        .onRef('stored.run_id', '=', 'line.run_id')
        .on('stored.report', '=', known.report)
        .onRef('stored.employee_id', '=', 'line.employee_id')
        .onRef('stored.line', '=', 'line.line')
        .onRef('stored.amount', '=', 'line.amount'),
    )
    .select((eb) => [eb.fn.countAll().as('written'), eb.fn.count('stored.report').as('same')])
    .where('line.run_id', '=', run_id)
    .where('line.report', '=', report)
    .executeTakeFirstOrThrow();
  // A newer report removes the lines of this one, so fewer lines prove nothing.
  if (Number(written) !== lines) return null;
  if (Number(same) === lines && known.line_count === lines) return known.report;
  throw new AppError(
    'KEY_REUSED',
    'This Idempotency-Key was used for another report on the run. Keys never expire: send a new report with a new key.',
  );
}
