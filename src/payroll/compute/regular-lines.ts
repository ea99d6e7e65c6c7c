/** The regular lines of one employee in a run. Pure. */
import type { PayFrequency } from '../../contract/employee.ts';
import { sidesOf } from '../calculation/items.ts';
import type { Election, Line } from '../calculation/line.ts';
import { isPartialCycle, type Plan } from '../calculation/plan.ts';
import { comparedWith } from './change.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { stateFor } from './history.ts';
import { lastCheckFlags } from './last-check.ts';
import { overriddenAmounts } from './overrides.ts';
import { type CheckAmounts, checkAmounts } from './shares.ts';

/**
 * Returns the lines of the deductions in effect, or overridden, for an employee who is in the run. `before`: the lines of the
 * previous run by deduction.
 */
export function regularLines(
  computation: Computation,
  employee: RunEmployee,
  before: ReadonlyMap<string, Line>,
): Line[] {
  const { employeeId, membership, histories } = employee;
  const lines: Line[] = [];
  if (!membership.isIn) return lines;
  for (const history of histories) {
    const override = overriddenAmounts(computation, employee, history);
    const check = override ?? checkAmounts(computation, computation, employee, history, employee);
    if (check === null) continue;
    const line = regularLine(computation, check);
    line.compared = comparedWith(computation, line, before.get(history.deductionId));
    const isInEffectOn = (day: string) => stateFor(history, employeeId, day) !== null;
    const period = check.state.period as PayFrequency;
    if (
      override === null &&
      plansOf(computation, check).some((plan) => isPartialCycle(plan.cycleOf(period), isInEffectOn))
    )
      line.flags.push('partial_cycle');
    const last = lastCheckFlags(computation, employee, history, check);
    line.flags.push(...last.flags);
    line.explanation += last.explanation;
    lines.push(line);
  }
  return lines;
}

function regularLine(computation: Computation, check: CheckAmounts): Line {
  const { state, flags, explanation, shares } = check;
  const { account, election, codes } = computation.contentOf(state, state as Election);
  return {
    account,
    election,
    codes,
    amounts: sidesOf(check),
    kind: 'regular',
    settles: null,
    shares,
    compared: null,
    flags,
    explanation,
  };
}

/** Returns the plans of the checks whose amounts a line takes. */
function plansOf(computation: Computation, { shares }: CheckAmounts): Plan[] {
  if (shares === null) return [computation.plan()];
  return shares.map(({ pay_date }) => computation.onDate(pay_date).plan());
}
