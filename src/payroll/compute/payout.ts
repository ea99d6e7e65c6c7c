/**
 * What pays the open items of an employer: a run, or the list of what is owed on a day. It is one value, built before any
 * employee is read and passed on to the pure functions that compute items.
 */
import { dayIn } from '../../clock.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { timeZoneOf } from '../../database/time-zone.ts';
import { isAnyAssignedAfter } from '../../ledger/assignments.ts';
import type { Employment } from '../../ledger/employment.ts';
import { readPosition } from '../../ledger/position.ts';
import type { Sides } from '../calculation/items.ts';
import { dayInWords, yearBefore, yearOf } from '../calculation/pay-dates.ts';
import { type Decision, lastDecision } from '../facts/decisions.ts';
import { lastOpening, type OpeningItem } from '../facts/opening-items.ts';
import { earlierRuns, type Owed } from '../facts/owed.ts';
import { type Basis, basesOf } from '../records/basis.ts';
import type { Run, RunDates } from '../records/body.ts';
import type { Input } from '../records/inputs.ts';
import { sharesUnder } from '../records/settlements.ts';
import { readCodes } from '../settings/codes.ts';
import type { EarlierLines } from './earlier-lines.ts';
import type { History } from './history.ts';
import type { Job } from './population.ts';
import { contentUnder, type RunTerms, termsOf } from './terms.ts';
import { transfersTo } from './transfers.ts';

/** The employer, the date and the pay period of a payout. */
export type Payday = Pick<Run, 'employer_id'> & RunDates;

/** The facts from which a payout is computed. */
export type PayoutBasis = Pick<
  Basis,
  'time_zone' | 'position' | 'transfers' | 'codes' | 'decisions' | 'opening_items' | 'earlier'
>;

export type Payout = Pick<RunTerms, 'day' | 'finalChecks' | 'transfers' | 'contentOf' | 'dayInWords'> & {
  payday: Payday;
  basis: PayoutBasis;
  /** The final runs of this year and the year before, and older ones with open items, by pay date. */
  earlier: readonly EarlierRun[];
  /** By employee, the shares that final checks took in earlier runs. */
  shares: ReadonlyMap<string, readonly TakenShare[]>;
  /** Any deduction, of any employer, is assigned. */
  isAnyAssigned: boolean;
  /** Returns the day of an instant in the time zone of the payout. */
  dayOf: (instant: string) => string;
  /** Decisions on open items that are not recorded, by employee: a preview has some. */
  proposed: ReadonlyMap<string, readonly Decision[]>;
  /** The employees to compute; null: all of the employer. */
  only: readonly string[] | null;
};

/** A final run with its options, calendar and codes as frozen. */
export type EarlierRun = RunTerms & {
  runId: string;
  freezeId: string;
  /** The ledger position at which it was computed. */
  position: number;
  /** The number of the newest decision on open items that it knew. */
  decisions: number;
  /** It was voided after it was finalized. */
  isVoided: boolean;
  finalizedAt: string;
  voidedAt: string | null;
  /** Its pay date is not in the year of the payout. */
  isPriorYear: boolean;
  /** Its pay date is in that year or the year before: only such runs have adjustments. */
  isRecent: boolean;
};

/** A share that a final check took. */
type TakenShare = {
  runId: string;
  isVoided: boolean;
  voidedAt: string | null;
  deductionId: string;
  payDate: string;
};

/** The amounts that a run took of an open item. `decisions`: the number of the newest decision that the run knew. */
export type TakenItem = Sides & {
  itemId: string;
  /** The earlier run that the item is of; null for an opening item. */
  earlierRunId: string | null;
  runId: string;
  decisions: number;
};

/** A regular run, not voided, that an employee was in, or belongs in by today's facts. */
type PaidDate = { runId: string | null; payDate: string };

/** An employee of the employer, with everything that decides the open items. */
export type Payee = {
  employeeId: string;
  /** With every employer. */
  employments: readonly Employment[];
  /** Returns the employee's job for an earlier run, as known now or at an earlier position of the ledger. */
  jobAt: (earlier: EarlierRun, position?: number) => Job;
  /** The deductions that ever named the employee. */
  histories: readonly History[];
  /** The amounts of earlier lines that payroll did not take. */
  owed: readonly Owed[];
  /** The amounts that payroll took of open items in earlier runs, not voided. */
  takenItems: readonly TakenItem[];
  decisions: readonly Decision[];
  openings: readonly OpeningItem[];
  /** The shares that final checks took in earlier runs. */
  shares: readonly TakenShare[];
  /** The pay dates of regular runs, also the computed one, that the employee was or belongs in. Empty for employees who are not leaving. */
  paid: PaidDate[];
  /** The earlier runs whose lines are read for open items, in their order: most often none. */
  reopened: readonly EarlierRun[];
  /** The recent ones that may have taken another amount than is due. */
  revised: ReadonlySet<EarlierRun>;
  /** The lines of the employee in the reopened runs. */
  earlierLines: EarlierLines;
};

/** Returns a payout today of what is known now. With `only`, it computes these employees. */
export async function payoutOn(
  db: Db | Trx,
  employerId: string,
  today: string,
  only: readonly string[] | null,
): Promise<Payout> {
  const payday = { employer_id: employerId, pay_date: today, period_start: today, period_end: today };
  const basis = await payoutBasis(db, payday, null);
  const earlier = await earlierRunsOf(db, basis.earlier, payday);
  return {
    day: today,
    finalChecks: new Set(),
    transfers: Map.groupBy(basis.transfers, ({ employee_id }) => employee_id),
    contentOf: contentUnder(basis.codes),
    dayInWords: (day) => dayInWords(day, yearOf(today)),
    ...(await payoutOf(db, payday, basis, earlier, only)),
  };
}

/** Returns what is known now of an employer's open items. `runId` is excluded from the earlier runs. */
export async function payoutBasis(db: Db | Trx, payday: Payday, runId: string | null): Promise<PayoutBasis> {
  const { employer_id } = payday;
  return {
    time_zone: timeZoneOf(db),
    position: await readPosition(db),
    transfers: await transfersTo(db, payday),
    codes: await readCodes(db, employer_id),
    decisions: await lastDecision(db, employer_id),
    opening_items: await lastOpening(db, employer_id),
    earlier: await earlierRuns(db, payday, runId),
  };
}

/** Returns a payout, except for what a run has in its terms. */
export async function payoutOf<B extends PayoutBasis>(
  db: Db | Trx,
  payday: Payday,
  basis: B,
  earlier: readonly EarlierRun[],
  only: readonly string[] | null,
): Promise<Omit<Payout, keyof RunTerms> & { basis: B }> {
  return {
    ...{ payday, basis, earlier, only, proposed: new Map() },
    dayOf: (instant) => dayIn(basis.time_zone, instant),
    shares: await sharesByEmployee(db, earlier, only),
    isAnyAssigned: await isAnyAssignedAfter(db, 0),
  };
}

/** Returns final runs as a payout knows them. */
export async function earlierRunsOf(
  db: Db | Trx,
  inputs: readonly Pick<Input, 'run_id' | 'is_voided'>[],
  { pay_date }: Payday,
): Promise<EarlierRun[]> {
  const bases = await basesOf(
    db,
    inputs.map(({ run_id }) => run_id),
  );
  const year = yearOf(pay_date);
  return inputs.map(({ run_id: runId, is_voided: isVoided }): EarlierRun => {
    const frozen = bases.get(runId);
    if (frozen === undefined) throw new Error(`the earlier run ${runId} is not final`);
    const { freezeId, finalizedAt, voidedAt, basis } = frozen;
    const { position, decisions, run } = basis;
    return {
      ...termsOf(basis),
      ...{ runId, freezeId, isVoided, finalizedAt, voidedAt, position, decisions },
      isPriorYear: yearOf(run.pay_date) !== year,
      isRecent: [year, yearBefore(year)].includes(yearOf(run.pay_date)),
    };
  });
}

async function sharesByEmployee(
  db: Db | Trx,
  earlier: readonly EarlierRun[],
  only: readonly string[] | null,
): Promise<Map<string, TakenShare[]>> {
  const runs = new Map(earlier.map((run) => [run.freezeId, run]));
  const rows = await sharesUnder(db, [...runs.keys()], only);
  const byEmployee = Map.groupBy(rows, ({ employee_id }) => employee_id);
  const shareOf = ({ freeze_id, deduction_id, settles }: (typeof rows)[number]): TakenShare => {
    const { runId, isVoided, voidedAt } = runs.get(freeze_id) as EarlierRun;
    return { runId, isVoided, voidedAt, deductionId: deduction_id, payDate: settles };
  };
  return new Map([...byEmployee].map(([employeeId, shares]) => [employeeId, shares.map(shareOf)]));
}
