/** Plays each delivery scenario against one real sidecar. The ledger and the service agree after each. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { EVENT_SCENARIOS } from '../../src/simulator/event-scenarios.ts';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { allSent, disagreements, type Reported, report } from '../support/disagreements.ts';
import { onEachEngine } from '../support/engine.ts';
import { temporaryFolder } from '../support/memory.ts';
import { breaches } from '../support/oracle.ts';
import { makeKeys } from '../support/settings.ts';
import { type Stage, setStage, syncIn } from '../support/stage.ts';

const EMPLOYER = 'maple-bakery';
/** Retries an event within a second. */
const RETRY_SCALE = 0.00001;
const world = makeWorld(DEFAULT_SEED);

type Played = Stage & {
  /** The scenario's output. */
  said: string;
  /** The ids in the output. */
  deductions: string[];
  reported: Reported[];
};

/** Checks the result of each scenario. The type requires a check for every scenario. */
const SEEN: Record<keyof typeof EVENT_SCENARIOS, (t: Test, played: Played) => Promise<void>> = {
  'quiet-day': async (t, { api, simulator }) => {
    for (const employerId of world.keys()) {
      t.equal((await syncIn(api, employerId, 'completed')).state, 'completed');
      t.same([...simulator.employeesOf(employerId).values()], world.get(employerId)?.employees);
    }
    t.ok((await api.list('/v1/deductions?limit=1000')).length > 10);
  },
  duplicates: async (t, { api, simulator }) => {
    const times = new Map<string, number>();
    for (const { eventId } of simulator.deliveries()) times.set(eventId, (times.get(eventId) ?? 0) + 1);
    const repeated = [...times].filter(([, count]) => count > 1);
    t.same(repeated.map(([, count]) => count).sort(), [20, 3, 3, 3]);
    const events = await api.list('/v1/events?limit=1000');
    for (const [id] of repeated) t.equal(events.filter((event) => event.id === id).length, 1);
  },
  reordered: async (t, { api, deductions: [id] }) => {
    t.equal((await api.get(`/v1/deductions/${id}`)).member_contribution, '14.00');
    const versions = await api.list(`/v1/deductions/${id}/versions`);
    t.equal(versions.length, 5, 'all are kept');
  },
  ties: async (t, { api, deductions: [id] }) => {
    t.match(await api.get(`/v1/deductions/${id}`), { member_contribution: '21.00' });
    t.match(await api.check('ties-changed-content'), { result: 'fail', count: 1 });
  },
  'bad-signatures': async (t, { api, said }) => {
    t.equal(said.match(/response 401/g)?.length, 3);
    const events = await api.list('/v1/events?limit=1000');
    t.notOk(
      events.some(({ id }) => /other-|old-/.test(id)),
      'nothing is stored',
    );
  },
  'secret-rotation': async (t, played) => {
    const { said, simulator, keys, variables, start, api } = played;
    const next = /WEBHOOK_SECRETS: (whsec_\S+)/.exec(said)?.[1] as string;
    const lastTwo = () => simulator.deliveries().slice(-2);
    t.match(lastTwo(), Array(2).fill({ acknowledged: true }), 'signed with the old secret only');
    t.equal(await played.sidecar.end('SIGTERM'), 0);
    variables.WEBHOOK_SECRETS = `${next} ${keys.webhookSecret}`;
    await start();
    simulator.signWith([next]);
    const { id } = simulator.deductions()[0] as { id: string };
    await simulator.send(simulator.changeDeduction(id, { member_contribution: '41.00' }));
    await played.settled();
    const { member_contribution } = await api.get(`/v1/deductions/${id}`);
    t.equal(member_contribution, '41.00', 'signed with the new secret only');
  },
  'unknown-employee': async (t, { api, deductions: [id], reported }) => {
    t.match(await api.get(`/v1/deductions/${id}`), { employer_id: null });
    const [first] = world.get(EMPLOYER)?.employees ?? [];
    const hire = { ...first, employee_id: `${EMPLOYER}-unlisted`, employer_id: EMPLOYER };
    reported.push(await report(api, 'new-hire', hire));
    t.equal((await api.get(`/v1/deductions/${id}`)).employer_id, EMPLOYER, 'the hire matches it');
  },
  ended: async (t, { api, deductions: [byDay, byZero, late] }) => {
    const inEffect = (await api.list(`/v1/deductions?on=${dayFromToday(0)}&limit=1000`)).map(({ id }) => id);
    t.notOk(inEffect.includes(byDay));
    t.match(await api.get(`/v1/deductions/${byZero}`), { member_contribution: '0.00' });
    t.match(await api.get(`/v1/deductions/${late}`), { employee_id: `${EMPLOYER}-005` });
  },
  retroactive: async (t, { api, deductions: [id] }) => {
    const inEffect = await api.list(`/v1/deductions?on=${dayFromToday(-80)}&limit=1000`);
    const amounts = inEffect.filter((one) => one.id === id).map((one) => one.member_contribution);
    t.strictSame(amounts, ['31.00']);
  },
  'future-dated': async (t, { api, deductions }) => {
    const inEffect = async (days: number) => {
      const found = await api.list(`/v1/deductions?on=${dayFromToday(days)}&limit=1000`);
      return deductions.map((id) => found.find((one) => one.id === id)?.member_contribution);
    };
    const [before, after] = [await inEffect(50), await inEffect(70)];
    t.equal(before[0], undefined, 'it is not in effect yet');
    t.ok(before[1] !== undefined && before[1] !== '51.00', 'the earlier amount');
    t.ok(before[2] !== undefined);
    t.ok(after[0] !== undefined);
    t.same(after.slice(1), ['51.00', undefined]);
  },
  deprecated: async (t, { api, deductions: [id] }) => {
    t.match(await api.get(`/v1/deductions/${id}`), { line_of_coverage: 'life' });
    const events = await api.list('/v1/events?event_type=employee.deduction-created');
    t.same(events.map(({ state }) => state).sort(), ['applied', 'ignored']);
  },
  'endpoint-disabled': async (t, { api, simulator }) => {
    t.match(simulator.destinations(), [{ disabledAt: null, missed: 0 }]);
    const last = simulator.deductions().slice(-3);
    for (const { id } of last) t.equal((await api.get(`/v1/deductions/${id}`)).id, id, 'none is lost');
    t.match(await api.check('signatures-refused'), { result: 'warn' });
  },
};

onEachEngine('the delivery scenarios end as documented', async (t) => {
  const folder = temporaryFolder('test');
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [id, census] of world) writeFileSync(join(folder, `${id}.json`), JSON.stringify(census));
  const stage = await setStage(t, {
    keys: makeKeys(),
    variables: { CENSUS_SOURCE: `dir:${folder}` },
    simulator: { retryScale: RETRY_SCALE },
  });
  const { api, simulator, databaseUrl } = stage;
  const reported: Reported[] = [];

  for (const name of Object.keys(SEEN) as (keyof typeof SEEN)[]) {
    await t.test(`${name}: ${EVENT_SCENARIOS[name].about}`, async (t) => {
      if (name === 'ended') reported.push(await terminateEmployee(stage));
      const lines: string[] = [];
      await simulator.playScenario(name, (line) => lines.push(line));
      await stage.settled();
      const said = lines.join('\n');
      const deductions = said.match(/ded_\w+/g) ?? [];
      await SEEN[name](t, Object.assign(Object.create(stage), { said, deductions, reported }));
      await allSent(api);
      t.same(await disagreements(stage, reported), []);
      t.same(await breaches({ databaseUrl, acknowledged: [] }), []);
    });
  }
});

/** The service learns of the employee before it sends their deduction. */
async function terminateEmployee({ api }: Stage): Promise<Reported> {
  const termination = { employee_id: `${EMPLOYER}-005`, termination_date: dayFromToday(-7) };
  const reported = await report(api, 'termination', termination);
  await allSent(api);
  return reported;
}

function dayFromToday(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}
