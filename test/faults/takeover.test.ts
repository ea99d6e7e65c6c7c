import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import BetterSqlite3 from 'better-sqlite3';
import t, { type Test } from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { eventually } from '../support/eventually.ts';
import { type Front, startFront } from '../support/front.ts';
import { eventOf } from '../support/load.ts';
import type { Sidecar } from '../support/sidecar.ts';
import { setStage, syncIn } from '../support/stage.ts';
import { stopWhen } from '../support/stop-when.ts';
import { stretched } from '../support/stretched.ts';

const EMPLOYER = 'maple-bakery';
const TAKEN_OVER_WITHIN_MS = 60_000;

t.setTimeout(600_000);

/** A sidecar with an upload in flight that gets no response. */
async function inTheMiddle(t: Test) {
  let front = {} as Front;
  const stage = await setStage(t, {
    before: async (url) => {
      front = await startFront(t, url);
      return front.url;
    },
  });
  const census = makeWorld(DEFAULT_SEED).get(EMPLOYER);
  t.equal((await stage.api.call('PUT', `/v1/employers/${EMPLOYER}/census`, census)).status, 200);
  await stage.simulator.requestCensus(EMPLOYER);
  await eventually('the upload hangs', () => front.met.get('hang'), 1);
  const handle = new BetterSqlite3(sqlitePath(stage.databaseUrl));
  t.teardown(() => handle.close());
  return { stage, front, handle };
}

t.test('a claim whose owner was killed is taken over within 60 s, under the same key', async (t) => {
  const { stage, front, handle } = await inTheMiddle(t);
  const requestId = handle.prepare("select request_id from outbox where state = 'sending'").pluck().get();
  const began = performance.now();
  t.equal(await stage.sidecar.end('SIGKILL'), 'SIGKILL');
  front.mode = 'pass';
  await stage.start();
  const sent = () => stage.simulator.requests().length;
  await eventually('the upload is sent again', sent, 1, stretched(TAKEN_OVER_WITHIN_MS));
  t.comment(`taken over after ${Math.round((performance.now() - began) / 1_000)} s`);
  t.ok(stage.simulator.requests()[0]?.idempotencyKey?.startsWith(`${requestId}:`));
  await syncIn(stage.api, EMPLOYER, 'completed');
});

t.test('a sender that continues after its claim was taken over changes nothing', async (t) => {
  const { stage, front, handle } = await inTheMiddle(t);
  const outbox = () => handle.prepare('select * from outbox').all() as Record<string, unknown>[];
  const attempts = () =>
    handle.prepare('select * from delivery_attempts order by attempt').all() as Record<string, unknown>[];

  await stopOutsideTransactions(stage.sidecar, handle);
  const child = fileURLToPath(new URL('child-sends.ts', import.meta.url));
  const other = spawn(process.execPath, [child], {
    // Directly to the service; requests through the proxy keep hanging.
    env: { ...stage.variables, BENEFITS_BASE_URL: stage.simulator.url, PATH: process.env.PATH },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  t.teardown(async () => {
    other.kill('SIGKILL');
    if (other.exitCode === null && other.signalCode === null) await once(other, 'close');
  });
  const state = () => outbox()[0]?.state;
  await eventually('the other sender has sent it', state, 'delivered', stretched(TAKEN_OVER_WITHIN_MS));
  t.equal(stage.simulator.requests().length, 1);
  t.match(attempts(), [{ reason: 'the sender stopped during the attempt' }, { status: 200 }]);
  const before = { outbox: outbox(), attempts: attempts() };

  stage.sidecar.signal('SIGCONT');
  front.letThrough();
  // The process is alive, and its stale attempt ends before it does.
  const event = eventOf('continued', 0);
  t.equal((await stage.send(event)).status, 204);
  await stage.settled();
  t.equal(await stage.sidecar.end('SIGTERM'), 0);
  t.strictSame({ outbox: outbox(), attempts: attempts() }, before);
  const later = stage.simulator.requests().slice(1);
  const areRepeated = later.every(({ repeated }) => repeated);
  t.ok(areRepeated, 'the service applied it once');
});

/** Stops a sidecar outside a transaction. Inside a transaction it would keep the write lock, which is another fault. */
async function stopOutsideTransactions(sidecar: Sidecar, handle: BetterSqlite3.Database): Promise<void> {
  const isUnlocked = (): boolean => {
    try {
      handle.exec('begin immediate; rollback');
      return true;
    } catch {
      return false;
    }
  };
  await stopWhen('the sidecar is stopped outside a transaction', sidecar, isUnlocked);
}
