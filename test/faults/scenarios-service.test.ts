/**
 * Plays each scenario of the service's behavior against one real sidecar while payroll reports changes. At the end every
 * accepted change was applied there once, in order per employee.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { RequestFault } from '../../src/simulator/faults.ts';
import type { ReceivedRequest } from '../../src/simulator/record.ts';
import { SERVICE_SCENARIOS } from '../../src/simulator/service-scenarios.ts';
import { DEFAULT_EMPLOYER_IDS, DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { allSent, disagreements, type Reported, reportMoves } from '../support/disagreements.ts';
import { onEachEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/memory.ts';
import { breaches } from '../support/oracle.ts';
import { makeKeys } from '../support/settings.ts';
import { type Stage, setStage, syncIn } from '../support/stage.ts';

const [MAPLE = '', HARBOR = ''] = DEFAULT_EMPLOYER_IDS;
const world = makeWorld(DEFAULT_SEED);
const employeesOf = (employerId: string) =>
  world.get(employerId)?.employees.map(({ employee_id }) => employee_id) ?? [];

type Playing = Stage & { keyFile: string; said: string[]; reported: Reported[] };
type Played = Playing & {
  /** The requests received from the start of the scenario until every request was settled. */
  came: ReceivedRequest[];
};
type Part = {
  /** The manual actions during the scenario. */
  during?: (playing: Playing) => Promise<void>;
  seen: (t: Test, played: Played) => Promise<void> | void;
  /** The employees who move during the scenario; all by default. */
  movers?: string[];
};

/** The expectations for each scenario; the type requires one for every scenario. */
const SEEN: Record<keyof typeof SERVICE_SCENARIOS, Part> = {
  'slow-service': { seen: (t, { came }) => void t.ok(came.every(({ status }) => status === 200)) },
  'hanging-service': {
    seen: (t, { came, simulator }) => {
      t.same(faultsOf(came), ['hang', 'hang']);
      t.ok(simulator.deliveries().every(({ acknowledged }) => acknowledged));
    },
  },
  resets: {
    seen: (t, { came }) => {
      t.same(faultsOf(came), Array(3).fill('reset'));
      t.notOk(came.some(({ fault, applied }) => fault !== null && applied));
    },
  },
  'rate-limited': {
    seen: (t, { came }) => {
      t.same(faultsOf(came), Array(3).fill('rate-limit'));
      for (const [index, one] of came.entries()) {
        const next = came.slice(index + 1).find(({ subject }) => subject === one.subject);
        if (one.fault === null || next === undefined) continue;
        t.ok(next.at.getTime() - one.at.getTime() >= 1_000, 'not earlier than Retry-After');
      }
    },
  },
  outage: { seen: (t, { came }) => void t.same(faultsOf(came), Array(4).fill('error')) },
  'lost-responses': { seen: sentAgainAndNotAppliedTwice('lost-response') },
  'half-responses': { seen: sentAgainAndNotAppliedTwice('half-response') },
  'wrong-key': {
    during: async ({ api, keyFile, said }) => {
      await eventually('sending is paused', () => api.check('circuit-breaker-paused'), { result: 'fail' });
      writeFileSync(keyFile, /is now (\S+):/.exec(said.join('\n'))?.[1] as string);
    },
    seen: async (t, { came, api }) => {
      const refused = came.filter(({ status }) => status === 401).length;
      t.ok(refused > 0 && refused < 20, `${refused} requests were rejected`);
      t.match(await api.check('circuit-breaker-paused'), { result: 'pass' });
    },
  },
  'forbidden-employer': {
    movers: employeesOf(HARBOR),
    seen: async (t, { came, api }) => {
      const refused = came.filter(({ status }) => status === 403).map(({ subject }) => subject);
      t.same(refused, [`employer:${MAPLE}`], 'it is not retried soon');
      t.equal((await api.call('POST', `/v1/employers/${MAPLE}/census/sync`)).status, 202);
      await syncIn(api, MAPLE, 'completed');
    },
  },
};

onEachEngine('the service scenarios end as documented', async (t) => {
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

  for (const name of Object.keys(SEEN) as (keyof typeof SEEN)[]) {
    const { during, seen, movers = [MAPLE, HARBOR].flatMap(employeesOf) } = SEEN[name];
    await t.test(`${name}: ${SERVICE_SCENARIOS[name].about}`, async (t) => {
      const before = simulator.requests().length;
      const said: string[] = [];
      const playing = Object.assign(Object.create(stage) as Stage, { keyFile, said, reported });
      const [, moves] = await Promise.all([
        simulator.playScenario(name, (line) => said.push(line)),
        reportMoves(api, movers),
        during?.(playing),
      ]);
      reported.push(...moves);
      await allSent(api);
      await stage.settled();
      await seen(t, Object.assign(playing, { came: simulator.requests().slice(before) }));
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

function faultsOf(came: readonly ReceivedRequest[]): (string | null)[] {
  return came.map(({ fault }) => fault).filter((fault) => fault !== null);
}

/** A change is sent again under its key. A census is not, if the service reports that it has it. */
function sentAgainAndNotAppliedTwice(fault: RequestFault): Part['seen'] {
  return async (t, { came, simulator, api, reported }) => {
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
}
