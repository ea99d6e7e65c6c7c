/** Placeholders: payroll imports what it takes today without the service's ids, before or after the elections arrive. */
import { createHash } from 'node:crypto';
import { pick } from '../../../src/simulator/random.ts';
import type { Simulation } from '../simulation.ts';
import { dayOf, daysAfter } from '../world.ts';
import type { Feature } from './features.ts';

const PLACEHOLDER = "deduction_id like 'placeholder:%'";
/** The deductions of the service that have the employee, line and taxability of a placeholder. */
const REPLACED = `deduction_versions as placeholder join deduction_versions as sent
  on sent.employee_id = placeholder.employee_id and sent.line_of_coverage = placeholder.line_of_coverage
    and sent.taxability = placeholder.taxability and sent.deduction_id not like 'placeholder:%'
  where placeholder.${PLACEHOLDER}`;

export const PLACEHOLDERS: Feature = {
  plan(simulation) {
    const { world } = simulation;
    for (const { id } of world.employers) {
      const draw = simulation.random('placeholders', id);
      for (let index = 0; index < 2; index += 1)
        simulation.schedule(draw() * 0.5, 'import', () => load(simulation, id, index));
    }
  },
  invariants: {
    'no paycheck takes a placeholder next to its replacement for the same day': `
      select run_id, employee_id from payroll_runs join run_employees using (freeze_id),
        json_each(lines) as one, json_each(lines) as other
      where payroll_runs.kind = 'regular' and state <> 'open' and json_array_length(body, '$.final_checks') is null
        and one.value ->> 'kind' = 'regular' and other.value ->> 'kind' = 'regular'
        and one.value ->> 'change' not in ('ended', 'moved', 'replaced')
        and one.value ->> 'deduction_id' = 'placeholder:' || employee_id || ':' || (other.value ->> 'line_of_coverage')
          || ':' || (other.value ->> 'taxability')
        and other.value ->> 'deduction_id' not like 'placeholder:%'
        and other.value ->> 'change' not in ('ended', 'moved')
        and one.value -> 'shares' is null and other.value -> 'shares' is null`,
  },
  situations: {
    placeholder: `deduction_versions where ${PLACEHOLDER}`,
    'placeholder that is replaced later': `${REPLACED} and sent.position > placeholder.position`,
    'placeholder of a deduction that is known': `${REPLACED} and sent.position < placeholder.position`,
    'paycheck with a placeholder': "run_employees where lines like '%\"placeholder:%'",
  },
};

/** Imports a file of the employer's people. A repeat after a lost response changes nothing. */
function load(simulation: Simulation, employerId: string, index: number): void {
  const { machine, world, time } = simulation;
  const draw = simulation.random('placeholders', employerId, index);
  const deductions = world
    .of(employerId)
    .people.filter(() => draw() < 0.4)
    .map(({ employee }) => ({
      ...{ employee_id: employee.employee_id, line_of_coverage: pick(draw, ['medical', 'dental', 'hsa']) },
      ...{ member_contribution: pick(draw, ['69.23', '150.00']), employer_contribution: '10.00' },
      ...{ period: pick(draw, ['monthly', 'biweekly']), taxability: pick(draw, ['pre_tax', 'post_tax']) },
      ...(draw() < 0.5 && { effective_start: daysAfter(dayOf(time.now()), -Math.floor(draw() * 60)) }),
    }));
  if (deductions.length === 0) return;
  for (const row of deductions) note(simulation, row);
  const post = () => machine.call('POST', '/v1/deductions/import', { deductions });
  // An employee who works for two employers refuses the file.
  simulation.persist('import', post, [200, 422]);
}

type Row = { employee_id: string; line_of_coverage: string; taxability: string };

/** Notes the event of a row, whose fields are in the contract's order, so that a dropped body is known. */
function note({ provider }: Simulation, row: Row): void {
  const data = { id: `placeholder:${row.employee_id}:${row.line_of_coverage}:${row.taxability}`, ...row };
  const body = JSON.stringify({ event_type: 'employee.deduction-updated', data });
  provider.imported(`import_${createHash('sha256').update(body).digest('hex')}`, body);
}
