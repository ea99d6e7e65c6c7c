/** Creates and previews runs. A run is stored only if it can be computed. */
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import type { Problem } from '../../errors.ts';
import { deductionsKnownAt, employeesKnownAt } from '../../ledger/roster.ts';
import type { Acting } from '../../security/audit.ts';
import type { Line } from '../calculation/line.ts';
import { runRefused } from '../compute/calendar.ts';
import type { StatedRun } from '../records/body.ts';
import { findRun, putRun, type StoredRun } from '../records/runs.ts';
import { isKnownEmployer } from './employers.ts';
import { previewRun, type RunView, viewRun } from './results.ts';

type Begun =
  | { outcome: 'created' | 'same'; view: RunView; stored: StoredRun }
  /** Another body is stored under the id. */
  | { outcome: 'different' };

/** Stores a run if it can be computed. The same body under the same id is `same`, in any state. Throws RUN_REFUSED. */
export async function beginRun(db: Db, runId: string, run: StatedRun, acting: Acting): Promise<Begun> {
  let known = await findRun(db, runId);
  if (known === null) {
    await assertKnown(db, run);
    const view = await previewRun(db, runId, run);
    const { outcome, stored } = await transact(db, async (trx) => ({
      outcome: await putRun(trx, runId, run, acting),
      stored: (await findRun(trx, runId)) as StoredRun,
    }));
    if (outcome === 'created') return { outcome, view, stored };
    // Another caller created the run while this one was computed.
    known = stored;
  }
  if (known.body !== JSON.stringify(run)) return { outcome: 'different' };
  return { outcome: 'same', view: await viewRun(db, known), stored: known };
}

export const PREVIEWED_LINES = 500;

/** Computes a run without storing it, and returns its first lines if it names its employees. Throws RUN_REFUSED. */
export async function previewWithLines(
  db: Db,
  run: StatedRun,
): Promise<{ view: RunView; lines: Line[] | null }> {
  await assertKnown(db, run);
  const lines: Line[] | null = run.employee_ids === null ? null : [];
  const view = await previewRun(db, null, run, (page) => {
    if (lines !== null && lines.length < PREVIEWED_LINES)
      lines.push(...page.flatMap((computed) => computed.lines));
  });
  return { view, lines: lines?.slice(0, PREVIEWED_LINES) ?? null };
}

async function assertKnown(db: Db, run: StatedRun): Promise<void> {
  if (!(await isKnownEmployer(db, run.employer_id))) {
    const rule = 'is unknown: check the ID, or stage a census or set a pay schedule for it first';
    throw runRefused({ path: 'employer_id', rule });
  }
  const problems = await unknownIds(db, run);
  if (problems.length > 0) throw runRefused(...problems);
}

/** Maximum number of unknown ids that a problem names. Further ids are counted. */
const NAMED = 20;

/** Returns a problem for each list with ids never known at the employer: a mistyped one would leave employees out. */
async function unknownIds(
  db: Db,
  { employer_id, employee_ids, final_checks, deductions }: StatedRun,
): Promise<Problem[]> {
  const employees = await employeesKnownAt(db, employer_id, [...(employee_ids ?? []), ...final_checks]);
  const lists = [
    { path: 'employee_ids', ids: employee_ids ?? [], known: employees },
    { path: 'final_checks', ids: final_checks, known: employees },
    {
      path: 'deductions',
      ids: deductions ?? [],
      known: await deductionsKnownAt(db, employer_id, deductions ?? []),
    },
  ];
  return lists.flatMap(({ path, ids, known }) => {
    const unknown = ids.filter((id) => !known.has(id));
    if (unknown.length === 0) return [];
    const more = unknown.length > NAMED ? `, and ${unknown.length - NAMED} more` : '';
    const named = unknown.slice(0, NAMED).join(', ');
    return [{ path, rule: `must name ids known at employer ${employer_id}; unknown: ${named}${more}` }];
  });
}
