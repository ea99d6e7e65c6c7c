/** The lines of a run for earlier runs, taken or reported: adjustments and arrears of one employee. Pure. */
import { valueOn } from '../../ledger/employment.ts';
import type { Flag, Line } from '../calculation/line.ts';
import type { Run } from '../records/body.ts';
import { type Adjustment, adjustmentLines, isReportedOnly, marked } from './adjustments.ts';
import { arrearsLines } from './arrears.ts';
import type { Computation, RunEmployee } from './computation.ts';
import type { Attended } from './missed-checks.ts';
import { employmentAt, isGone } from './population.ts';

/** Returns an employee's adjustments and arrears for the reopened runs. `regular`: the regular lines of this run. */
export function settlingLines(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
): Line[] {
  const { run } = computation;
  const { membership, employments, reopened } = employee;
  const gone = isGone(membership, employments, run);
  if (reopened.length === 0 || !(membership.isIn || gone)) return [];
  // An employee who left has no other paycheck to wait for: the runs of the same frequency and pay group report it.
  const employment = employmentAt(employments, run);
  const group = employment === undefined ? null : valueOn(employment, 'pay_group', run.period_end);
  const concerned = gone
    ? reopened.filter((earlier) => coversLeaversOf(computation, earlier.run, group))
    : reopened;
  const attended = attendedRuns(computation, employee, regular);
  const adjustments = concerned.flatMap((earlier) =>
    adjustmentLines(computation, employee, earlier, attended),
  );
  const isRefund = !membership.isIn && membership.why === 'terminated' && isOwedToEmployee(adjustments);
  const flags: Flag[] = gone ? ['no_further_paycheck'] : [];
  const onlyReported: Flag[] = run.adjustments === 'report' || (gone && !isRefund) ? ['reported'] : [];
  const arrearsFlags: Flag[] = gone || run.arrears === 'report' ? [...flags, 'reported'] : [];
  const notVoided = concerned.filter(({ isVoided }) => !isVoided);
  return [
    ...marked(adjustments, [...flags, ...onlyReported]),
    ...arrearsLines(computation, employee, notVoided).map((line) => ({ ...line, flags: arrearsFlags })),
  ];
}

/** Returns the runs that the employee is in, with the employee's lines. `regular`: the regular lines of the computed run. */
export function attendedRuns(
  computation: Computation,
  { membership, earlierLines }: RunEmployee,
  regular: readonly Line[],
): Attended[] {
  const attended = computation.earlier.flatMap((earlier): Attended[] => {
    const lines = earlier.isVoided ? undefined : earlierLines.attended.get(earlier.freezeId);
    return lines === undefined ? [] : [{ terms: earlier, lines }];
  });
  // An amount that this run takes for a pay period is not missed, so it must not be taken twice.
  if (membership.isIn) attended.push({ terms: computation, lines: regular });
  return attended;
}

/**
 * Reports whether a run adjusts an earlier run for employees who left. It must have the same frequency and group,
 * unless the employer's schedules no longer have them: then any run does. A run without a pay group is for all groups.
 */
function coversLeaversOf(
  { run, basis: { schedules } }: Computation,
  earlier: Run,
  groupOfEmployee: string | null,
): boolean {
  const group = earlier.pay_group ?? groupOfEmployee;
  const ofFrequency = schedules.filter(({ pay_frequency }) => pay_frequency === earlier.pay_frequency);
  if (schedules.length > 0 && ofFrequency.length === 0) return true;
  if (earlier.pay_frequency !== run.pay_frequency) return false;
  if (run.pay_group === null || run.pay_group === group) return true;
  return ofFrequency.length > 0 && !ofFrequency.some(({ pay_group }) => [null, group].includes(pay_group));
}

/** A refund needs no further paycheck: it can be paid to an employee whose termination was entered late. */
function isOwedToEmployee(adjustments: readonly Adjustment[]): boolean {
  const taken = adjustments.filter(({ line }) => !isReportedOnly(line.flags));
  return taken.reduce((sum, { line }) => sum + line.member_amount, 0n) < 0n;
}
