/** The regular lines of one employee in a run. Pure. */
import type { PayFrequency } from '../../contract/employee.ts';
import type { Line } from '../calculation/line.ts';
import { isPartialCycle, type Plan } from '../calculation/plan.ts';
import { compareWithPrevious, continuingLines } from './change.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { stateFor } from './history.ts';
import { lastCheckFlags } from './last-check.ts';
import { overriddenAmounts } from './overrides.ts';
import { type CheckAmounts, checkAmounts } from './shares.ts';

/** Returns the lines of the deductions in effect, or overridden, for an employee who is in the run. */
export function regularLines(computation: Computation, employee: RunEmployee): Line[] {
  const { employeeId, membership, histories } = employee;
  const lines: Line[] = [];
  if (!membership.isIn) return lines;
  const before = continuingLines(employee);
  for (const history of histories) {
    const override = overriddenAmounts(computation, employee, history);
    const check = override ?? checkAmounts(computation, computation, employee, history);
    if (check === null) continue;
    const line = regularLine(computation, check);
    compareWithPrevious(computation, line, before.get(line.deduction_id));
    const isInEffectOn = (day: string) => stateFor(history, employeeId, day) !== null;
    const period = line.period as PayFrequency;
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

/** Written as one literal: a large run makes tens of thousands, and copies cost more than the arithmetic. */
function regularLine(computation: Computation, check: CheckAmounts): Line {
  const { state, member_amount, employer_amount, flags, explanation, shares } = check;
  const codes = computation.codesOf(state);
  return {
    employee_id: state.employee_id,
    deduction_id: state.deduction_id,
    version: state.version,
    line_of_coverage: state.line_of_coverage,
    coverage_type: state.coverage_type,
    taxability: state.taxability,
    payroll_code: codes.payroll_code,
    employer_payroll_code: codes.employer_payroll_code,
    employer_treatment: codes.employer_treatment,
    description: state.description,
    period: state.period as PayFrequency,
    member_contribution: state.member_contribution,
    employer_contribution: state.employer_contribution,
    member_amount,
    employer_amount,
    kind: 'regular',
    adjustment_for: null,
    opening_id: null,
    item_id: null,
    outstanding_after: null,
    adjustment_pay_date: null,
    because: null,
    shares,
    change: 'new',
    replaces_deduction_id: null,
    amount_change: null,
    previous_amount: null,
    member_difference: null,
    employer_difference: null,
    flags,
    explanation,
  };
}

/** Returns the plans of the checks whose amounts a line takes. */
function plansOf(computation: Computation, { shares }: CheckAmounts): Plan[] {
  if (shares === null) return [computation.plan()];
  return shares.map(({ pay_date }) => computation.onDate(pay_date).plan());
}
