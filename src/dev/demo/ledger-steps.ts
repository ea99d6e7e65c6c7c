/** The steps of the demo up to the ledger: censuses, deductions, and the comparison with the benefits service. */
import type { CensusSync } from '../../census/sync-list.ts';
import type { ReadinessReport } from '../../checks.ts';
import { type Column, counted, type Output, printTable } from '../../cli/output.ts';
import type { Census } from '../../contract/census.ts';
import { Deduction, type LineOfCoverage } from '../../contract/deduction.ts';
import { dayOf, utcDay } from '../../contract/instant.ts';
import type { EventView } from '../../inbox/event-views.ts';
import type { DeductionView, VersionView } from '../../ledger/deduction-views.ts';
import { dollars } from '../../money.ts';
import type { MadeEvent } from '../../simulator/events.ts';
import {
  expect,
  expectEqual,
  firstDifference,
  type Scene,
  type Stage,
  type Step,
  StepFailed,
  waitFor,
} from './stage.ts';

export const LEDGER_STEPS: readonly Step[] = [
  { title: 'The benefits service requests the census of each employer', play: askForCensuses },
  { title: 'The sidecar fetches each census from payroll, checks it and uploads it', play: uploadCensuses },
  { title: 'The benefits service processes each census and reports it as complete', play: completeSyncs },
  { title: 'Employees enroll, and their deductions arrive: shuffled, some of them twice', play: enroll },
  { title: 'A deduction changes twice, and the newer change arrives first', play: changeOutOfOrder },
  { title: 'A deduction ends, and its event arrives three times at once', play: end },
  {
    title: 'The ledger, read over the API, is compared with what the benefits service has',
    play: compareLedger,
  },
];

async function askForCensuses({ stage: { censuses, simulator }, show, confirm }: Scene): Promise<void> {
  for (const employerId of censuses.keys()) {
    show(`A signed event goes to the sidecar: census needed for ${employerId}.`);
    const event = await simulator.requestCensus(employerId);
    const delivery = simulator.deliveries().find(({ eventId }) => eventId === event.id);
    expect(
      delivery?.acknowledged === true,
      'the sidecar to acknowledge the event with a status of 2xx',
      String(delivery?.status ?? delivery?.reason ?? 'no delivery'),
    );
  }
  confirm(`${counted(censuses.size, 'signed event')}: each was on disk before its response 204.`);
}

async function uploadCensuses({ stage, show, confirm }: Scene): Promise<void> {
  let employees = 0;
  for (const [employerId, census] of stage.censuses) {
    const path = `/employer/${encodeURIComponent(employerId)}/census`;
    const upload = await waitFor(
      `the census of ${employerId} to be accepted by the benefits service`,
      async () => {
        await assertNotFailed(stage, employerId);
        return stage.simulator.requests().find((request) => request.path === path && request.status === 200);
      },
      (seen) => seen !== undefined,
    );
    const difference = firstDifference(upload!.body, census);
    expect(
      difference === null,
      `the benefits service to receive the census of ${employerId} as payroll has it`,
      `a census that differs in ${difference}`,
    );
    const times = stage.payroll.givenOut(employerId);
    expect(times > 0, `payroll to receive a request for the census of ${employerId}`, 'no request');
    const { length } = (upload!.body as Census).employees;
    employees += length;
    show(`The benefits service received ${counted(length, 'employee')} of ${employerId}.`);
  }
  confirm(`It received ${counted(employees, 'employee')}, equal in every field to payroll's.`);
}

async function completeSyncs({ stage, confirm }: Scene): Promise<void> {
  for (const employerId of stage.censuses.keys()) {
    await waitFor(
      `one census sync of ${employerId}, completed`,
      () => syncsOf(stage, employerId),
      (syncs) => syncs.length === 1 && syncs[0]?.state === 'completed',
    );
  }
  const employers = [...stage.censuses.keys()];
  confirm(`${counted(employers.length, 'census sync')} completed: ${employers.join(', ')}.`);
}

/** Throws when a sync failed, instead of waiting longer. */
async function assertNotFailed(stage: Stage, employerId: string): Promise<void> {
  const failed = (await syncsOf(stage, employerId)).find((sync) => sync.state === 'failed');
  if (failed === undefined) return;
  const [problem] = failed.problems;
  const where = problem === undefined ? '' : ` (${problem.path}: ${problem.rule})`;
  throw new StepFailed(
    `the census of ${employerId} to pass the check and be uploaded`,
    `a census sync that failed: ${failed.reason}${where}`,
  );
}

function syncsOf({ api }: Stage, employerId: string): Promise<CensusSync[]> {
  return api.list('/v1/census-syncs', { employer_id: employerId });
}

/** The plans that the employees of an employer choose, in turn. */
const ELECTIONS: readonly (readonly LineOfCoverage[])[] = [
  ['medical', 'dental', 'hsa'],
  ['medical', 'vision'],
  ['medical', 'dental', 'life'],
  ['medical', 'hsa'],
  ['medical', 'dental', 'vision'],
];
/** The employee's contribution after the first and after the second change. */
const CHANGED = { older: '150.00', newer: '165.00' };

async function enroll({ stage, confirm }: Scene): Promise<void> {
  const { simulator, api } = stage;
  const events = [...stage.censuses.values()].flatMap(({ employees }) =>
    employees.flatMap(({ employee_id }, nth) =>
      simulator.enrol(employee_id, ELECTIONS[nth % ELECTIONS.length]),
    ),
  );
  const twice = events.filter((_, index) => index % 3 === 0);
  await simulator.deliverShuffled([...events, ...twice]);
  const arrivals = await arrivalsOf(stage, events);
  expectEqual('acknowledged deliveries', arrivals.length, events.length + twice.length);
  const deliveries = `${arrivals.length} deliveries`;
  const disorder = `${arrivals.length - new Set(arrivals).size} duplicates, ${overtakenIn(arrivals, events)} out of order`;
  await allApplied(stage);
  const versions = await api.list<VersionView>('/v1/deduction-versions');
  expectEqual(
    'versions in the ledger, one for each event',
    versions.map((version) => version.event_id).sort(),
    events.map((event) => event.id).sort(),
  );
  const deductions = await api.list<DeductionView>('/v1/deductions');
  expectEqual('deductions in the ledger', deductions.length, events.length);
  confirm(`${deliveries}, ${disorder}: ${deductions.length} deductions.`);
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
    `${dollars(CHANGED.newer)} stays in effect. The older ${dollars(CHANGED.older)} is kept as version ${late.version}, late.`,
  );
}

async function end({ stage, now, show, confirm }: Scene): Promise<void> {
  const { simulator, api } = stage;
  const before = await firstDeduction(stage, 'dental', 1);
  const dayOfNextMonth = (day: number): string =>
    utcDay(new Date(Date.UTC(now().getUTCFullYear(), now().getUTCMonth() + 1, day)));
  const [lastDay, dayAfter] = [dayOfNextMonth(0), dayOfNextMonth(1)];
  const event = simulator.endDeduction(before.id, lastDay);
  show(
    `Dental of ${before.employee_id}, ${dollars(before.member_contribution)} ${before.period}, ends: its last day is ${lastDay}.`,
  );
  await simulator.send(event, { times: 3 });
  const arrivals = await arrivalsOf(stage, [event]);
  expectEqual('acknowledged deliveries', arrivals.length, 3);
  await allApplied(stage);

  const path = `/v1/deductions/${encodeURIComponent(before.id)}`;
  const ended = await api.get<DeductionView>(path);
  expectEqual('the end', ended.effective_end?.slice(0, lastDay.length), lastDay);
  const versions = await api.list<VersionView>(`${path}/versions`);
  expectEqual('versions', versions.length, before.version + 1);

  const appliesOn = async (on: string): Promise<boolean> => {
    const { employee_id } = before;
    const applying = await api.list<DeductionView>('/v1/deductions', { employee_id, on });
    return applying.some(({ id }) => id === before.id);
  };
  expectEqual(`whether it applies on ${lastDay}`, await appliesOn(lastDay), true);
  expectEqual(`whether it applies on ${dayAfter}`, await appliesOn(dayAfter), false);
  confirm(`It took effect once: it applies on ${lastDay}, and no longer on ${dayAfter}.`);
}

/** Returns the ids of these events in the order of their acknowledgments once no delivery is running. */
async function arrivalsOf({ simulator }: Stage, events: readonly MadeEvent[]): Promise<string[]> {
  await simulator.settled();
  const ids = new Set(events.map((event) => event.id));
  return simulator
    .deliveries()
    .filter((delivery) => delivery.acknowledged && ids.has(delivery.eventId))
    .map((delivery) => delivery.eventId);
}

/** Returns events first received after an event that was created later. */
function overtakenIn(arrivals: readonly string[], events: readonly MadeEvent[]): number {
  const made = events.map((event) => event.id);
  const order = [...new Set(arrivals)].map((id) => made.indexOf(id));
  return order.filter((place, index) => order.slice(0, index).some((earlier) => earlier > place)).length;
}

/** Acknowledged events are stored, and applied a moment later. */
export async function allApplied({ api }: Stage): Promise<void> {
  const look = async (): Promise<string[]> =>
    (await api.list<EventView>('/v1/events', { state: 'pending' })).map((event) => event.id);
  await waitFor('no event pending', look, (pending) => pending.length === 0);
}

/** Returns a deduction for this line of coverage at the nth employer, from 0. */
async function firstDeduction(
  { api, censuses }: Stage,
  line_of_coverage: LineOfCoverage,
  nth: number,
): Promise<DeductionView> {
  const employer_id = [...censuses.keys()][nth]!;
  const [first] = await api.list<DeductionView>('/v1/deductions', { employer_id, line_of_coverage });
  if (first !== undefined) return first;
  throw new StepFailed(`a deduction for ${line_of_coverage} at ${employer_id} in the ledger`, 'none');
}

async function compareLedger({ stage, confirm }: Scene): Promise<void> {
  const { simulator, api, censuses } = stage;
  const held = simulator.deductions();
  const ledger = await api.list<DeductionView>('/v1/deductions');
  expectEqual('deduction ids', ledger.map(({ id }) => id).sort(), held.map(({ id }) => id).sort());
  for (const deduction of held) {
    const state = ledger.find(({ id }) => id === deduction.id)!;
    const sent = Object.entries(state).filter(([name]) => name in Deduction.properties);
    const difference = firstDifference(Object.fromEntries(sent), deduction);
    expect(
      difference === null,
      `deduction ${deduction.id} (${deduction.line_of_coverage} of ${deduction.employee_id}) as the benefits service has it`,
      `another ${difference} in the ledger`,
    );
  }

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

  const { checks } = await api.get<ReadinessReport>('/v1/readiness');
  const open = checks.filter((check) => check.result !== 'pass');
  expect(
    open.length === 0,
    'every readiness check to pass',
    open.map((check) => `${check.id}: ${check.findings.map(({ text }) => text).join(', ')}`).join('; '),
  );
  confirm(
    `All ${ledger.length} deductions are equal in every field. All ${checks.length} readiness checks pass.`,
  );
}

export async function printLedger(out: Output, { api, censuses }: Stage, employerId: string): Promise<void> {
  const states = await api.list<DeductionView>('/v1/deductions', { employer_id: employerId });
  const name = censuses.get(employerId)?.organization.legal_business_name;
  out.print(`\n${out.color('bold', `${name} (${employerId})`)}`);
  const key = (state: DeductionView): string => `${state.employee_id} ${state.line_of_coverage}`;
  printTable(
    out,
    COLUMNS,
    states.sort((one, other) => (key(one) < key(other) ? -1 : 1)),
  );
}

const COLUMNS: readonly Column<DeductionView>[] = [
  ['employee', (state) => state.employee_id],
  ['coverage', (state) => state.line_of_coverage],
  ['employee pays', (state) => dollars(state.member_contribution)],
  ['employer pays', (state) => dollars(state.employer_contribution)],
  ['period', (state) => state.period],
  ['ends', ({ effective_end: end }) => end && dayOf(end)],
];
