/** The lines of a run for earlier runs, taken or reported: adjustments and arrears of one employee. Pure. */
import { valueOn } from '../../ledger/employment.ts';
import { total } from '../../money.ts';
import type { Flag, Line } from '../calculation/line.ts';
import {
  adjustmentLines,
  type Carrier,
  type Earlier,
  frozenLinesOf,
  isReportedOnly,
  isTouched,
  type Known,
  marked,
  wasInRun,
} from './adjustments.ts';
import { arrearsLines, type Owed } from './arrears.ts';
import type { Basis } from './basis.ts';
import type { Run } from './body.ts';
import type { LineRules } from './lines.ts';
import { type Attended, overlaps } from './missed-checks.ts';
import { isGone, type Membership } from './population.ts';

/** The inputs of a true-up that are the same for all employees. */
export type TrueUp = {
  rules: LineRules;
  /** The pay frequencies and groups of the employer's schedules. */
  schedules: Basis['schedules'];
  earlier: readonly Earlier[];
  carrier: Carrier;
  /** By employee, the ids of the runs that adjusted earlier runs and of the adjusted runs. */
  settled: ReadonlyMap<string, ReadonlySet<string>>;
};

export type Debtor = Known & { membership: Membership; owed: readonly Owed[] };

/** The lines of an employee in an earlier run. `isIn`: false if the run only reported them. */
export type FrozenRow = { freezeId: string; isIn: boolean; lines: readonly Line[] };

/** Returns the earlier runs whose lines must be read for an employee: most often none. */
export function runsToTrueUp({ earlier, settled }: TrueUp, debtor: Debtor): Earlier[] {
  const known = settled.get(debtor.employeeId);
  const needed = new Set<Earlier>();
  for (const one of earlier) {
    const isSettled = known?.has(one.runId) === true;
    if (isSettled || debtor.owed.some(({ runId }) => runId === one.runId)) needed.add(one);
    if (one.isVoided) continue;
    const wasIn = wasInRun(one, debtor);
    if (!(isSettled || isTouched(one, debtor, wasIn))) continue;
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
function coversLeaversOf(
  earlier: Run,
  { rules: { run }, schedules }: TrueUp,
  groupOfEmployee: string | null,
): boolean {
  const group = earlier.pay_group ?? groupOfEmployee;
  const ofFrequency = schedules.filter((one) => one.pay_frequency === earlier.pay_frequency);
  if (schedules.length > 0 && ofFrequency.length === 0) return true;
  if (earlier.pay_frequency !== run.pay_frequency) return false;
  if (run.pay_group === null || run.pay_group === group) return true;
  return ofFrequency.length > 0 && !ofFrequency.some((one) => [null, group].includes(one.pay_group));
}

/**
 * Returns the adjustments and arrears of an employee for `runs` (of `runsToTrueUp`), whose lines are in `rows`.
 *
 * @param regular the lines that the current run takes of the employee's deductions
 */
export function trueUpLines(
  trueUp: TrueUp,
  debtor: Debtor,
  runs: readonly Earlier[],
  rows: readonly FrozenRow[],
  regular: readonly Line[],
): Line[] {
  const { rules, earlier, carrier } = trueUp;
  const { run } = rules;
  const { membership, employments, owed } = debtor;
  const gone = isGone(membership, employments, run);
  if (!(membership.isIn || gone)) return [];
  const voided = new Set(earlier.filter(({ isVoided }) => isVoided).map(({ freezeId }) => freezeId));
  const frozen = frozenLinesOf(rows.map((row) => ({ ...row, isVoided: voided.has(row.freezeId) })));
  // An employee who left has no other paycheck to wait for: the runs of the same frequency and pay group report it.
  const own = employments.find((one) => one.employer_id === run.employer_id);
  const group = own === undefined ? null : valueOn(own, 'pay_group', run.period_end);
  const concerned = gone ? runs.filter((one) => coversLeaversOf(one.rules.run, trueUp, group)) : runs;
  const attended = earlier.flatMap((one): Attended[] => {
    const lines = one.isVoided ? undefined : frozen.own.get(one.freezeId);
    return lines === undefined ? [] : [{ rules: one.rules, lines }];
  });
  // An amount that this run takes for a pay period is not missed, so it must not be taken twice.
  if (membership.isIn) attended.push({ rules, lines: regular });
  const adjustments = concerned.flatMap((one) => adjustmentLines(one, debtor, frozen, attended, carrier));
  const isRefund = !membership.isIn && membership.why === 'terminated' && isOwedToEmployee(adjustments);
  const flags: Flag[] = gone ? ['no_further_paycheck'] : [];
  const onlyReported: Flag[] = run.adjustments === 'report' || (gone && !isRefund) ? ['reported'] : [];
  const counting = concerned.filter(({ isVoided }) => !isVoided);
  const arrears = arrearsLines(counting, owed, frozen, carrier);
  return [
    ...marked(adjustments, [...flags, ...onlyReported]),
    ...arrears.map((line) => ({
      ...line,
      flags: gone || run.arrears === 'report' ? ([...flags, 'reported'] satisfies Flag[]) : [],
    })),
  ];
}

/** A refund needs no further paycheck: it can be paid to an employee whose termination was entered late. */
function isOwedToEmployee(adjustments: readonly Line[]): boolean {
  const taken = adjustments.filter(({ flags }) => !isReportedOnly(flags));
  return total(taken.map((line) => line.member_amount)).startsWith('-');
}
