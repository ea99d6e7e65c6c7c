/** Opening items: what was owed before the first run is brought along, and repeated after a lost response. */
import { pick, type Random } from '../../../src/simulator/random.ts';
import type { Simulation } from '../simulation.ts';
import { HOUR_MS } from '../time.ts';
import { dayOf, daysAfter } from '../world.ts';
import type { Feature } from './features.ts';
import { peopleOf } from './people.ts';

const ITEMS = "select employer_id || '/' || opening_id as id from opening_items";

export const OPENING_ITEMS: Feature = {
  plan(simulation) {
    const { world } = simulation;
    for (const { id } of world.employers) {
      const draw = simulation.random('opening', id);
      for (let index = 0; index < 3; index += 1)
        simulation.schedule(0.2 + draw() * 0.7, 'opening', () => open(simulation, id, index, draw));
    }
  },
  invariants: {
    'the opening items of an employer have no gap':
      'select employer_id from opening_items group by employer_id having count(*) <> max(ordinal)',
  },
  situations: {
    'opening item': 'opening_items',
    'opening item of an unknown deduction': 'opening_items where deduction_id is null',
    'settled opening item': "run_settlements where settles like 'opening:%'",
  },
};

/** Brings along one or two items. A repeat of the request must find them. */
function open(simulation: Simulation, employerId: string, index: number, draw: Random): void {
  const { time, machine } = simulation;
  // The first start may have ended in the middle of the migration.
  if (!machine.isUp()) return;
  const known = machine.query<{ employee_id: string; deduction_id: string | null }>(
    `select distinct employee_id, deduction_id from roster_facts left join deduction_versions using (employee_id)
     where employer_id = ? order by employee_id, deduction_id`,
    employerId,
  );
  const owed = known[Math.floor(draw() * known.length)];
  if (owed === undefined) return;
  const items = Array.from({ length: draw() < 0.5 ? 1 : 2 }, (_, place) => ({
    id: `opening-${index}-${place}`,
    employee_id: owed.employee_id,
    ...(owed.deduction_id !== null && draw() < 0.7 && { deduction_id: owed.deduction_id }),
    line_of_coverage: pick(draw, ['medical', 'dental']),
    taxability: pick(draw, ['pre_tax', 'post_tax']),
    member_amount: pick(draw, ['40.00', '-15.00', '0.00', '120.50']),
    employer_amount: '35.00',
    // A sidecar whose clock is days behind refuses a date after its own today.
    pay_date: daysAfter(dayOf(time.now()), -4 - Math.floor(draw() * 60)),
  }));
  const { specialist } = peopleOf(simulation, employerId);
  const url = `/v1/employers/${employerId}/opening-items`;
  const send = (): void =>
    simulation.persist(
      'opening',
      () => specialist('POST', url, { items }),
      [200, 201, 422],
      ({ status }) => {
        if (status === 422) assertElsewhere(simulation, employerId, owed.employee_id);
        else for (const { id } of items) simulation.confirm(ITEMS, `${employerId}/${id}`);
      },
    );
  send();
  // Payroll did not see the response and repeats the request.
  if (draw() < 0.5) time.after(draw() * HOUR_MS, 'opening', send);
}

/** A limited token may name no deduction that it does not see: one of an employee whom another employer has or had. */
function assertElsewhere({ machine, breach }: Simulation, employerId: string, employeeId: string): void {
  const others = 'select 1 from roster where employee_id = ? and employer_id <> ?';
  if (machine.query(others, employeeId, employerId).length === 0)
    breach(`opening items of ${employeeId}, whom no other employer has, were refused`);
}
