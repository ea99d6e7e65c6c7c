/** Faults of a PostgreSQL server and of its sidecars under load, once each, followed by the checks of oracle.ts. */
import type { Test } from 'tap';
import { eventually } from './eventually.ts';
import { eventOf } from './load.ts';
import type { PostgresServer } from './postgres.ts';
import type { Instance } from './stage.ts';
import { nothingPending, type Three } from './three.ts';
import type { Cut } from './wire.ts';

/** While the database is down, each of refusing, storing, applying and sending reports it once a second at most. */
const LINES_A_SECOND = 4;
/** The time that the database is down while events keep arriving. */
const AWAY_MS = 3_000;

export function readyz({ sidecar }: Instance): Promise<number> {
  return fetch(`${sidecar.receiver}/readyz`).then(({ status }) => status);
}

const pidsOf = (all: readonly Instance[]) => all.map(({ sidecar }) => sidecar.pid);

/** Stops and starts the server: deliveries get only 503, and then the same processes continue. */
export async function restartRound(
  t: Test,
  three: Three,
  server: PostgresServer,
  how: 'stop' | 'crash',
  series: string,
): Promise<void> {
  const { stage, all } = three;
  const pids = pidsOf(all);
  const loads = three.load(series);
  await Promise.all(loads.map((load) => load.reached(100)));
  await server[how]();
  await Promise.all(loads.map(({ ended }) => ended));
  for (const load of loads) t.strictSame([...load.refusals.keys()], [503], 'rejected with 503 only');

  const said = all.map(({ sidecar }) => sidecar.logged().length);
  const began = performance.now();
  for (let index = 0; performance.now() - began < AWAY_MS; index += 1) {
    const answers = await Promise.all(all.map(({ send }) => send(eventOf(`${series}-away`, index))));
    for (const { status, headers } of answers) {
      if (status !== 503 || !/^\d+$/.test(headers['retry-after'] ?? '')) t.fail(`responded with ${status}`);
    }
  }
  for (const [index, one] of all.entries()) {
    t.equal(await readyz(one), 503);
    t.equal((await fetch(`${one.sidecar.receiver}/livez`)).status, 200);
    const asked = await one.api.call('GET', '/v1/deductions');
    t.match(asked, { status: 503, json: { status: 503 } });
    const lines = one.sidecar.logged().slice(said[index]);
    const seconds = (performance.now() - began) / 1_000;
    t.ok(
      // One more for the request above.
      lines.length <= LINES_A_SECOND * (seconds + 1) + 1,
      `${lines.length} lines in ${Math.round(seconds)} s: ${[...new Set(lines.map(({ msg }) => msg))]}`,
    );
  }

  await server.start();
  const started = performance.now();
  for (const one of all) await eventually('it is ready again', () => readyz(one), 200);
  t.comment(`ready ${Math.round(performance.now() - started)} ms after the server was`);
  const inDoubt = await three.settle(loads, stage);
  t.ok(inDoubt.length > 0);
  const message = `${three.acknowledged.size} acknowledged, ${inDoubt.length} were in doubt`;
  t.strictSame(await three.judge(), [], message);
  t.strictSame(pidsOf(all), pids);
}

/**
 * Cuts connections of the third sidecar at commits, before or after the server receives them. Such events are not
 * acknowledged, and their redelivery takes effect once.
 */
export async function cutRound(t: Test, three: Three, how: Cut, series: string, cuts = 5) {
  const { all, wire, db } = three;
  const [, , third] = all;
  const before = wire.cuts[how];
  wire.cutting = { how, every: 3 };
  const loads = [];
  for (let part = 0; wire.cuts[how] < before + cuts && part < cuts; part += 1) {
    const some = three.load(`${series}-${part}`, [third], { connections: 8 });
    await Promise.all(some.map(({ ended }) => ended));
    loads.push(...some);
  }
  wire.cutting = null;
  for (const load of loads) t.strictSame([...load.refusals.keys()], [503]);
  const doubted = loads.flatMap((load) => [...load.inDoubt.keys()]);
  const stored = await db.selectFrom('inbox').select('event_id').where('event_id', 'in', doubted).execute();
  t.ok(wire.cuts[how] >= before + cuts, `${wire.cuts[how] - before} connections were cut`);
  if (how === 'after') t.ok(stored.length > 0, `${stored.length} were stored and not acknowledged`);
  else t.equal(stored.length, 0, 'rejected events are not stored');
  await three.settle(loads, third);
  t.strictSame(await three.judge(), []);
}

/** Kills one sidecar under load. The others continue and apply the events that it stored. */
export async function killRound(t: Test, three: Three, victim: Instance, series: string) {
  const others = three.all.filter((one) => one !== victim);
  const loads = three.load(series);
  await Promise.all(loads.map((load) => load.reached(100)));
  t.equal(await victim.sidecar.end('SIGKILL'), 'SIGKILL');
  const killed = performance.now();
  const counts = loads.map(({ acknowledged }) => acknowledged.size);
  await Promise.all(
    others.map((one) => {
      const index = three.all.indexOf(one);
      return (loads[index] as (typeof loads)[number]).reached((counts[index] as number) + 100);
    }),
  );
  await Promise.all(loads.map((load) => load.stop()));
  await nothingPending(three.db);
  t.comment(`all events applied ${Math.round(performance.now() - killed)} ms after the kill`);
  for (const one of others) {
    const { refusals } = loads[three.all.indexOf(one)] as (typeof loads)[number];
    t.strictSame([...refusals], [], 'the others rejected nothing');
  }
  await three.settle(loads, others[0] as Instance);
  t.strictSame(await three.judge(), []);
}
