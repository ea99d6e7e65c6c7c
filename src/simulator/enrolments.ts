import {
  COVERAGE_TYPES,
  type CoverageType,
  type Deduction,
  type LineOfCoverage,
} from '../contract/deduction.ts';
import type { PayFrequency } from '../contract/employee.ts';
import { DEDUCTION_UPDATED } from '../contract/events.ts';
import { isDay } from '../contract/instant.ts';
import type { MadeEvent, MakeEvent } from './events.ts';
import { between, pick, seededId, seededRandom } from './random.ts';
import type { Workforce } from './workforce.ts';

export type Enrolments = ReturnType<typeof createEnrolments>;

/** Enrollments as the benefits service knows them. Each change returns its event, which the caller sends. */
export function createEnrolments(
  { seed, now, makeEvent }: { seed: number; now: () => Date; makeEvent: MakeEvent },
  { employersOf, payFrequencyOf }: Pick<Workforce, 'employersOf' | 'payFrequencyOf'>,
) {
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
    if (changes.employee_id !== undefined) assertKnown(changes.employee_id);
    return keep({ ...deduction, ...changes });
  };
  const assertKnown = (employeeId: string): void => {
    if (employersOf(employeeId).length > 0) return;
    throw new Error(
      `no census or hire has the employee ${employeeId}: have payroll report the employee first`,
    );
  };
  const keep = (deduction: Deduction): MadeEvent => {
    deductions.set(deduction.id, deduction);
    return makeEvent(DEDUCTION_UPDATED, deduction);
  };

  return {
    /**
     * Returns one event per line of coverage. Without lines, the seed chooses them. Throws for an employee whom payroll did not
     * report.
     */
    enrol: (employeeId: string, lines: readonly LineOfCoverage[] = usualLines(seed, employeeId)) => {
      assertKnown(employeeId);
      return lines.map((line) => enrolOnce(employeeId, line));
    },
    /** Enrolls an employee whom payroll may not have reported. */
    enrolUnlisted: enrolOnce,
    /** Throws for an unknown deduction, and for an employee whom payroll did not report. */
    changeDeduction: change,
    /** Sets the last day, `YYYY-MM-DD`; no event deletes a deduction. Throws for an unknown deduction or an invalid day. */
    endDeduction: (deductionId: string, lastDay: string) => {
      if (!isDay(lastDay)) throw new Error('the last day must be a real date, YYYY-MM-DD');
      return change(deductionId, { effective_end: `${lastDay}T00:00:00Z` });
    },
    deductions: () => [...deductions.values()],
  };
}

/** Creates a monthly premium. Costs are cents per period, employee and employer together. */
function premium(
  description: string,
  taxability: Deduction['taxability'],
  leastCents: number,
  mostCents: number,
  employerPercent: number,
) {
  return {
    description,
    taxability,
    leastCents,
    mostCents,
    employerPercent,
    isMonthly: true,
    isTiered: false,
  };
}

function tiered(...terms: Parameters<typeof premium>): PlanTerms {
  return { ...premium(...terms), isTiered: true };
}

/** Creates an account, to which each paycheck contributes. */
function account(description: string, leastCents: number, mostCents: number, employerPercent = 0): PlanTerms {
  return { ...premium(description, 'pre_tax', leastCents, mostCents, employerPercent), isMonthly: false };
}

type PlanTerms = ReturnType<typeof premium>;

const PLANS: Readonly<Record<LineOfCoverage, PlanTerms>> = {
  medical: tiered('Silver PPO 3000', 'pre_tax', 42_000, 68_000, 70),
  dental: tiered('Dental PPO 1500', 'pre_tax', 2_800, 4_600, 50),
  vision: tiered('Vision 12/12/24', 'pre_tax', 600, 1_200, 50),
  accident: tiered('Accident Plus', 'post_tax', 900, 1_800, 0),
  accidental_death: premium('Basic accidental death', 'post_tax', 100, 400, 100),
  cancer: premium('Cancer care', 'post_tax', 1_500, 3_200, 0),
  hospital_indemnity: tiered('Hospital indemnity', 'post_tax', 1_400, 3_000, 0),
  life: premium('Basic life 50,000', 'post_tax', 450, 900, 100),
  long_term_disability: premium('Long-term disability 60%', 'post_tax', 1_200, 3_000, 100),
  short_term_disability: premium('Short-term disability 60%', 'post_tax', 1_000, 2_600, 100),
  supplemental: premium('Supplemental cover', 'post_tax', 800, 2_000, 0),
  voluntary_critical_illness: premium('Critical illness 20,000', 'post_tax', 900, 2_900, 0),
  voluntary_life: premium('Voluntary life', 'post_tax', 700, 4_000, 0),
  voluntary_accidental_death: premium('Voluntary accidental death', 'post_tax', 200, 900, 0),
  voluntary_short_term_disability: premium('Voluntary short-term disability', 'post_tax', 900, 3_000, 0),
  commuter_transit: account('Transit pass', 2_000, 15_000),
  dependent_care_fsa: account('Dependent care account', 5_000, 19_000),
  healthcare_fsa: account('Health care account', 2_000, 12_000),
  hsa: account('Health savings account', 5_000, 20_000, 25),
  limited_purpose_fsa: account('Limited purpose account', 1_000, 6_000),
};

/** The cost as a percentage of covering the member alone. */
const TIER_PERCENT: Readonly<Record<CoverageType, number>> = {
  member: 100,
  member_spouse: 200,
  member_child: 170,
  member_children: 190,
  member_family: 280,
};

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
  const cents = Math.floor(
    (between(random, terms.leastCents, terms.mostCents) * TIER_PERCENT[coverageType]) / 100,
  );
  const employerCents = Math.floor((cents * terms.employerPercent) / 100);
  return {
    id: seededId('ded', seed, employeeId, line, nth),
    employee_id: employeeId,
    line_of_coverage: line,
    member_contribution: decimal(cents - employerCents),
    employer_contribution: decimal(employerCents),
    period: terms.isMonthly ? 'monthly' : enrolment.payFrequency,
    taxability: terms.taxability,
    coverage_type: coverageType,
    description: terms.description,
    effective_start: `${enrolment.startsOn}T00:00:00Z`,
  };
}

function decimal(cents: number): string {
  return (cents / 100).toFixed(2);
}
