/** The lines of a run for earlier runs, taken or reported: adjustments and arrears of one employee. Pure. */
import { valueOn } from '../../ledger/employment.ts';
import { difference, total } from '../../money.ts';
import { type Flag, isIncluded, type Line, lineKey, NOTHING } from '../calculation/line.ts';
import type { Owed } from '../facts/owed.ts';
import type { Run } from '../records/body.ts';
import type { FrozenRow } from '../records/frozen-lines.ts';
import {
  adjustmentLines,
  type Carrier,
  contentOfLine,
  type Earlier,
  type FrozenLines,
  frozenLinesOf,
  isReportedOnly,
  isTouched,
  marked,
  NOT_COMPARED,
  wasInRun,
} from './adjustments.ts';
import type { Basis } from './basis.ts';
import { type Attended, overlaps } from './missed-checks.ts';
import { isGone } from './population.ts';
import type { Employee, Rules } from './regular-lines.ts';

/** The inputs of a true-up that are the same for all employees. */
export type TrueUp = {
  basis: Basis;
  rules: Rules;
  earlier: readonly Earlier[];
  carrier: Carrier;
  /** By employee, the ids of the runs that adjusted earlier runs and of the adjusted runs. */
  settled: ReadonlyMap<string, ReadonlySet<string>>;
};

/** An employee and what payroll did not take in earlier runs. */
export type Debtor = Employee & { owed: readonly Owed[] };

/** Returns the earlier runs whose lines must be read for an employee: most often none. */
export function runsToTrueUp({ earlier, settled }: TrueUp, employee: Debtor): Earlier[] {
  const known = settled.get(employee.employeeId);
  const needed = new Set<Earlier>();
  for (const one of earlier) {
    const isSettled = known?.has(one.runId) === true;
    if (isSettled || employee.owed.some(({ run_id }) => run_id === one.runId)) needed.add(one);
    if (one.isVoided) continue;
    const wasIn = wasInRun(one, employee);
    if (!(isSettled || isTouched(one, employee, wasIn))) continue;
    needed.add(one);
    // Other runs of the same days may have taken what this one missed.
    if (!wasIn) for (const other of earlier) if (overlaps(other.rules.run, one.rules.run)) needed.add(other);
  }
  return earlier.filter((one) => needed.has(one));
}

/**
 * Reports whether a run adjusts an earlier run for employees who left. It must have the same frequency and group,
 * unless the employer's schedules no longer have them: then any run does. A run without a pay group is for all groups.
 */
function coversLeaversOf(earlier: Run, { run, schedules }: Basis, groupOfEmployee: string | null): boolean {
  const group = earlier.pay_group ?? groupOfEmployee;
  const ofFrequency = schedules.filter((one) => one.pay_frequency === earlier.pay_frequency);
  if (schedules.length > 0 && ofFrequency.length === 0) return true;
  if (earlier.pay_frequency !== run.pay_frequency) return false;
  if (run.pay_group === null || run.pay_group === group) return true;
  return ofFrequency.length > 0 && !ofFrequency.some((one) => [null, group].includes(one.pay_group));
}

/** Returns an employee's adjustments and arrears for `runs`. `rows` has their lines, `regular` the regular lines of this run. */
export function trueUpLines(
  { basis, rules, earlier, carrier }: TrueUp,
  employee: Debtor,
  runs: readonly Earlier[],
  rows: readonly FrozenRow[],
  regular: readonly Line[],
): Line[] {
  const { run } = basis;
  const { membership, employments } = employee;
  const gone = isGone(membership, employments, run);
  if (runs.length === 0 || !(membership.isIn || gone)) return [];
  const voided = new Set(earlier.filter(({ isVoided }) => isVoided).map(({ freezeId }) => freezeId));
  const frozen = frozenLinesOf(rows, voided);
  // An employee who left has no other paycheck to wait for: the runs of the same frequency and pay group report it.
  const own = employments.find((one) => one.employer_id === run.employer_id);
  const group = own === undefined ? null : valueOn(own, 'pay_group', run.period_end);
  const concerned = gone ? runs.filter((one) => coversLeaversOf(one.rules.run, basis, group)) : runs;
  const attended = earlier.flatMap((one): Attended[] => {
    const lines = one.isVoided ? undefined : frozen.own.get(one.freezeId);
    return lines === undefined ? [] : [{ rules: one.rules, lines }];
  });
  // An amount that this run takes for a pay period is not missed, so it must not be taken twice.
  if (membership.isIn) attended.push({ rules, lines: regular });
  const adjustments = concerned.flatMap((one) => adjustmentLines(one, employee, frozen, attended, carrier));
  const isRefund = !membership.isIn && membership.why === 'terminated' && isOwedToEmployee(adjustments);
  const flags: Flag[] = gone ? ['no_further_paycheck'] : [];
  const onlyReported: Flag[] = run.adjustments === 'report' || (gone && !isRefund) ? ['reported'] : [];
  const arrearsFlags: Flag[] = gone || run.arrears === 'report' ? [...flags, 'reported'] : [];
  const counting = concerned.filter(({ isVoided }) => !isVoided);
  return [
    ...marked(adjustments, [...flags, ...onlyReported]),
    ...arrearsLines(counting, employee.owed, frozen, carrier).map((line) => ({
      ...line,
      flags: arrearsFlags,
    })),
  ];
}

/** A refund needs no further paycheck: it can be paid to an employee whose termination was entered late. */
function isOwedToEmployee(adjustments: readonly Line[]): boolean {
  const taken = adjustments.filter(({ flags }) => !isReportedOnly(flags));
  return total(taken.map((line) => line.member_amount)).startsWith('-');
}

type EarlierRun = Pick<Earlier, 'runId' | 'freezeId'>;

/**
 * Returns the arrears lines of one employee: for each earlier run and deduction, what later finalized runs have not
 * collected yet, or collected although payroll had taken it. A line of coverage whose lines cancel out has none.
 */
export function arrearsLines(
  earlier: readonly EarlierRun[],
  owed: readonly Owed[],
  frozen: FrozenLines,
  carrier: Carrier,
): Line[] {
  const left = earlier
    .flatMap((one) =>
      accountsOf(one, owed, frozen).map((account) => arrearsLine(one.runId, account, carrier)),
    )
    .filter((line) => carrier.named?.has(line.deduction_id) !== false && line.member_amount !== NOTHING);
  const byCoverage = Map.groupBy(left, (line) => line.line_of_coverage);
  return left.filter(({ line_of_coverage }) => {
    const lines = byCoverage.get(line_of_coverage) as Line[];
    return total(lines.map((line) => line.member_amount)) !== NOTHING;
  });
}

/** The amounts of one deduction in one run, which may have regular lines, adjustments and arrears of it. */
type Account = { line: Line; finalized: string; owed: string; collected: string };

function accountsOf({ runId, freezeId }: EarlierRun, owed: readonly Owed[], frozen: FrozenLines): Account[] {
  const accounts = new Map<string, Account>();
  const add = (line: Line, part: 'finalized' | 'owed' | 'collected', amount: string): void => {
    const known = accounts.get(line.deduction_id);
    const account = known ?? { line, finalized: NOTHING, owed: NOTHING, collected: NOTHING };
    account[part] = total([account[part], amount]);
    accounts.set(line.deduction_id, account);
  };
  const own = (frozen.own.get(freezeId) ?? []).filter(isIncluded);
  for (const one of owed) {
    const line = one.run_id === runId ? own.find((its) => lineKey(its) === one.line) : undefined;
    if (line === undefined) continue;
    add(line, 'finalized', line.member_amount);
    add(line, 'owed', one.owed);
  }
  for (const line of frozen.trueUps.get(runId) ?? [])
    if (line.kind === 'arrears') add(line, 'collected', line.member_amount);
  return [...accounts.values()];
}

function arrearsLine(runId: string, { line, finalized, owed, collected }: Account, carrier: Carrier): Line {
  const left = difference(owed, collected);
  const taken =
    owed === NOTHING
      ? 'nothing is owed by what payroll reports now'
      : `${finalized} finalized - ${difference(finalized, owed)} taken = ${owed}`;
  const since = collected === NOTHING ? '' : `; ${owed} - ${collected} collected since = ${left}`;
  return {
    ...contentOfLine(line, carrier),
    version: null,
    period: null,
    member_contribution: null,
    employer_contribution: null,
    member_amount: left,
    employer_amount: NOTHING,
    kind: 'arrears',
    adjustment_for: runId,
    ...NOT_COMPARED,
    flags: [],
    explanation: `run ${runId}: ${taken}${since}`,
  };
}
