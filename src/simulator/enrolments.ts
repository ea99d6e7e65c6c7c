import type { Deduction, LineOfCoverage } from '../contract/deduction.ts';
import { DEDUCTION_UPDATED } from '../contract/events.ts';
import type { PayFrequency } from '../contract/pay-rate.ts';
import type { MadeEvent, MakeEvent } from './events.ts';
import { makeDeduction, usualLines } from './plans.ts';

/**
 * Who is enrolled in what, as the benefits service knows it. Each change is made here first and answers the event
 * that tells of it; the caller decides how that is sent.
 */
export type Enrolments = {
  /** One event a line of coverage; without lines, those that the seed chooses for this employee. */
  enrol(employeeId: string, lines?: readonly LineOfCoverage[]): MadeEvent[];
  /** Throws when no such deduction was made here. */
  changeDeduction(deductionId: string, changes: Partial<Omit<Deduction, 'id'>>): MadeEvent;
  /** Ends it with a last day, `YYYY-MM-DD`: there is no event that deletes. Throws as `changeDeduction` does. */
  endDeduction(deductionId: string, lastDay: string): MadeEvent;
  /** The latest state of every deduction: what the ledger must show in the end. */
  deductions(): Deduction[];
};

export type EnrolmentsOptions = {
  seed: number;
  now: () => Date;
  makeEvent: MakeEvent;
  payFrequencyOf: (employeeId: string) => PayFrequency;
};

export function createEnrolments({ seed, now, makeEvent, payFrequencyOf }: EnrolmentsOptions): Enrolments {
  const deductions = new Map<string, Deduction>();
  const times = new Map<string, number>();

  const enrolOnce = (employeeId: string, line: LineOfCoverage): MadeEvent => {
    const key = JSON.stringify([employeeId, line]);
    const nth = (times.get(key) ?? 0) + 1;
    times.set(key, nth);
    const payFrequency = payFrequencyOf(employeeId);
    return keep(makeDeduction(seed, { employeeId, payFrequency, line, startsOn: firstOfMonth(now()), nth }));
  };
  const change = (deductionId: string, changes: Partial<Omit<Deduction, 'id'>>): MadeEvent => {
    const deduction = deductions.get(deductionId);
    if (!deduction) throw new Error(`no deduction ${deductionId} was made here: enrol somebody first`);
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

function firstOfMonth(now: Date): string {
  return `${now.toISOString().slice(0, 8)}01`;
}
