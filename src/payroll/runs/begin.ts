/** Creates and previews runs. A run is stored only if it can be computed. */
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import type { Line } from '../calculation/line.ts';
import { runRefused } from './basis.ts';
import type { StatedRun } from './body.ts';
import { isKnownEmployer, unknownIds } from './known-ids.ts';
import { findRun, previewRun, putRun, type RunView, type StoredRun, viewRun } from './store.ts';

type Begun =
  | { outcome: 'created' | 'same'; view: RunView; stored: StoredRun }
  /** Another body is stored under the id. */
  | { outcome: 'different' };

/**
 * Computes a run and stores it. The same body under the same id is `same`, whatever the state of the stored
 * run. Throws RUN_REFUSED and stores nothing if the run cannot be computed or its employer is unknown.
 */
export async function beginRun(db: Db, runId: string, run: StatedRun, now: string): Promise<Begun> {
  const known = await findRun(db, runId);
  if (known !== null) return shown(db, known, run);
  await assertKnown(db, run);
  const view = await previewRun(db, runId, run);
  const { outcome, stored } = await transact(db, async (trx) => ({
    outcome: await putRun(trx, runId, run, now),
    stored: (await findRun(trx, runId)) as StoredRun,
  }));
  // Otherwise another caller created one while this one was computed.
  return outcome === 'created' ? { outcome, view, stored } : shown(db, stored, run);
}

async function shown(db: Db, stored: StoredRun, run: StatedRun): Promise<Begun> {
  if (stored.body !== JSON.stringify(run)) return { outcome: 'different' };
  return { outcome: 'same', view: await viewRun(db, stored), stored };
}

/** The most lines that a preview shows. */
export const PREVIEWED_LINES = 500;

/**
 * Computes a run without storing it, and returns its first lines if it names its employees. Throws RUN_REFUSED, also
 * for an unknown employer.
 */
export async function previewWithLines(
  db: Db,
  run: StatedRun,
): Promise<{ view: RunView; lines: Line[] | null }> {
  await assertKnown(db, run);
  const lines: Line[] | null = run.employee_ids === null ? null : [];
  const view = await previewRun(db, null, run, (some) => {
    if (lines !== null && lines.length < PREVIEWED_LINES) lines.push(...some);
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
