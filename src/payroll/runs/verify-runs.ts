/** Verifies all finalized and voided runs, one at a time, and that each row matches its lines. */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import type { Verifying } from '../../database/difference.ts';
import { isUnavailable } from '../../database/errors.ts';
import type { Db } from '../../database/tables.ts';
import { OPTIONS } from '../settings/policy.ts';
import { type Frozen, frozenOf } from './basis.ts';
import { type Run, runOf, type StatedRun } from './body.ts';
import type { EmployeeLines } from './compute.ts';
import { bodyOf, findRun, hashOf, OF_BODY, type StoredRun } from './store.ts';
import { createSummary } from './summary.ts';
import { verifyRun, whyOtherRules } from './verify.ts';

/** IDs of runs read at once. Each run is then read separately, because its basis may be megabytes. */
const RUNS_AT_ONCE = 500;
/** The most rows reported that belong to no run. */
const NAMED = 1_000;

export type RunsVerified = {
  runs: number;
  lines: number;
  /** Runs finalized under the rules of another release, which can verify them. */
  otherRules: number;
};

/** Verifies every run. Of an open run, only the body and its columns. */
export async function verifyRuns(db: Db, on: Verifying): Promise<RunsVerified> {
  const verified: RunsVerified = { runs: 0, lines: 0, otherRules: 0 };
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('payroll_runs')
      .select('run_id')
      .where('run_id', '>', after)
      .orderBy('run_id')
      .limit(RUNS_AT_ONCE)
      .execute();
    for (const { run_id } of rows) {
      on.signal.throwIfAborted();
      const stored = await findRun(db, run_id);
      if (stored !== null) await verifyOne(db, stored, verified, on);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < RUNS_AT_ONCE) break;
    after = last.run_id;
  }
  await verifyLeft(db, on);
  return verified;
}

async function verifyOne(db: Db, stored: StoredRun, verified: RunsVerified, on: Verifying): Promise<void> {
  const wrong = (field: string, rule: string) => on.report('payroll_runs', stored.run_id, field, rule);
  const body = parsed(() => bodyOf(stored));
  if (body === null) return wrong('body', 'cannot be read');
  for (const field of OF_BODY) if (stored[field] !== body[field]) wrong(field, 'is not that of its body');
  if (stored.state === 'open') {
    // The frozen basis of a final run is compared with its body below.
    if (!isAsked(body)) wrong('body', 'is none that can be asked for');
    return;
  }
  if (stored.snapshot_hash !== hashOf(stored.snapshot ?? ''))
    wrong('snapshot', 'does not have its stored hash');
  const frozen = parsed(() => frozenOf(stored));
  if (frozen === null) return wrong('snapshot', 'cannot be read');
  if (!isOf(frozen.basis.run, body)) wrong('snapshot', 'is not of the run of its body');
  if (frozen.basis.position !== stored.position)
    wrong('position', 'is not the position it was computed from');
  verified.runs += 1;
  if (whyOtherRules(stored) !== null) {
    verified.otherRules += 1;
    return;
  }
  try {
    verified.lines += await verifyLines(db, stored, frozen, on);
  } catch (error) {
    if (isUnavailable(error) || on.signal.aborted) throw error;
    // Its basis was damaged so that nothing can be computed from it.
    wrong('snapshot', 'does not let it be computed again');
  }
}

/** Returns whether a frozen run is the one of a body: the policy decided only options that the body leaves open. */
function isOf(run: Run, body: StatedRun): boolean {
  const open = OPTIONS.filter((name) => body[name] === null).map((name) => [name, run[name]]);
  return isDeepStrictEqual(run, { ...body, ...Object.fromEntries(open) });
}

/**
 * Reports whether a request could have produced the body: it has exactly the fields and values of a valid
 * run.
 */
function isAsked(run: StatedRun): boolean {
  const given = Object.entries(run).filter(([, value]) => value !== null && !isDeepStrictEqual(value, []));
  const asked = runOf(Object.fromEntries(given));
  return asked.ok && isDeepStrictEqual(asked.run, run);
}

/** Recomputes the lines and the totals. Returns the number of stored lines. */
async function verifyLines(db: Db, stored: StoredRun, frozen: Frozen, on: Verifying): Promise<number> {
  const wrong = (field: string, rule: string) => on.report('payroll_runs', stored.run_id, field, rule);
  const summary = createSummary(frozen.basis);
  const add = (page: readonly EmployeeLines[]): void => {
    for (const employee of page) summary.add(employee, JSON.stringify(employee.lines));
    on.looked(page.length);
  };
  const { lines, differences, difference_count } = await verifyRun(db, stored, frozen.basis, add);
  for (const { employee_id, line } of differences) {
    const field = line === null ? 'roster_position' : 'lines';
    const rule = `run ${stored.run_id} does not compute it so`;
    on.report('run_employees', `${stored.freeze_id}/${employee_id}`, field, rule);
  }
  const left = difference_count - differences.length;
  if (left > 0) wrong('freeze_id', `${left} more lines differ`);
  const { etag, totals, outcome } = summary.summary();
  if (stored.etag !== etag) wrong('etag', 'is not that of its lines');
  if (stored.totals !== JSON.stringify(totals)) wrong('totals', 'are not those of its lines');
  const { basis: _, accepted_checks: __, ...frozenOutcome } = frozen;
  if (!isDeepStrictEqual(outcome, frozenOutcome)) wrong('snapshot', 'is not what its lines come to');
  return lines;
}

function parsed<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Reports lines that belong to no run. */
async function verifyLeft(db: Db, { report }: Verifying): Promise<void> {
  const lines = await sql<{ freeze_id: string }>`
    select distinct freeze_id from run_employees
    where not exists (select 1 from payroll_runs where payroll_runs.freeze_id = run_employees.freeze_id)
      and not exists (select 1 from run_freezes where run_freezes.freeze_id = run_employees.freeze_id)
    order by freeze_id limit ${NAMED}`.execute(db);
  for (const { freeze_id } of lines.rows) {
    report('run_employees', freeze_id, 'freeze_id', 'there is no such run');
  }
}
