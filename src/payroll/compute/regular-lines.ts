/** The regular lines of one employee in a run. Pure. */
import type { PayFrequency } from '../../contract/employee.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { isZero } from '../../money.ts';
import type { Line } from '../calculation/line.ts';
import { isPartialCycle } from '../calculation/plan.ts';
import { compareWithPrevious, continuingLines } from './change.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { amountsInRun, stateFor, stateInRun } from './history.ts';
import { lastCheckFlags } from './last-check.ts';

/** Returns the lines of the deductions in effect for an employee who is in the run. */
export function regularLines(computation: Computation, employee: RunEmployee): Line[] {
  const { employeeId, membership, employments, histories } = employee;
  const lines: Line[] = [];
  if (!membership.isIn) return lines;
  const before = continuingLines(employee);
  const coverages = new Map<string, Line>();
  for (const history of histories) {
    const state = stateInRun(history, employeeId, computation, employments);
    if (state === null) continue;
    const line = regularLine(computation, employee, state);
    compareWithPrevious(computation, line, before.get(line.deduction_id));
    const isInEffectOn = (day: string) => stateFor(history, employeeId, day) !== null;
    if (isPartialCycle(computation.plan(), line.period as PayFrequency, isInEffectOn))
      line.flags.push('partial_cycle');
    line.flags.push(...lastCheckFlags(computation, membership.employment, state));
    lines.push(line);
    // A deduction whose amounts became zero has ended (field notes): it does not overlap the one that follows it.
    if (isZero(state.member_contribution) && isZero(state.employer_contribution)) continue;
    const rival = coverages.get(line.line_of_coverage);
    if (rival !== undefined) {
      for (const { flags } of [rival, line]) if (!flags.includes('overlap')) flags.push('overlap');
    }
    coverages.set(line.line_of_coverage, line);
  }
  return lines;
}

/** Written as one literal: a large run makes tens of thousands, and copies cost more than the arithmetic. */
function regularLine(computation: Computation, employee: RunEmployee, state: RunVersion): Line {
  const { member_amount, employer_amount, flags, explanation } = amountsInRun(computation, employee, state);
  const codes = computation.codesOf(state.line_of_coverage, state.taxability);
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
    adjustment_pay_date: null,
    because: null,
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
