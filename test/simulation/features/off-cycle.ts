/** Off-cycle runs: payroll pays an employee between two paychecks and takes the open items that it names. */
import type { Random } from '../../../src/simulator/random.ts';
import type { Simulation } from '../simulation.ts';
import { dayOf } from '../world.ts';
import { listItems, unitOf } from './decisions.ts';
import type { Feature } from './features.ts';
import { withFinalChecks } from './final-checks.ts';
import { begin } from './payroll.ts';
import { datesOf } from './schedules.ts';

export const OFF_CYCLE_RUNS: Feature = {
  plan(simulation) {
    const { world, days } = simulation;
    for (const { id } of world.employers) {
      const draw = simulation.random('off-cycle', id);
      for (let index = 0; index < days / 4; index += 1)
        simulation.schedule(0.4 + draw() * 0.6, 'off-cycle', () => pay(simulation, id, index, draw));
    }
  },
  invariants: {
    'an off-cycle run has only its employees and takes only its items': `
      select run_id, employee_id from payroll_runs join run_employees using (freeze_id), json_each(lines) as line
      where payroll_runs.kind = 'off_cycle' and state <> 'open' and (
        employee_id not in (select value from json_each(body, '$.employee_ids'))
        or line.value ->> 'kind' = 'regular' and line.value ->> 'deduction_id' not in (
          select value from json_each(coalesce(body ->> '$.deductions', '[]')))
        or line.value ->> 'kind' <> 'regular' and line.value ->> 'item_id' not in (
          select value from json_each(coalesce(body ->> '$.items', '[]'))))`,
  },
  situations: {
    'off-cycle run': "payroll_runs where kind = 'off_cycle' and state <> 'open'",
    'items taken off cycle':
      "run_settlements join payroll_runs using (freeze_id) where payroll_runs.kind = 'off_cycle' and state <> 'open'",
  },
};

/** Takes an item with its partners, and perhaps the regular amount of its deduction, on the last pay date. */
async function pay(simulation: Simulation, employerId: string, index: number, draw: Random): Promise<void> {
  const items = await listItems(simulation, employerId);
  const item = items[Math.floor(draw() * items.length)];
  const date = datesOf('biweekly').findLast(({ pay_date }) => pay_date <= dayOf(simulation.time.now()));
  if (item === undefined || date === undefined) return;
  const { employee_id, deduction_id } = item;
  const { takes: _, ...period } = date;
  const body = {
    ...{ employer_id: employerId, kind: 'off_cycle', pay_frequency: 'biweekly', ...period },
    employee_ids: [employee_id],
    items: unitOf(item, items).map(({ id }) => id),
    ...(deduction_id !== null && draw() < 0.3 && { deductions: [deduction_id] }),
  };
  const run = { runId: `${employerId}-off-cycle-${index}`, employerId, body };
  begin(simulation, withFinalChecks(simulation, run, draw, body.employee_ids), draw);
}
