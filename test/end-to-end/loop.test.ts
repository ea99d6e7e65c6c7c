/** The whole loop over real HTTP, for each source of a census: both sides agree in the end. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { startPayroll } from '../../src/cli/demo/payroll.ts';
import type { Deduction } from '../../src/contract/deduction.ts';
import { seededRandom, shuffle } from '../../src/simulator/random.ts';
import { DEFAULT_EMPLOYER_IDS, DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import type { Api } from '../support/api.ts';
import { deliver, eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { type Stage, setStage, syncIn } from '../support/stage.ts';

const CENSUSES = fileURLToPath(new URL('../../fixtures/census/', import.meta.url));
const EMPLOYERS = DEFAULT_EMPLOYER_IDS;
const world = makeWorld(DEFAULT_SEED);

/** What the service must have in the end: what payroll holds. */
function assertUploaded(t: Test, { simulator }: Stage): void {
  for (const employerId of EMPLOYERS) {
    t.strictSame([...simulator.employeesOf(employerId).values()], world.get(employerId)?.employees, employerId);
    const paths = simulator.requests().map(({ path, status }) => `${status} ${path}`);
    t.equal(paths.filter((path) => path === `200 /employer/${employerId}/census`).length, 1, 'uploaded once');
  }
}

/** What both sides say of the deductions, in one order. */
async function bothSides({ simulator, api }: { simulator: Stage['simulator']; api: Api }) {
  const shown = (await api.list('/v1/deductions?limit=7')) as (Deduction & Record<string, unknown>)[];
  const ours = shown.map(({ employer_id, version, position, event_time, recorded_at, ...deduction }) => deduction);
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  return { ours: ours.sort(byId), theirs: simulator.deductions().sort(byId), shown };
}

t.test('a census that lies in a folder is uploaded when the service asks, as JSON and as CSV', async (t) => {
  for (const format of ['json', 'csv']) {
    await t.test(format, async (t) => {
      const folder = join(t.testdir(), 'censuses');
      cpSync(join(CENSUSES, format), folder, { recursive: true });
      const stage = await setStage(t, { variables: { CENSUS_SOURCE: `dir:${folder}` } });
      await Promise.all(EMPLOYERS.map(stage.simulator.requestCensus));
      for (const employerId of EMPLOYERS) await syncIn(stage.api, employerId, 'completed');
      assertUploaded(t, stage);
    });
  }
});

t.test("a census is fetched from payroll's own endpoint when the service asks", async (t) => {
  const token = 'a-token-of-the-census-source';
  const payroll = await startPayroll(world, token);
  t.teardown(payroll.close);
  const stage = await setStage(t, {
    variables: { CENSUS_SOURCE: payroll.censusAddress, CENSUS_SOURCE_TOKEN: token },
  });
  await Promise.all(EMPLOYERS.map(stage.simulator.requestCensus));
  for (const employerId of EMPLOYERS) await syncIn(stage.api, employerId, 'completed');
  assertUploaded(t, stage);
});

t.test('a sync waits for a census that payroll pushes, and goes on by itself when it comes', async (t) => {
  const stage = await setStage(t);
  const { api, simulator } = stage;
  await Promise.all(EMPLOYERS.map(simulator.requestCensus));
  for (const employerId of EMPLOYERS) {
    const waiting = await syncIn(api, employerId, 'waiting');
    t.match(waiting.reason, 'no census is staged');
  }
  t.strictSame(simulator.requests(), [], 'nothing was uploaded');
  for (const employerId of EMPLOYERS) {
    const put = await api.call('PUT', `/v1/employers/${employerId}/census`, world.get(employerId));
    t.match(put, { status: 200, json: { employees: world.get(employerId)?.employees.length } });
  }
  for (const employerId of EMPLOYERS) await syncIn(api, employerId, 'completed');
  assertUploaded(t, stage);
});

t.test('both sides agree after enrolments, changes and ends, in any order and with duplicates', async (t) => {
  const stage = await setStage(t);
  const { api, simulator } = stage;
  for (const employerId of EMPLOYERS) {
    await api.call('PUT', `/v1/employers/${employerId}/census`, world.get(employerId));
  }
  const employees = EMPLOYERS.flatMap((id) => world.get(id)?.employees ?? []);
  const enrolled = employees.flatMap(({ employee_id }) => simulator.enrol(employee_id));
  const [first, second, third] = simulator.deductions() as [Deduction, Deduction, Deduction];
  const later = [
    simulator.changeDeduction(first.id, { member_contribution: '165.00' }),
    simulator.changeDeduction(first.id, { member_contribution: '170.50', coverage_type: 'member_family' }),
    simulator.endDeduction(second.id, '2026-06-30'),
    simulator.changeDeduction(third.id, { member_contribution: '0', employer_contribution: '0' }),
  ];
  const events = [...enrolled, ...later];
  await simulator.deliverShuffled(events, { duplicates: 1 });
  await Promise.all(events.map((event) => simulator.send(event, { times: 3 })));
  await stage.settled();

  const { ours, theirs, shown } = await bothSides(stage);
  t.ok(theirs.length > EMPLOYERS.length, `${theirs.length} deductions`);
  t.strictSame(ours, theirs);
  for (const { employee_id, employer_id } of shown) {
    t.ok(employee_id.startsWith(`${employer_id}-`), 'each is of the employer of its employee');
  }
  const versions = await api.list('/v1/deduction-versions?limit=1000');
  t.equal(versions.length, events.length, 'each event is one version, however often it came');
  const { databaseFile } = stage;
  const acknowledged = events.map(({ id, body }) => ({ id, body: JSON.stringify(body) }));
  t.strictSame(breaches({ databaseFile, acknowledged }), []);
});

t.test('any order of delivery, with duplicates, gives the same latest states', async (t) => {
  const events = Array.from({ length: 300 }, (_, index) => eventOf('same', index));
  const orders = [events, ...[2, 3].map((seed) => shuffle(seededRandom(seed), [...events, ...events]))];
  const ledgers = await Promise.all(
    orders.map(async (order, index) => {
      let ledger: unknown;
      await t.test(`order ${index}`, async (t) => {
        const stage = await setStage(t);
        const { port } = stage.sidecar;
        for (const event of order) {
          t.equal((await deliver(port, stage.keys.webhookSecret, event)).status, 204);
        }
        await stage.settled();
        t.strictSame(breaches({ databaseFile: stage.databaseFile, acknowledged: events }), []);
        ledger = (await bothSides(stage)).ours;
      });
      return ledger;
    }),
  );
  t.strictSame(ledgers[1], ledgers[0]);
  t.strictSame(ledgers[2], ledgers[0]);
});
