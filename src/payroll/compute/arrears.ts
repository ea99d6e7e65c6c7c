/** The arrears of earlier runs: amounts not taken, less amounts collected by later runs. Pure. */
import { type Cents, printReadable } from '../../money.ts';
import { type Because, isIncluded, type Line, lineKey } from '../calculation/line.ts';
import { dayInWords, yearOf } from '../calculation/pay-dates.ts';
import type { Owed } from '../facts/owed.ts';
import { NOT_COMPARED, withCodes } from './adjustments.ts';
import type { Computation, EarlierRun, RunEmployee } from './computation.ts';
import type { EarlierLines } from './earlier-lines.ts';

/** The amount owed for one deduction of one run, which may have regular lines, adjustments and arrears. */
export type OwedDeduction = {
  runId: string;
  /** The first line of the deduction. */
  line: Line;
  payDate: string;
  /** The latest report that names a line of the deduction; null if later runs collected an amount that no report names. */
  because: Because | null;
  left: Cents;
  explanation: string;
};

/** Returns the arrears lines of one employee for earlier runs that are not voided. */
export function arrearsLines(
  computation: Computation,
  { owed, earlierLines }: RunEmployee,
  earlier: readonly EarlierRun[],
): Line[] {
  const runs = earlier.map(({ runId, freezeId, run }) => ({ runId, freezeId, payDate: run.pay_date }));
  const deductions = owedDeductions(runs, owed, earlierLines, yearOf(computation.run.pay_date));
  return uncanceled(deductions).map(({ runId, line, payDate, because, left, explanation }) => ({
    ...withCodes(computation, line),
    version: null,
    period: null,
    member_contribution: null,
    employer_contribution: null,
    member_amount: left,
    employer_amount: 0n,
    kind: 'arrears',
    adjustment_for: runId,
    adjustment_pay_date: payDate,
    because,
    ...NOT_COMPARED,
    flags: [],
    explanation,
  }));
}

/**
 * Returns, for each run and deduction, the amount that later finalized runs have not collected yet. It is negative if
 * they collected an amount that payroll had taken. Explanations leave out `year` in dates.
 */
export function owedDeductions(
  runs: readonly { runId: string; freezeId: string; payDate: string }[],
  owed: readonly Owed[],
  earlierLines: EarlierLines,
  year: string,
): OwedDeduction[] {
  return runs
    .flatMap(({ runId, freezeId, payDate }) => {
      const ofRun = owed.filter((amount) => amount.runId === runId);
      const lines = (earlierLines.frozen.get(freezeId) ?? []).filter(isIncluded);
      const collecting = earlierLines.settling.get(runId) ?? [];
      return [...sumsOf(ofRun, lines, collecting).values()].map((sums) =>
        owedDeduction(runId, payDate, sums, year),
      );
    })
    .filter(({ left }) => left !== 0n);
}

/** Leaves out lines of coverage whose amounts cancel out. */
export function uncanceled(deductions: readonly OwedDeduction[]): OwedDeduction[] {
  const sums = new Map<string, Cents>();
  for (const { line, left } of deductions) {
    sums.set(line.line_of_coverage, (sums.get(line.line_of_coverage) ?? 0n) + left);
  }
  return deductions.filter(({ line }) => sums.get(line.line_of_coverage) !== 0n);
}

type Sums = { line: Line; finalized: Cents; owed: Cents; collected: Cents; latest: Owed | null };

/** Adds up a run's lines by deduction: its own `lines`, and the lines of later runs that collect for it. */
function sumsOf(
  owed: readonly Owed[],
  lines: readonly Line[],
  collecting: readonly Line[],
): Map<string, Sums> {
  const deductions = new Map<string, Sums>();
  const sumsOfLine = (line: Line): Sums => {
    const sums = deductions.get(line.deduction_id) ?? {
      line,
      finalized: 0n,
      owed: 0n,
      collected: 0n,
      latest: null,
    };
    deductions.set(line.deduction_id, sums);
    return sums;
  };
  for (const amount of owed) {
    const line = lines.find((candidate) => lineKey(candidate) === amount.line);
    if (line === undefined) continue;
    const sums = sumsOfLine(line);
    sums.finalized += line.member_amount;
    sums.owed += amount.owed;
    if (sums.latest === null || amount.report > sums.latest.report) sums.latest = amount;
  }
  for (const line of collecting) {
    if (line.kind === 'arrears') sumsOfLine(line).collected += line.member_amount;
  }
  return deductions;
}

function owedDeduction(
  runId: string,
  payDate: string,
  { line, finalized, owed, collected, latest }: Sums,
  year: string,
): OwedDeduction {
  const left = owed - collected;
  const coverage = line.line_of_coverage.replaceAll('_', ' ');
  const reported =
    latest === null ? '' : ` (reported ${dayInWords(latest.reportedAt.slice(0, 'YYYY-MM-DD'.length), year)})`;
  const amounts =
    latest === null
      ? `nothing of ${coverage} is owed`
      : `${coverage} was ${printReadable(finalized)}; ${printReadable(finalized - owed)} was taken${reported}`;
  const since = collected === 0n ? '' : `, ${printReadable(collected)} collected since`;
  const result = left < 0n ? `${printReadable(-left)} back` : `${printReadable(left)} more`;
  return {
    ...{ runId, line, payDate, left },
    because:
      latest === null
        ? null
        : { kind: 'taken', id: `${runId}:${latest.report}`, received_at: latest.reportedAt },
    explanation: `Paycheck of ${dayInWords(payDate, year)}: ${amounts}${since}; ${result}.`,
  };
}
