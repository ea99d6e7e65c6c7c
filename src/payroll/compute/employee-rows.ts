/** The employees of a run, each with the amounts before and now and the reasons of the difference. Pure. */
import type { Flag } from '../../formats/flags.ts';
import type { Cents } from '../../money.ts';
import { isNothing, NOTHING, plus, type Sides } from '../calculation/items.ts';
import { type Line, NOT_COMPARED } from '../calculation/line.ts';
import { continuingLines } from './change.ts';

/** Why an employee's amount differs from the previous run. */
export const DIFFERENCE_REASONS = [
  'joined',
  'left',
  'new',
  'changed',
  'replaced',
  'ended',
  'moved',
  'unassigned',
  'rounding',
  'calendar',
  'shares',
  'override',
  'policy',
  'adjustment',
  'arrears',
  'settled_before',
] as const;
type DifferenceReason = (typeof DIFFERENCE_REASONS)[number];

/** `deductionId`: the deduction to assign to an employer. */
type Reason = {
  reason: DifferenceReason;
  lineOfCoverage: string | null;
  difference: Cents;
  deductionId?: string;
};

export type EmployeeRow = {
  employeeId: string;
  lines: number;
  /** The flags of the lines. */
  flags: readonly Flag[];
  before: Sides;
  now: Sides;
  reasons: Reason[];
};

/** The lines of an employee in a run. `isIn`: the run includes the employee. */
type InRun = { isIn: boolean; lines: readonly Line[] };

/** Compares an employee's lines with the previous run. Null: there is no previous run. */
export function employeeRow(employeeId: string, current: InRun, previous: InRun | null): EmployeeRow {
  const [now, before] = [totalOf(current.lines), totalOf(previous?.lines ?? [])];
  const flags = [...new Set(current.lines.flatMap((line) => line.flags))];
  const row = { employeeId, lines: current.lines.length, flags, before, now };
  return { ...row, reasons: previous === null ? [] : reasonsOf(current, previous) };
}

export function differenceOf({ before, now }: EmployeeRow): Cents {
  return now.member - before.member;
}

function reasonsOf(current: InRun, previous: InRun): Reason[] {
  const reasons = current.lines.flatMap((line): Reason[] => {
    const reason = reasonOf(line);
    const difference = line.compared === null ? line.amounts.member : line.compared.member_difference;
    return reason === null
      ? []
      : [{ reason, lineOfCoverage: line.account.line_of_coverage, difference: difference ?? 0n }];
  });
  // The previous run's adjustments and arrears are not due again.
  for (const line of previous.lines.filter(({ kind }) => kind !== 'regular'))
    reasons.push({
      reason: 'settled_before',
      lineOfCoverage: line.account.line_of_coverage,
      difference: -line.amounts.member,
    });
  if (current.isIn) reasons.push(...unassignedIn(current, previous));
  if (current.isIn === previous.isIn) return reasons;
  const whole = totalOf(current.lines).member - totalOf(previous.lines).member;
  const moved: Reason = { reason: current.isIn ? 'joined' : 'left', lineOfCoverage: null, difference: whole };
  return [moved, ...reasons];
}

/**
 * Returns a reason for each deduction of the previous run without a line in this run. One that ended or moved has a line that
 * stops it; a deduction of an employee with two employers has no line until it is assigned.
 */
function unassignedIn(current: InRun, previous: InRun): Reason[] {
  const shown = new Set(
    current.lines.flatMap(({ account, compared }) => [account.deduction_id, compared?.replaces_deduction_id]),
  );
  const vanished = [...continuingLines(previous.lines).values()].filter(
    ({ account, amounts }) => !isNothing(amounts) && !shown.has(account.deduction_id),
  );
  return vanished.map(({ account, amounts }) => ({
    reason: 'unassigned',
    lineOfCoverage: account.line_of_coverage,
    difference: -amounts.member,
    deductionId: account.deduction_id,
  }));
}

function reasonOf({ kind, compared, flags }: Line): DifferenceReason | null {
  if (kind !== 'regular') return kind;
  const { change, amount_change, member_difference } = compared ?? NOT_COMPARED;
  if (flags.includes('overridden') && amount_change !== 'same') return 'override';
  if (change !== null && change !== 'same') return change;
  // A closing check differs by cents.
  if (amount_change === 'same') return (member_difference ?? 0n) === 0n ? null : 'rounding';
  if (amount_change === null) return null;
  return amount_change === 'changed' ? 'policy' : amount_change;
}

function totalOf(lines: readonly Line[]): Sides {
  let total = NOTHING;
  for (const { amounts } of lines) total = plus(total, amounts);
  return total;
}
