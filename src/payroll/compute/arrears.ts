/** The arrears of earlier runs: amounts not taken, less amounts collected by later runs. Pure. */
import { amountOf, type Cents } from '../../money.ts';
import { isIncluded, type Line, lineKey } from '../calculation/line.ts';
import type { Owed } from '../facts/owed.ts';
import { NOT_COMPARED, withCodes } from './adjustments.ts';
import type { Computation, EarlierRun, RunEmployee } from './computation.ts';
import type { EarlierLines } from './earlier-lines.ts';

/** The amount owed for one deduction of one run, which may have regular lines, adjustments and arrears. */
export type OwedDeduction = {
  runId: string;
  /** The first line of the deduction. */
  line: Line;
  left: Cents;
  explanation: string;
};

/** Returns the arrears lines of one employee for earlier runs that are not voided. */
export function arrearsLines(
  computation: Computation,
  { owed, earlierLines }: RunEmployee,
  earlier: readonly EarlierRun[],
): Line[] {
  const deductions = owedDeductions(earlier, owed, earlierLines);
  return uncanceled(deductions).map(({ runId, line, left, explanation }) => ({
    ...withCodes(computation, line),
    version: null,
    period: null,
    member_contribution: null,
    employer_contribution: null,
    member_amount: left,
    employer_amount: 0n,
    kind: 'arrears',
    adjustment_for: runId,
    ...NOT_COMPARED,
    flags: [],
    explanation,
  }));
}

/**
 * Returns, for each run and deduction, the amount that later finalized runs have not collected yet. It is negative if
 * they collected an amount that payroll had taken.
 */
export function owedDeductions(
  runs: readonly Pick<EarlierRun, 'runId' | 'freezeId'>[],
  owed: readonly Owed[],
  earlierLines: EarlierLines,
): OwedDeduction[] {
  return runs
    .flatMap(({ runId, freezeId }) => {
      const ofRun = owed.filter((amount) => amount.runId === runId);
      const lines = (earlierLines.attended.get(freezeId) ?? []).filter(isIncluded);
      const collecting = earlierLines.settling.get(runId) ?? [];
      return [...sumsOf(ofRun, lines, collecting).values()].map((sums) => owedDeduction(runId, sums));
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

type Sums = { line: Line; finalized: Cents; owed: Cents; collected: Cents };

/** Adds up a run's lines by deduction: its own `lines`, and the lines of later runs that collect for it. */
function sumsOf(
  owed: readonly Owed[],
  lines: readonly Line[],
  collecting: readonly Line[],
): Map<string, Sums> {
  const deductions = new Map<string, Sums>();
  const sumsOfLine = (line: Line): Sums => {
    const sums = deductions.get(line.deduction_id) ?? { line, finalized: 0n, owed: 0n, collected: 0n };
    deductions.set(line.deduction_id, sums);
    return sums;
  };
  for (const amount of owed) {
    const line = lines.find((candidate) => lineKey(candidate) === amount.line);
    if (line === undefined) continue;
    const sums = sumsOfLine(line);
    sums.finalized += line.member_amount;
    sums.owed += amount.owed;
  }
  for (const line of collecting) {
    if (line.kind === 'arrears') sumsOfLine(line).collected += line.member_amount;
  }
  return deductions;
}

function owedDeduction(runId: string, { line, finalized, owed, collected }: Sums): OwedDeduction {
  const left = owed - collected;
  const taken =
    owed === 0n
      ? 'nothing is owed by what payroll reports now'
      : `${amountOf(finalized)} finalized - ${amountOf(finalized - owed)} taken = ${amountOf(owed)}`;
  const since =
    collected === 0n
      ? ''
      : `; ${amountOf(owed)} - ${amountOf(collected)} collected since = ${amountOf(left)}`;
  return { runId, line, left, explanation: `run ${runId}: ${taken}${since}` };
}
