/** What the checks of one run look for: in its computation, beside the employer's other runs, in its own settings. */
import { sql } from 'kysely';
import { isOneOf } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
import { rosterAt } from '../../ledger/roster.ts';
import { ago, FOUND_AT_MOST, type Found, fail, type Question } from '../findings.ts';
import { type Basis, planOfBasis, scheduleOf } from './basis.ts';
import { frozenRuns, inputsOf } from './compute.ts';
import { membershipOf } from './population.ts';
import { candidates } from './reads.ts';
import { readSchedules } from './settings.ts';
import type { Note, Summary } from './summary.ts';

/** A run that is computed, and by when it is asked about. */
export type RunQuestion = Question & {
  employerId: string;
  /** Null for a run that is stored nowhere. */
  runId: string | null;
  basis: Basis;
  summary: Summary;
};

/** A payroll is run at least once a month: a census older than that has missed whom the last period brought. */
export const CENSUS_OLD_DAYS = 31;

const DAY_MS = 86_400_000;

/** Looks for what the computation noted; it named the first and counted all. */
export function noted(note: Note, result: Found['result']) {
  return async (_: Db, { summary }: RunQuestion): Promise<Found[]> => {
    const { count, examples } = summary.notes.get(note) ?? { count: 0, examples: [] };
    // The first stands for all those who are not named.
    return examples.map((example, index) => ({
      example,
      result,
      count: index === 0 ? count - examples.length + 1 : 1,
    }));
  };
}

/** Two deductions for one line of coverage: a failure until a run with both was finalized, a warning from then on. */
export async function overlaps(db: Db, question: RunQuestion): Promise<Found[]> {
  const looks = [noted('overlap', 'fail'), noted('overlap-known', 'warn')];
  return (await Promise.all(looks.map((look) => look(db, question)))).flat();
}

/** A census of the employer that the service took in, and when. */
export async function censusCompleted(db: Db, { now, employerId }: RunQuestion): Promise<Found[]> {
  const newest = await db
    .selectFrom('census_syncs')
    .select('completed_at')
    .where('employer_id', '=', employerId)
    .where('completed_at', 'is not', null)
    .orderBy('completed_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (newest === undefined) return [fail(`${employerId}: never`)];
  const completedAt = newest.completed_at as string;
  if (completedAt >= ago(now, CENSUS_OLD_DAYS * DAY_MS)) return [];
  return [{ example: `${employerId}: last on ${completedAt}`, result: 'warn' }];
}

/** Nobody of the employer's ever had a deduction. */
export async function ledgerEmpty(db: Db, { employerId }: RunQuestion): Promise<Found[]> {
  const one = await db
    .selectFrom('roster')
    .innerJoin('deduction_employees', 'deduction_employees.employee_id', 'roster.employee_id')
    .select('roster.employee_id')
    .where('roster.employer_id', '=', employerId)
    .limit(1)
    .executeTakeFirst();
  return one === undefined ? [fail(employerId)] : [];
}

/** The pay dates that shares are counted in were stepped. */
export async function calendarAssumed(_: Db, { basis }: RunQuestion): Promise<Found[]> {
  const { dates, calendarAssumed: isAssumed } = planOfBasis(basis);
  if (!isAssumed || dates === null) return [];
  const { pay_frequency, pay_date } = basis.run;
  const example = `${dates.length} ${pay_frequency} pay dates, stepped from ${pay_date}`;
  return [{ example, result: 'warn' }];
}

/**
 * Finalized regular runs that pay some of the same days to some of the same people: a run without a pay group is for
 * all groups. An off-cycle run lies in the period of a regular one by its nature.
 */
export async function periodsOverlap(db: Db, { runId, basis: { run } }: RunQuestion): Promise<Found[]> {
  if (run.kind === 'off_cycle') return [];
  const others = await db
    .selectFrom('payroll_runs')
    .select(['run_id', 'period_start', 'period_end'])
    .where('employer_id', '=', run.employer_id)
    .where('state', '=', sql.lit('finalized'))
    .where('kind', '=', sql.lit('regular'))
    .where('pay_frequency', '=', run.pay_frequency)
    .where('period_start', '<=', run.period_end)
    .where('period_end', '>=', run.period_start)
    .where('run_id', '<>', runId ?? '')
    .$if(run.pay_group !== null, (query) =>
      query.where((where) =>
        where.or([where('pay_group', 'is', null), where('pay_group', '=', run.pay_group)]),
      ),
    )
    .orderBy('pay_date')
    .orderBy('run_id')
    .limit(FOUND_AT_MOST)
    .execute();
  return others.map((other) => fail(`${other.run_id}: ${other.period_start} to ${other.period_end}`));
}

/**
 * Finalized runs that carry differences or arrears of a run that was voided afterwards. A voided run counts as nothing
 * (payroll.md), so nothing gives back what they took for it.
 */
export async function settledOfVoided(db: Db, { basis: { earlier } }: RunQuestion): Promise<Found[]> {
  const finalized = await frozenRuns(
    db,
    earlier.map((one) => one.run_id),
  );
  const settled = new Set(finalized.flatMap((one) => one.settled.map(([runId]) => runId)));
  if (settled.size === 0) return [];
  const voided = await db
    .selectFrom('payroll_runs')
    .select('run_id')
    .where(isOneOf(db, 'run_id', [...settled]))
    .where('state', '=', sql.lit('voided'))
    .execute();
  const gone = new Set(voided.map((one) => one.run_id));
  const found = finalized.flatMap((one) =>
    one.settled.filter(([runId]) => gone.has(runId)).map(([runId]) => `${one.run_id} settled ${runId}`),
  );
  return found.slice(0, FOUND_AT_MOST).map((example) => ({ example, result: 'warn' }));
}

/** Warns with the number of employees of the run's frequency and group whom `employee_ids` leaves out. */
export async function populationNarrowed(db: Db, { basis }: RunQuestion): Promise<Found[]> {
  const { run, position } = basis;
  if (run.kind === 'off_cycle' || run.employee_ids === null) return [];
  const named = new Set(run.employee_ids);
  const everyone = { ...run, employee_ids: null };
  const { scope } = await inputsOf(db, { ...basis, run: everyone, earlier: [], previous: null });
  let left = 0;
  for await (const ids of candidates(db, everyone, '', null)) {
    const others = ids.filter((id) => !named.has(id));
    const facts = await rosterAt(db, others, position);
    left += others.filter((id) => membershipOf(facts.get(id) ?? [], scope).isIn).length;
  }
  return left === 0 ? [] : [{ example: `${left} not in employee_ids`, result: 'warn', count: left }];
}

/** The employer's schedule has the pay date, and other days for it to pay. */
export async function periodDiffers(db: Db, { basis: { run } }: RunQuestion): Promise<Found[]> {
  if (run.kind === 'off_cycle') return [];
  const schedule = scheduleOf(run, await readSchedules(db, run.employer_id));
  const date = schedule?.pay_dates.find((one) => one.pay_date === run.pay_date);
  if (date === undefined) return [];
  const { period_start, period_end } = date;
  if (period_start === run.period_start && period_end === run.period_end) return [];
  return [{ example: `${run.pay_date} pays ${period_start} to ${period_end}`, result: 'warn' }];
}
