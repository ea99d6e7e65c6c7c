import type { ReadinessReport } from '../../checks.ts';
import { Deduction, type LineOfCoverage } from '../../contract/deduction.ts';
import { dayOf } from '../../contract/instant.ts';
import type { EventView } from '../../inbox/events.ts';
import type { DeductionView, VersionView } from '../../ledger/deduction-view.ts';
import { dollars } from '../../money.ts';
import type { MadeEvent } from '../../simulator/events.ts';
import { type Column, counted, type Output, printTable } from '../output.ts';
import { expect, expectEqual, firstDifference, type Scene, type Step, stepFailed, waitFor } from './scene.ts';
import type { Stage } from './stage.ts';

export const DEDUCTION_STEPS: readonly Step[] = [
  { title: 'Employees enroll, and their deductions arrive: shuffled, some of them twice', play: enroll },
  { title: 'A deduction changes twice, and the newer change arrives first', play: changeOutOfOrder },
  { title: 'A deduction ends, and its event arrives three times at once', play: end },
];

/** The plans that the employees of an employer choose, in turn. */
const ELECTIONS: readonly (readonly LineOfCoverage[])[] = [
  ['medical', 'dental', 'hsa'],
  ['medical', 'vision'],
  ['medical', 'dental', 'life'],
  ['medical', 'hsa'],
  ['medical', 'dental', 'vision'],
];
/** Every third event is delivered twice. */
const TWICE_EVERY = 3;
/** The employee's contribution after the first and after the second change. */
const CHANGED = { older: '150.00', newer: '165.00' };
const AT_ONCE = 3;

async function enroll({ stage, show, confirm }: Scene): Promise<void> {
  const { simulator, api } = stage;
  const events = [...stage.censuses.values()].flatMap(({ employees }) =>
    employees.flatMap(({ employee_id }, nth) =>
      simulator.enrol(employee_id, ELECTIONS[nth % ELECTIONS.length]),
    ),
  );
  const twice = events.filter((_, index) => index % TWICE_EVERY === 0);
  await simulator.deliverShuffled([...events, ...twice]);
  const arrivals = await arrivalsOf(stage, events);
  expectEqual('acknowledged deliveries', arrivals.length, events.length + twice.length);
  show(
    `${counted(events.length, 'enrollment')}, one event each, in ${arrivals.length} deliveries: ` +
      `${repeatedIn(arrivals)} duplicates, ${overtakenIn(arrivals, events)} out of order.`,
  );
  await allApplied(stage);
  const versions = await api.list<VersionView>('/v1/deduction-versions');
  expectEqual(
    'versions in the ledger, one for each event',
    versions.map((version) => version.event_id).sort(),
    events.map((event) => event.id).sort(),
  );
  const deductions = await api.list<DeductionView>('/v1/deductions');
  expectEqual('deductions in the ledger', deductions.length, events.length);
  confirm(`All ${arrivals.length} deliveries were acknowledged.`);
  confirm(`The ledger has ${deductions.length} deductions: duplicates took effect once.`);
}

async function changeOutOfOrder({ stage, show, confirm }: Scene): Promise<void> {
  const { simulator, api } = stage;
  const before = await firstDeduction(stage, 'medical', 0);
  const path = `/v1/deductions/${encodeURIComponent(before.id)}`;
  const older = simulator.changeDeduction(before.id, { member_contribution: CHANGED.older });
  const newer = simulator.changeDeduction(before.id, { member_contribution: CHANGED.newer });
  show(
    `Medical of ${before.employee_id}, now ${dollars(before.member_contribution)} ${before.period}, changes to ` +
      `${dollars(CHANGED.older)}, then to ${dollars(CHANGED.newer)}.`,
  );

  await simulator.send(newer);
  await allApplied(stage);
  const changed = await api.get<DeductionView>(path);
  expectEqual("the employee's amount", changed.member_contribution, CHANGED.newer);
  confirm(
    `The event with ${dollars(CHANGED.newer)} arrived: the ledger has ${dollars(changed.member_contribution)}, version ${changed.version}.`,
  );

  await simulator.send(older);
  await allApplied(stage);
  const after = await api.get<DeductionView>(path);
  expectEqual("the employee's amount after the older event", after.member_contribution, CHANGED.newer);
  expectEqual('the version in effect', after.version, changed.version);
  const late = (await api.list<VersionView>(`${path}/versions`)).at(-1)!;
  expectEqual(
    'the last version',
    [late.event_id, late.member_contribution, late.late],
    [older.id, CHANGED.older, true],
  );
  confirm(
    `The older event with ${dollars(late.member_contribution)} arrived late: it is version ${late.version}, ` +
      `and the ledger still has ${dollars(after.member_contribution)}.`,
  );
}

async function end({ stage, now, show, confirm }: Scene): Promise<void> {
  const { simulator, api } = stage;
  const before = await firstDeduction(stage, 'dental', 1);
  const { lastDay, dayAfter } = endOfMonth(now());
  const event = simulator.endDeduction(before.id, lastDay);
  show(
    `Dental of ${before.employee_id}, ${dollars(before.member_contribution)} ${before.period}, ends: its last day is ${lastDay}.`,
  );
  await simulator.send(event, { times: AT_ONCE });
  const arrivals = await arrivalsOf(stage, [event]);
  expectEqual('acknowledged deliveries', arrivals.length, AT_ONCE);
  await allApplied(stage);

  const path = `/v1/deductions/${encodeURIComponent(before.id)}`;
  const ended = await api.get<DeductionView>(path);
  expectEqual('the end', ended.effective_end?.slice(0, lastDay.length), lastDay);
  const versions = await api.list<VersionView>(`${path}/versions`);
  expectEqual('versions', versions.length, before.version + 1);
  confirm(
    `${arrivals.length} deliveries were acknowledged and took effect once, as version ${ended.version}.`,
  );

  const appliesOn = async (day: string): Promise<boolean> => {
    const applying = await api.list<DeductionView>(
      `/v1/deductions?employee_id=${encodeURIComponent(before.employee_id)}&on=${day}`,
    );
    return applying.some(({ id }) => id === before.id);
  };
  expectEqual(`whether it applies on ${lastDay}`, await appliesOn(lastDay), true);
  expectEqual(`whether it applies on ${dayAfter}`, await appliesOn(dayAfter), false);
  confirm(`The deduction applies on ${lastDay}, and no longer on ${dayAfter}.`);
}

/** Returns the ids of these events in the order of their acknowledgments once no delivery is running. */
async function arrivalsOf({ simulator }: Scene['stage'], events: readonly MadeEvent[]): Promise<string[]> {
  await simulator.settled();
  const ids = new Set(events.map((event) => event.id));
  return simulator
    .deliveries()
    .filter((delivery) => delivery.acknowledged && ids.has(delivery.eventId))
    .map((delivery) => delivery.eventId);
}

function repeatedIn(arrivals: readonly string[]): number {
  return arrivals.length - new Set(arrivals).size;
}

/** Returns events first received after an event that was created later. */
function overtakenIn(arrivals: readonly string[], events: readonly MadeEvent[]): number {
  const made = events.map((event) => event.id);
  const order = [...new Set(arrivals)].map((id) => made.indexOf(id));
  return order.filter((place, index) => order.slice(0, index).some((earlier) => earlier > place)).length;
}

/** Acknowledged events are stored, and applied a moment later. */
export async function allApplied({ api }: Scene['stage']): Promise<void> {
  await waitFor(
    'no event pending',
    async () => (await api.list<EventView>('/v1/events?state=pending')).map((event) => event.id),
    (pending) => pending.length === 0,
  );
}

/** Returns a deduction for this line of coverage at the nth employer, from 0. */
async function firstDeduction(
  { api, censuses }: Scene['stage'],
  line: LineOfCoverage,
  nth: number,
): Promise<DeductionView> {
  const employerId = [...censuses.keys()][nth]!;
  const [first] = await api.list<DeductionView>(
    `/v1/deductions?employer_id=${encodeURIComponent(employerId)}&line_of_coverage=${line}`,
  );
  if (first === undefined) throw stepFailed(`a deduction for ${line} at ${employerId} in the ledger`, 'none');
  return first;
}

/** Returns the last day of the month of `now` and the first day of the next, as `YYYY-MM-DD`. */
function endOfMonth(now: Date): { lastDay: string; dayAfter: string } {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const dayOfNextMonth = (day: number): string =>
    new Date(Date.UTC(year, month + 1, day)).toISOString().slice(0, 10);
  return { lastDay: dayOfNextMonth(0), dayAfter: dayOfNextMonth(1) };
}

export const LEDGER_STEP: Step = {
  title: 'The ledger, read over the API, is compared with what the benefits service has',
  play: compareLedger,
};

async function compareLedger({ stage, confirm }: Scene): Promise<void> {
  const { simulator, api, censuses } = stage;
  const held = simulator.deductions();
  const ledger = await api.list<DeductionView>('/v1/deductions');
  expectEqual('deduction ids', ledger.map(({ id }) => id).sort(), held.map(({ id }) => id).sort());
  for (const deduction of held) {
    const state = ledger.find(({ id }) => id === deduction.id)!;
    const difference = firstDifference(sentPartOf(state), deduction);
    expect(
      difference === null,
      `deduction ${deduction.id} (${deduction.line_of_coverage} of ${deduction.employee_id}) as the benefits service has it`,
      `another ${difference} in the ledger`,
    );
  }
  confirm(`All ${ledger.length} deductions are equal in every field.`);

  for (const [employerId, { employees }] of censuses) {
    const ids = new Set(employees.map((employee) => employee.employee_id));
    const elsewhere = ledger.find(
      (state) => (state.employer_id === employerId) !== ids.has(state.employee_id),
    );
    expect(
      elsewhere === undefined,
      `deductions at ${employerId} of the employees in its census, and of no others`,
      `${elsewhere?.employee_id} at ${elsewhere?.employer_id ?? 'no employer'}`,
    );
  }
  confirm('Each belongs to the employer whose census lists the employee.');

  const { checks } = await api.get<ReadinessReport>('/v1/readiness');
  const open = checks.filter((check) => check.result !== 'pass');
  expect(
    open.length === 0,
    'every readiness check to pass',
    open.map((check) => `${check.id}: ${check.examples.join(', ')}`).join('; '),
  );
  confirm(`All ${checks.length} readiness checks pass: a payroll run can trust this ledger.`);
}

export async function printLedger(out: Output, { api, censuses }: Stage, employerId: string): Promise<void> {
  const states = await api.list<DeductionView>(
    `/v1/deductions?employer_id=${encodeURIComponent(employerId)}`,
  );
  const name = censuses.get(employerId)?.organization.legal_business_name;
  out.print(`\n${out.color('bold', `${name} (${employerId})`)}`);
  printTable(out, COLUMNS, states.sort(byEmployeeAndLine));
}

const COLUMNS: readonly Column<DeductionView>[] = [
  ['employee', (state) => state.employee_id],
  ['coverage', (state) => state.line_of_coverage],
  ['employee pays', (state) => dollars(state.member_contribution)],
  ['employer pays', (state) => dollars(state.employer_contribution)],
  ['period', (state) => state.period],
  ['ends', ({ effective_end: end }) => end && dayOf(end)],
];

function byEmployeeAndLine(one: DeductionView, other: DeductionView): number {
  const keys = [one, other].map((state) => `${state.employee_id} ${state.line_of_coverage}`);
  return keys[0]! < keys[1]! ? -1 : 1;
}

/** Returns the contract's fields, without those that the ledger adds. */
function sentPartOf(state: DeductionView): Record<string, unknown> {
  return Object.fromEntries(Object.entries(state).filter(([name]) => name in Deduction.properties));
}
