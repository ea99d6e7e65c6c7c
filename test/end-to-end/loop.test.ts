/** The whole loop over real HTTP: the ledger and the service agree at the end. */
import type { Test } from 'tap';
import type { Deduction } from '../../src/contract/deduction.ts';
import { seededRandom, shuffle } from '../../src/simulator/random.ts';
import { DEFAULT_EMPLOYER_IDS, DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deliver, eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { type Stage, setStage, syncIn } from '../support/stage.ts';

const EMPLOYERS = DEFAULT_EMPLOYER_IDS;
const world = makeWorld(DEFAULT_SEED);

/** The deductions that the service must have at the end. */
function assertUploaded(t: Test, { simulator }: Stage): void {
  for (const employerId of EMPLOYERS) {
    t.strictSame(
      [...simulator.employeesOf(employerId).values()],
      world.get(employerId)?.employees,
      employerId,
    );
    const answers = simulator.requests().filter(({ path }) => path === `/employer/${employerId}/census`);
    t.strictSame(
      answers.map(({ status }) => status),
      [200],
      'uploaded once',
    );
  }
}

onEitherEngine('with the source push', async (t) => {
  const stage = await setStage(t);
  const { api, simulator, databaseUrl } = stage;

  await t.test('a sync waits for a census and continues when payroll uploads it', async (t) => {
    await Promise.all(EMPLOYERS.map(simulator.requestCensus));
    for (const employerId of EMPLOYERS) {
      t.match((await syncIn(api, employerId, 'waiting')).reason, 'no census is staged');
    }
    t.strictSame(simulator.requests(), [], 'nothing was uploaded');
    for (const employerId of EMPLOYERS) {
      const census = world.get(employerId);
      const put = await api.call('PUT', `/v1/employers/${employerId}/census`, census);
      t.match(put, { status: 200, json: { employees: census?.employees.length } });
    }
    for (const employerId of EMPLOYERS) await syncIn(api, employerId, 'completed');
    assertUploaded(t, stage);
  });

  await t.test(
    'the ledger and the service agree after shuffled and duplicated enrollments, changes and ends',
    async (t) => {
      const employees = EMPLOYERS.flatMap((id) => world.get(id)?.employees ?? []);
      const enrolled = employees.flatMap(({ employee_id }) => simulator.enrol(employee_id));
      const [first, second, third] = simulator.deductions() as [Deduction, Deduction, Deduction];
      const events = [
        ...enrolled,
        simulator.changeDeduction(first.id, { member_contribution: '165.00' }),
        simulator.changeDeduction(first.id, { member_contribution: '170.5', coverage_type: 'member_family' }),
        simulator.endDeduction(second.id, '2026-06-30'),
        simulator.changeDeduction(third.id, { member_contribution: '0', employer_contribution: '0' }),
      ];
      await simulator.deliverShuffled(events, { duplicates: 1 });
      await simulator.send(events[0] as (typeof events)[0], { times: 20 });
      await stage.settled();

      const shown = (await api.list('/v1/deductions?limit=7')) as (Deduction & { employer_id: string })[];
      const byId = (a: Deduction, b: Deduction) => (a.id < b.id ? -1 : 1);
      t.strictSame(shown.map(deductionOf).sort(byId), simulator.deductions().sort(byId));
      for (const { employee_id, employer_id } of shown) {
        t.ok(
          employee_id.startsWith(`${employer_id}-`),
          'each deduction belongs to the employer of its employee',
        );
      }
      const versions = await api.get('/v1/deduction-versions?limit=1000');
      t.equal(
        versions.data.length,
        events.length,
        'each event is one version, however often it was delivered',
      );
      const acknowledged = events.map(({ id, body }) => ({ id, body: JSON.stringify(body) }));
      t.strictSame(await breaches({ databaseUrl, acknowledged }), []);
    },
  );

  await t.test('any order of delivery, with duplicates, gives the same latest states', async (t) => {
    const inOrder = Array.from({ length: 60 }, (_, index) => about('in-order', index));
    const disordered = Array.from({ length: 60 }, (_, index) => about('disordered', index));
    const shuffled = shuffle(seededRandom(7), [...disordered, ...disordered]);
    for (const event of [...inOrder, ...shuffled]) {
      const { status } = await deliver(stage.sidecar.port, stage.keys.webhookSecret, event);
      if (status !== 204) t.fail(`${event.id} got status ${status}`);
    }
    await stage.settled();
    t.strictSame(await breaches({ databaseUrl, acknowledged: [...inOrder, ...disordered] }), []);
    const states = async (name: string) => {
      const shown = (await api.list('/v1/deductions')) as Deduction[];
      const ours = shown.filter(({ id }) => id.startsWith(`${name}-`)).map(deductionOf);
      return ours.map((deduction) => ({ ...deduction, id: deduction.id.slice(name.length) }));
    };
    const expected = await states('in-order');
    t.equal(expected.length, 6);
    t.strictSame(await states('disordered'), expected);
  });
});

/** Ten events about each of six deductions, each later and with another amount than the one before. */
function about(name: string, index: number) {
  const { id, body } = eventOf(name, index * 20);
  const event = JSON.parse(body);
  event.data.id = `${name}-${index % 6}`;
  event.data.employee_id = 'maple-bakery-001';
  return { id, body: JSON.stringify(event) };
}

/** Returns the fields that the service sent, without those that the ledger adds. */
function deductionOf(shown: Record<string, unknown>): Deduction {
  const { employer_id, matched, version, position, event_time, recorded_at, ...deduction } = shown;
  return deduction as Deduction;
}
