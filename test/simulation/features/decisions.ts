/** Decisions of payroll: single amounts of an open run are overridden, and open items are taken, held, written off or paid. */
import { pick, type Random } from '../../../src/simulator/random.ts';
import type { Simulation } from '../simulation.ts';
import { dayOf, daysAfter } from '../world.ts';
import type { SimulatedRun } from './approvals.ts';
import type { Feature } from './features.ts';
import { peopleOf } from './people.ts';

const OVERRIDES = "select run_id || '/' || employee_id || '/' || deduction_id as id from run_overrides";
const DECISIONS = "select employer_id || '/' || decision_id as id from item_decisions";

/** The clocks of two sidecars differ by up to 30 hours. */
const CLOCKS_APART_DAYS = 2;

export const DECISIONS_ABOUT_ITEMS: Feature = {
  plan(simulation) {
    const { world, days } = simulation;
    for (const { id } of world.employers) {
      const draw = simulation.random('decisions', id);
      for (let count = Math.ceil(days * 0.4); count > 0; count -= 1)
        simulation.schedule(0.3 + draw() * 0.7, 'decision', () => decide(simulation, id, draw));
    }
  },
  invariants: {
    'the decisions of an employer have no gap':
      'select employer_id from item_decisions group by employer_id having count(*) <> max(decision_id)',
    'a final run has its overrides': `
      select run_id, deduction_id from run_overrides join payroll_runs using (run_id)
      join run_employees using (freeze_id, employee_id) where state <> 'open' and not exists (
        select 1 from json_each(lines) as line where line.value ->> 'deduction_id' = run_overrides.deduction_id
        and line.value ->> 'member_amount' = run_overrides.member_amount and line.value ->> 'flags' like '%overridden%')`,
  },
  situations: {
    'overridden amount': "run_overrides join payroll_runs using (run_id) where state <> 'open'",
    ...Object.fromEntries(
      ['take', 'hold', 'write_off', 'paid_directly'].map((action) => [
        `decision ${action}`,
        `item_decisions where action = '${action}'`,
      ]),
    ),
  },
};

/** Overrides one line of an open run. */
export async function overrideLine(simulation: Simulation, run: SimulatedRun, draw: Random): Promise<void> {
  const { runId, employerId } = run;
  const lines = await regularLines(simulation, run);
  const line = lines[Math.floor(draw() * lines.length)];
  if (line === undefined) return;
  const path = `${line.employee_id}/${line.deduction_id}`;
  const amounts = { member_amount: pick(draw, ['0.00', '12.34']), employer_amount: '5.00' };
  const body = { ...amounts, reason: 'overridden in the simulation' };
  const { specialist } = peopleOf(simulation, employerId);
  const response = await specialist('PUT', `/v1/payroll-runs/${runId}/overrides/${path}`, body);
  if (response?.status === 200 || response?.status === 201) simulation.confirm(OVERRIDES, `${runId}/${path}`);
}

type Line = { employee_id: string; deduction_id: string; kind: string; member_amount: string };

/** Returns the regular lines on the first page of a run. */
export async function regularLines(
  simulation: Simulation,
  { runId, employerId }: SimulatedRun,
): Promise<Line[]> {
  const { specialist } = peopleOf(simulation, employerId);
  const response = await specialist('GET', `/v1/payroll-runs/${runId}/lines?limit=100`);
  if (response?.status !== 200) return [];
  return (response.body as { data: Line[] }).data.filter(({ kind }) => kind === 'regular');
}

type Item = {
  id: string;
  age_days: number;
  kind: string;
  run_id: string | null;
  opening_item_id: string | null;
  employee_id: string;
  deduction_id: string | null;
  outstanding_member_amount: string;
  outstanding_employer_amount: string;
};

/** Returns the first page of an employer's open items. */
export async function listItems(simulation: Simulation, employerId: string): Promise<readonly Item[]> {
  const url = `/v1/employers/${employerId}/open-items?limit=100`;
  const response = await peopleOf(simulation, employerId).specialist('GET', url);
  return response?.status === 200 ? (response.body as { data: Item[] }).data : [];
}

/** Decides about one open item as it was reviewed, or holds an employee. */
async function decide(simulation: Simulation, employerId: string, draw: Random): Promise<void> {
  const { machine, time } = simulation;
  // A second sidecar may list items of a day that the sidecar that decides has not reached.
  const items = (await listItems(simulation, employerId)).filter(
    ({ age_days }) => age_days > CLOCKS_APART_DAYS,
  );
  const item = items[Math.floor(draw() * items.length)];
  if (item === undefined) return;
  const decisions = decisionsAbout(item, items, draw, dayOf(time.now() + machine.skewMs));
  const body = { decisions, reason: 'decided in the simulation' };
  const url = `/v1/employers/${employerId}/open-items/decisions`;
  const decided = await peopleOf(simulation, employerId).specialist('POST', url, body);
  if (decided?.status === 422) simulation.breach(`a decision was refused: ${JSON.stringify(decided.body)}`);
  if (decided?.status !== 201) return;
  for (const id of (decided.body as { decision_ids: string[] }).decision_ids)
    simulation.confirm(DECISIONS, `${employerId}/${id}`);
}

function decisionsAbout(item: Item, items: readonly Item[], draw: Random, today: string): object[] {
  const { employee_id, outstanding_member_amount } = item;
  if (draw() < 0.1) return [{ employee_id, action: 'hold', until: daysAfter(today, 10) }];
  const hasMemberAmount = Number(outstanding_member_amount) !== 0;
  const action = pick(draw, ['take', 'hold', ...(hasMemberAmount ? ['write_off', 'paid_directly'] : [])]);
  if (action === 'write_off') return [{ ...reviewed(item), action }];
  if (action === 'paid_directly') {
    const paid = { amount: outstanding_member_amount, paid_on: daysAfter(today, -3) };
    return [{ ...reviewed(item), action, ...paid }];
  }
  const until = action === 'hold' ? { until: daysAfter(today, 7) } : {};
  const named = draw() < 0.5 ? [item] : unitOf(item, items);
  return named.map((partner) => ({ ...reviewed(partner), action, ...until }));
}

function reviewed({ id: item_id, outstanding_member_amount, outstanding_employer_amount }: Item): object {
  return { item_id, outstanding_member_amount, outstanding_employer_amount };
}

/** Returns the items that are taken or held together: the new and the old line of coverage of one paycheck. */
export function unitOf(item: Item, items: readonly Item[]): Item[] {
  const same = ['kind', 'run_id', 'opening_item_id', 'employee_id', 'deduction_id'] as const;
  return items.filter((partner) => same.every((field) => partner[field] === item[field]));
}
