import {
  COVERAGE_TYPES,
  type CoverageType,
  type Deduction,
  type LineOfCoverage,
} from '../contract/deduction.ts';
import type { PayFrequency } from '../contract/employee.ts';
import { DEDUCTION_UPDATED } from '../contract/events.ts';
import type { MadeEvent, MakeEvent } from './events.ts';
import { between, pick, type Random, seededId, seededRandom } from './random.ts';

/** Enrollments as the benefits service knows them. Each change returns its event, which the caller sends. */
export type Enrolments = {
  /** Returns one event per line of coverage. Without lines, the seed chooses them. */
  enrol(employeeId: string, lines?: readonly LineOfCoverage[]): MadeEvent[];
  /** Throws for an unknown deduction. */
  changeDeduction(deductionId: string, changes: Partial<Omit<Deduction, 'id'>>): MadeEvent;
  /** Sets the last day, `YYYY-MM-DD`; no event deletes a deduction. Throws for an unknown deduction. */
  endDeduction(deductionId: string, lastDay: string): MadeEvent;
  /** The latest state of every deduction: what the ledger must show in the end. */
  deductions(): Deduction[];
};

export function createEnrolments(
  { seed, now, makeEvent }: { seed: number; now: () => Date; makeEvent: MakeEvent },
  payFrequencyOf: (employeeId: string) => PayFrequency,
): Enrolments {
  const deductions = new Map<string, Deduction>();
  const times = new Map<string, number>();

  const enrolOnce = (employeeId: string, line: LineOfCoverage): MadeEvent => {
    const key = JSON.stringify([employeeId, line]);
    const nth = (times.get(key) ?? 0) + 1;
    times.set(key, nth);
    const payFrequency = payFrequencyOf(employeeId);
    const startsOn = `${now().toISOString().slice(0, 8)}01`;
    return keep(makeDeduction(seed, { employeeId, payFrequency, line, startsOn, nth }));
  };
  const change = (deductionId: string, changes: Partial<Omit<Deduction, 'id'>>): MadeEvent => {
    const deduction = deductions.get(deductionId);
    if (!deduction) throw new Error(`no deduction ${deductionId} was created here: enroll an employee first`);
    return keep({ ...deduction, ...changes });
  };
  const keep = (deduction: Deduction): MadeEvent => {
    deductions.set(deduction.id, deduction);
    return makeEvent(DEDUCTION_UPDATED, deduction);
  };

  return {
    enrol: (employeeId, lines = usualLines(seed, employeeId)) =>
      lines.map((line) => enrolOnce(employeeId, line)),
    changeDeduction: change,
    endDeduction: (deductionId, lastDay) => change(deductionId, { effective_end: `${lastDay}T00:00:00Z` }),
    deductions: () => [...deductions.values()],
  };
}

/**
 * Creates a plan for one line of coverage. Premiums are monthly; savings are deducted from each paycheck.
 * Costs are cents per period, employee and employer together.
 */
function plan(
  description: string,
  taxability: Deduction['taxability'],
  period: 'monthly' | 'paycheck',
  leastCents: number,
  mostCents: number,
  employerPercent: number,
) {
  return { description, taxability, period, leastCents, mostCents, employerPercent, isTiered: false };
}

/** Creates a plan whose cost depends on who is covered. */
function tiered(...terms: Parameters<typeof plan>): Plan {
  return { ...plan(...terms), isTiered: true };
}

type Plan = ReturnType<typeof plan>;

const PLANS: Readonly<Record<LineOfCoverage, Plan>> = {
  medical: tiered('Silver PPO 3000', 'pre_tax', 'monthly', 42_000, 68_000, 70),
  dental: tiered('Dental PPO 1500', 'pre_tax', 'monthly', 2_800, 4_600, 50),
  vision: tiered('Vision 12/12/24', 'pre_tax', 'monthly', 600, 1_200, 50),
  accident: tiered('Accident Plus', 'post_tax', 'monthly', 900, 1_800, 0),
  accidental_death: plan('Basic accidental death', 'post_tax', 'monthly', 100, 400, 100),
  cancer: plan('Cancer care', 'post_tax', 'monthly', 1_500, 3_200, 0),
  hospital_indemnity: tiered('Hospital indemnity', 'post_tax', 'monthly', 1_400, 3_000, 0),
  life: plan('Basic life 50,000', 'post_tax', 'monthly', 450, 900, 100),
  long_term_disability: plan('Long-term disability 60%', 'post_tax', 'monthly', 1_200, 3_000, 100),
  short_term_disability: plan('Short-term disability 60%', 'post_tax', 'monthly', 1_000, 2_600, 100),
  supplemental: plan('Supplemental cover', 'post_tax', 'monthly', 800, 2_000, 0),
  voluntary_critical_illness: plan('Critical illness 20,000', 'post_tax', 'monthly', 900, 2_900, 0),
  voluntary_life: plan('Voluntary life', 'post_tax', 'monthly', 700, 4_000, 0),
  voluntary_accidental_death: plan('Voluntary accidental death', 'post_tax', 'monthly', 200, 900, 0),
  voluntary_short_term_disability: plan(
    'Voluntary short-term disability',
    'post_tax',
    'monthly',
    900,
    3_000,
    0,
  ),
  commuter_transit: plan('Transit pass', 'pre_tax', 'paycheck', 2_000, 15_000, 0),
  dependent_care_fsa: plan('Dependent care account', 'pre_tax', 'paycheck', 5_000, 19_000, 0),
  healthcare_fsa: plan('Health care account', 'pre_tax', 'paycheck', 2_000, 12_000, 0),
  hsa: plan('Health savings account', 'pre_tax', 'paycheck', 5_000, 20_000, 25),
  limited_purpose_fsa: plan('Limited purpose account', 'pre_tax', 'paycheck', 1_000, 6_000, 0),
};

/** The cost as a percentage of covering the member alone. */
const TIER_PERCENT: Readonly<Record<CoverageType, number>> = {
  member: 100,
  member_spouse: 200,
  member_child: 170,
  member_children: 190,
  member_family: 280,
};

/** Returns the usual lines: medical, and some others that most employers offer. */
export function usualLines(seed: number, employeeId: string): LineOfCoverage[] {
  const random = seededRandom(seed, 'lines', employeeId);
  const others = ['dental', 'vision', 'hsa', 'life', 'commuter_transit'] as const;
  return ['medical', ...others.filter(() => random() < 0.5)];
}

/** An enrollment. `nth` distinguishes a second enrollment in the same line from the first. */
type Enrolment = {
  employeeId: string;
  payFrequency: PayFrequency;
  line: LineOfCoverage;
  startsOn: string;
  nth: number;
};

/** Returns the deduction of an enrollment, which follows the contract and is the same for the same seed. */
export function makeDeduction(seed: number, enrolment: Enrolment): Deduction {
  const { employeeId, line, nth } = enrolment;
  const random = seededRandom(seed, 'deduction', employeeId, line, nth);
  const terms = PLANS[line];
  const coverageType = terms.isTiered ? pick(random, COVERAGE_TYPES) : 'member';
  const cents = costOf(random, terms, coverageType);
  const employerCents = Math.floor((cents * terms.employerPercent) / 100);
  return {
    id: seededId('ded', seed, employeeId, line, nth),
    employee_id: employeeId,
    line_of_coverage: line,
    member_contribution: decimal(cents - employerCents),
    employer_contribution: decimal(employerCents),
    period: terms.period === 'monthly' ? 'monthly' : enrolment.payFrequency,
    taxability: terms.taxability,
    coverage_type: coverageType,
    description: terms.description,
    effective_start: `${enrolment.startsOn}T00:00:00Z`,
  };
}

function costOf(random: Random, { leastCents, mostCents }: Plan, coverageType: CoverageType): number {
  return Math.floor((between(random, leastCents, mostCents) * TIER_PERCENT[coverageType]) / 100);
}

/** Returns whole cents as decimal text. */
function decimal(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}
