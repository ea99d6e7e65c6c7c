/** Final checks: runs name employees who left, whose checks take the amounts of pay dates that remain. */
import type { Random } from '../../../src/simulator/random.ts';
import type { Simulation } from '../simulation.ts';
import type { SimulatedRun } from './approvals.ts';
import type { Feature } from './features.ts';

/** The regular lines of final runs, voided or not. */
const LINES = `
  select run_id, state, payroll_runs.kind, payroll_runs.employer_id, basis ->> '$.run.pay_date' as pay_date, employee_id,
    line.value ->> 'deduction_id' as deduction_id, line.value -> 'shares' as shares, line.value ->> 'flags' as flags,
    line.value ->> 'change' as change
  from payroll_runs join run_employees using (freeze_id), json_each(lines) as line
  where state <> 'open' and line.value ->> 'kind' = 'regular'`;

export const FINAL_CHECKS: Feature = {
  plan() {},
  invariants: {
    'the share of a pay date is taken once': `
      with lines as (${LINES}), taken as (
        select employer_id, employee_id, deduction_id, share.value ->> 'pay_date' as pay_date, 1 as is_share
        from lines, json_each(shares) as share where state = 'finalized'
        union all
        select employer_id, employee_id, deduction_id, pay_date, 0 from lines
        where state = 'finalized' and kind = 'regular' and shares is null
          and flags not like '%share_taken%' and flags not like '%taken_elsewhere%' and flags not like '%overridden%'
          and coalesce(change, '') not in ('ended', 'moved'))
      select employer_id, employee_id, deduction_id, pay_date from taken
      group by employer_id, employee_id, deduction_id, pay_date having count(*) > 1 and sum(is_share) > 0`,
  },
  situations: {
    'final check': `(${LINES}) where json_array_length(shares) > 0`,
    'final check of several pay dates': `(${LINES}) where json_array_length(shares) > 1`,
    'final check instead of a voided one': `(${LINES}) as one where state = 'finalized' and exists (
      select 1 from (${LINES}) as other, json_each(other.shares) as share
      where other.state = 'voided' and other.deduction_id = one.deduction_id and share.value in (
        select value from json_each(one.shares)))`,
    'share that a final check took': `(${LINES}) where flags like '%share_taken%'`,
  },
};

/** Adds final checks for some of an employer's employees who left, or of `among`. */
export function withFinalChecks(
  { machine }: Simulation,
  run: SimulatedRun,
  draw: Random,
  among: readonly string[] | null = null,
): SimulatedRun {
  // The first start may have ended in the middle of the migration.
  if (!machine.isUp()) return run;
  const left = machine.query<{ employee_id: string }>(
    'select distinct employee_id from roster_facts where employer_id = ? and termination_date is not null order by employee_id',
    run.employerId,
  );
  const final_checks = left
    .filter(({ employee_id }) => (among?.includes(employee_id) ?? true) && draw() < 0.5)
    .map(({ employee_id }) => employee_id);
  return final_checks.length === 0 ? run : { ...run, body: { ...run.body, final_checks } };
}
