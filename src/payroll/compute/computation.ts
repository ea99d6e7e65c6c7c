/**
 * The computation of a run: one value, built before any employee is read and passed on to all functions that compute
 * lines. They are pure functions of the computation and an employee.
 */
import { dayIn } from '../../clock.ts';
import type { Db, Trx } from '../../database/tables.ts';
import type { Employment } from '../../ledger/employment.ts';
import type { Sides } from '../calculation/items.ts';
import type { Line } from '../calculation/line.ts';
import { dayInWords, yearBefore, yearOf } from '../calculation/pay-dates.ts';
import type { Decision } from '../facts/decisions.ts';
import type { OpeningItem } from '../facts/opening-items.ts';
import type { Owed } from '../facts/owed.ts';
import { type Basis, basesOf } from '../records/basis.ts';
import type { RequestedRun } from '../records/body.ts';
import { sharesUnder } from '../records/settlements.ts';
import { resolveBasis } from './basis.ts';
import type { EarlierLines } from './earlier-lines.ts';
import type { History } from './history.ts';
import type { Job } from './population.ts';
import { type RunTerms, termsOf } from './terms.ts';

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
  /** Its pay date is not in the year of the computed run's pay date. */
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
  runId: string;
  decisions: number;
  /** The line that took it names the item by these fields. `source`: the earlier run or the opening item. */
  kind: 'adjustment' | 'arrears';
  isOpening: boolean;
  source: string;
  deduction_id: string;
  line_of_coverage: string;
  taxability: string;
};

/** A regular run, not voided, that an employee was in, or belongs in by today's facts. */
type PaidDate = { runId: string | null; payDate: string };

export type Computation = RunTerms & {
  /** Null for a run that is not stored. */
  runId: string | null;
  basis: Basis;
  /** The finalized regular run that changes are compared with. */
  previous: EarlierRun | null;
  /** The final runs of this year and the year before, and older ones with open items, by pay date. */
  earlier: readonly EarlierRun[];
  /** By employee, the shares that final checks took in earlier runs. */
  shares: ReadonlyMap<string, readonly TakenShare[]>;
  /** Returns a day in words, with its year unless it is in the year of the pay date. */
  dayInWords: (day: string) => string;
  /** Returns the day of an instant in the time zone of the run. */
  dayOf: (instant: string) => string;
  /** Decisions on open items that are not recorded, by employee: a preview has some. */
  proposed: ReadonlyMap<string, readonly Decision[]>;
  /** The employees to compute; null: all of the employer. */
  only: readonly string[] | null;
};

/** An employee of the employer as known to a run, in the run or not. */
export type RunEmployee = Job & {
  employeeId: string;
  /** With every employer. */
  employments: readonly Employment[];
  /** Returns the employee's job for an earlier run, as known now or at an earlier position of the ledger. */
  jobAt: (earlier: EarlierRun, position?: number) => Job;
  /** The deductions that ever named the employee. */
  histories: readonly History[];
  /** The employee's lines in the previous run. `isIn`: false if the run did not include the employee. */
  inPrevious: { isIn: boolean; lines: readonly Line[] };
  /** The amounts of earlier lines that payroll did not take. */
  owed: readonly Owed[];
  /** The amounts that payroll took of open items in earlier runs, not voided. */
  takenItems: readonly TakenItem[];
  decisions: readonly Decision[];
  openings: readonly OpeningItem[];
  /** The shares that final checks took in earlier runs. */
  shares: readonly TakenShare[];
  /** The pay dates of regular runs, also the computed one, that the employee was or belongs in. Empty for employees who are not leaving. */
  paid: readonly PaidDate[];
  /** The earlier runs whose lines are read for open items, in their order: most often none. */
  reopened: readonly EarlierRun[];
  /** The recent ones that may have taken another amount than is due. */
  revised: ReadonlySet<EarlierRun>;
  /** The lines of the employee in the reopened runs. */
  earlierLines: EarlierLines;
};

/** Begins the computation of a run by what is known now. Throws RUN_REFUSED. */
export async function beginComputation(
  db: Db | Trx,
  runId: string | null,
  requested: RequestedRun,
): Promise<Computation> {
  return computationOf(db, runId, await resolveBasis(db, runId, requested));
}

/** Returns the computation of a basis. With `only`, it computes these employees. */
export async function computationOf(
  db: Db | Trx,
  runId: string | null,
  basis: Basis,
  only: readonly string[] | null = null,
): Promise<Computation> {
  const inputs = basis.earlier.map(({ run_id }) => run_id);
  const bases = await basesOf(db, basis.previous === null ? inputs : [...inputs, basis.previous]);
  const year = yearOf(basis.run.pay_date);
  const earlierRun = (earlierId: string, isVoided: boolean): EarlierRun => {
    const frozen = bases.get(earlierId);
    if (frozen === undefined) throw new Error(`the earlier run ${earlierId} is not final`);
    const { freezeId, finalizedAt, voidedAt, basis: then } = frozen;
    return {
      ...termsOf(then),
      ...{
        runId: earlierId,
        freezeId,
        isVoided,
        finalizedAt,
        voidedAt,
        position: then.position,
        decisions: then.decisions,
      },
      isPriorYear: yearOf(then.run.pay_date) !== year,
      isRecent: [year, yearBefore(year)].includes(yearOf(then.run.pay_date)),
    };
  };
  const earlier = basis.earlier.map(({ run_id, is_voided }) => earlierRun(run_id, is_voided));
  const previous = earlier.find(({ runId }) => runId === basis.previous);
  return {
    ...termsOf(basis),
    ...{ runId, basis, earlier, only, proposed: new Map() },
    dayInWords: (day) => dayInWords(day, year),
    dayOf: (instant) => dayIn(basis.time_zone, instant),
    previous: previous ?? (basis.previous === null ? null : earlierRun(basis.previous, false)),
    shares: await sharesByEmployee(db, earlier, only),
  };
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
