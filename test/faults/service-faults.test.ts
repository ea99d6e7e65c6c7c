/**
 * The service misbehaves while payroll reports changes to one real sidecar and censuses are requested. At the end every accepted
 * change was applied there once, in order per employee.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { RequestFault } from '../../src/simulator/faults.ts';
import type { ReceivedRequest } from '../../src/simulator/record.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { DEFAULT_EMPLOYER_IDS, DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { allSent, disagreements, type Reported, reportMoves } from '../support/disagreements.ts';
import { onEachEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/memory.ts';
import { breaches } from '../support/oracle.ts';
import { makeKeys } from '../support/settings.ts';
import { type Stage, setStage, syncIn } from '../support/stage.ts';

const [MAPLE = '', HARBOR = ''] = DEFAULT_EMPLOYER_IDS;
const NEW_KEY = 'another-key-of-the-service';
const world = makeWorld(DEFAULT_SEED);
const employeesOf = (employerId: string) =>
  world.get(employerId)?.employees.map(({ employee_id }) => employee_id) ?? [];

type Reporting = Stage & { keyFile: string; reported: Reported[] };
type Played = Reporting & {
  /** The requests received until every request was settled. */
  came: ReceivedRequest[];
};
type Part = {
  fault?: string;
  /** What happens before the censuses are requested. */
  first?: (reporting: Reporting) => void;
  /** What happens while requests meet the fault. */
  during?: (reporting: Reporting) => Promise<void>;
  seen: (t: Test, played: Played) => Promise<void> | void;
  /** The employers whose employees move, and who get a census; all by default. */
  employers?: string[];
};

const PARTS: Record<string, Part> = {
  'every response is delayed': {
    fault: 'latency=1s',
    seen: (t, { came }) => void t.ok(came.every(({ status }) => status === 200)),
  },
  'one request per employer hangs until the service restarts': {
    fault: 'hang:2',
    during: async ({ simulator }) => {
      await usedUp(simulator);
      const [event] = simulator.enrol(employeesOf(MAPLE)[0] as string, ['medical']);
      if (event !== undefined) await simulator.send(event);
      simulator.setFaults([]);
    },
    seen: (t, { came, simulator }) => {
      t.same(faultsOf(came), ['hang', 'hang']);
      t.ok(simulator.deliveries().every(({ acknowledged }) => acknowledged));
    },
  },
  'three connections are reset before anything is applied': {
    fault: 'reset:3',
    seen: (t, { came }) => {
      t.same(faultsOf(came), Array(3).fill('reset'));
      t.notOk(came.some(({ fault, applied }) => fault !== null && applied));
    },
  },
  'three requests get 429 with Retry-After': {
    fault: 'rate-limit=1s:3',
    seen: (t, { came }) => {
      t.same(faultsOf(came), Array(3).fill('rate-limit'));
      for (const [index, one] of came.entries()) {
        const next = came.slice(index + 1).find(({ subject }) => subject === one.subject);
        if (one.fault === null || next === undefined) continue;
        t.ok(next.at.getTime() - one.at.getTime() >= 1_000, 'not earlier than Retry-After');
      }
    },
  },
  'four requests get 503': {
    fault: 'error=503:4',
    seen: (t, { came }) => void t.same(faultsOf(came), Array(4).fill('error')),
  },
  'two responses are lost': sentAgainAndNotAppliedTwice('lost-response'),
  'two responses are cut off': sentAgainAndNotAppliedTwice('half-response'),
  'the service changes its key: 401 until the sidecar has the new one': {
    first: ({ simulator }) => simulator.setApiKey(NEW_KEY),
    during: async ({ api, keyFile }) => {
      await eventually('sending is paused', () => api.check('circuit-breaker-paused'), { result: 'fail' });
      writeFileSync(keyFile, NEW_KEY);
    },
    seen: async (t, { came, api }) => {
      const refused = came.filter(({ status }) => status === 401).length;
      t.ok(refused > 0 && refused < 20, `${refused} requests were rejected`);
      t.match(await api.check('circuit-breaker-paused'), { result: 'pass' });
    },
  },
  'every request about one employer gets 403': {
    fault: `forbidden@${MAPLE}`,
    employers: [HARBOR],
    first: ({ simulator }) => void simulator.requestCensus(MAPLE),
    during: ({ simulator }) => met(simulator),
    seen: async (t, { came, api }) => {
      const refused = came.filter(({ status }) => status === 403).map(({ subject }) => subject);
      t.same(refused, [`employer:${MAPLE}`], 'it is not retried soon');
      t.equal((await api.call('POST', `/v1/employers/${MAPLE}/census/sync`)).status, 202);
      await syncIn(api, MAPLE, 'completed');
    },
  },
};

onEachEngine('whatever the service does, every change is applied there once and in order', async (t) => {
  const folder = temporaryFolder('test');
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [id, census] of world) writeFileSync(join(folder, `${id}.json`), JSON.stringify(census));
  const keys = makeKeys();
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, keys.apiKey);
  const key = { BENEFITS_API_KEY: undefined, BENEFITS_API_KEY_FILE: keyFile };
  const stage = await setStage(t, { keys, variables: { ...key, CENSUS_SOURCE: `dir:${folder}` } });
  const { api, simulator, databaseUrl } = stage;
  const reported: Reported[] = [];

  for (const [name, part] of Object.entries(PARTS)) {
    const { fault, first, during, seen, employers = [MAPLE, HARBOR] } = part;
    await t.test(name, async (t) => {
      const before = simulator.requests().length;
      const reporting = Object.assign(Object.create(stage) as Stage, { keyFile, reported });
      simulator.setFaults(fault === undefined ? [] : [fault]);
      first?.(reporting);
      const [moves] = await Promise.all([
        reportMoves(api, employers.flatMap(employeesOf)),
        takeCensuses(simulator, employers),
        during?.(reporting),
      ]);
      // An upload whose response is lost completes with the event, without a second request.
      while (!isUsedUp(simulator)) await takeCensuses(simulator, employers);
      simulator.setFaults([]);
      reported.push(...moves);
      await allSent(api);
      await stage.settled();
      await seen(t, Object.assign(reporting, { came: simulator.requests().slice(before) }));
      t.same(await disagreements(stage, reported), []);
      t.same(await breaches({ databaseUrl, acknowledged: [] }), []);
    });
  }

  await t.test('the comparison reports every planted difference', async (t) => {
    const [employeeId = ''] = employeesOf(HARBOR);
    simulator.setFaults(['ignore-keys', 'lost-response:1']);
    reported.push(...(await reportMoves(api, [employeeId])));
    await allSent(api);
    simulator.setFaults([]);
    const [older, newer] = reported.slice(-2) as [Reported, Reported];
    // A service that ignores the key applies a repeated request again, which a sender cannot detect.
    const twice = `applied there .*${older.changeId}, ${older.changeId}`;
    t.match(await disagreements(stage, reported), [
      `${older.changeId} was applied twice`,
      new RegExp(`^employee:${employeeId}: accepted .*, ${twice}`),
    ]);
    const swapped = [...reported.slice(0, -2), newer, older];
    t.ok((await disagreements(stage, swapped)).some((text) => text.startsWith(`employee:${employeeId}:`)));
    const unknown = { changeId: older.changeId, employeeId: 'somebody-else' };
    t.match((await disagreements(stage, [unknown])).at(-1), /^employee:/);
    simulator.enrol(employeeId, ['dental']);
    t.match((await disagreements(stage, reported)).at(-1), /^deduction ded_\w+: not in the ledger/);
  });
});

/** Requests the employers' censuses, and waits until each has one that was applied afterward. */
async function takeCensuses(simulator: Simulator, employers: readonly string[]): Promise<void> {
  const before = simulator.requests().length;
  for (const employerId of employers) await simulator.requestCensus(employerId);
  const applied = () =>
    simulator.requests().flatMap(({ applied, subject }, at) => (at >= before && applied ? [subject] : []));
  const isEach = (subjects: readonly (string | null)[]) =>
    employers.every((id) => subjects.includes(`employer:${id}`));
  await eventually('each census is applied', async () => applied(), isEach);
  await simulator.settled();
}

/** Reports whether no more requests meet a fault that is counted. */
function isUsedUp(simulator: Simulator): boolean {
  return simulator.faults().every(({ left }) => left === 0 || left === null);
}

async function usedUp(simulator: Simulator): Promise<void> {
  await eventually('the fault is used up', async () => isUsedUp(simulator), true);
}

async function met(simulator: Simulator): Promise<void> {
  await eventually('a fault is met', async () => simulator.faults().some(({ met }) => met > 0), true);
}

function faultsOf(came: readonly ReceivedRequest[]): (string | null)[] {
  return came.map(({ fault }) => fault).filter((fault) => fault !== null);
}

/** A change is sent again under its key. A census is not, if the service reports that it has it. */
function sentAgainAndNotAppliedTwice(fault: RequestFault): Part {
  const seen: Part['seen'] = async (t, { came, simulator, api, reported }) => {
    t.same(faultsOf(came), [fault, fault]);
    t.ok(came.filter((request) => request.fault !== null).every(({ applied }) => applied));
    simulator.setFaults([`${fault}:1`]);
    const [older, newer] = (await reportMoves(api, employeesOf(HARBOR).slice(0, 1))) as [Reported, Reported];
    await allSent(api);
    simulator.setFaults([]);
    reported.push(older, newer);
    t.match(simulator.requests().slice(-3), [
      { idempotencyKey: older.changeId, applied: true, status: null, fault },
      { idempotencyKey: older.changeId, applied: false, status: 200, repeated: true },
      { idempotencyKey: newer.changeId, applied: true, status: 200, repeated: false },
    ]);
  };
  return { fault: `${fault}:2`, seen };
}
