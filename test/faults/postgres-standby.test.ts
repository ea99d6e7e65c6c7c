/** A primary and its standby: a switchover with a service address, and commits that reach the primary only. */
import { sql } from 'kysely';
import { Client } from 'pg';
import t, { type Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { createIntake } from '../../src/inbox/intake.ts';
import { beginRun } from '../../src/payroll/lifecycle/begin.ts';
import { runOf } from '../../src/payroll/records/body.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { open, scratch } from '../database/scratch.ts';
import { acting } from '../support/audit.ts';
import { newDatabaseUrl, useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { eventOf } from '../support/load.ts';
import { body, employment, finalize, finalized, LATELY, learn } from '../support/payroll.ts';
import { execute, type PostgresServer } from '../support/postgres.ts';
import { readyz } from '../support/postgres-rounds.ts';
import { scrape } from '../support/scrape.ts';
import { setStage } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';
import { startWire } from '../support/wire.ts';

t.setTimeout(300_000);
const server = await useOwnPostgres();

/** Stops the server and returns a copy of it. Both are stopped. */
async function stoppedCopy(t: Test): Promise<PostgresServer> {
  await server.stop();
  const copy = await server.copy();
  t.teardown(copy.remove);
  return copy;
}

/** Returns the rows of a query to a server. */
async function rowsOf(url: string, text: string) {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

t.test('a commit without its synchronous standby is not acknowledged, nor is its repetition', async (t) => {
  const { db, url } = await scratch(t);
  await learn(db, employment('a'));
  const standby = await stoppedCopy(t);
  await server.start();
  await standby.start(server);
  const set = async (change: string) => {
    await execute(url, `alter system ${change}`);
    await execute(url, 'select pg_reload_conf()');
  };
  await set("set synchronous_standby_names = '*'");
  t.teardown(() => set('reset synchronous_standby_names'));
  const intake = createIntake({
    db,
    receivedAt: () => sql<string>`to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    log: silentLog,
    onStored: () => {},
    onFatal: () => {},
  });
  const deliver = (eventId: string) =>
    intake.accept({ eventId, body: Buffer.from('{}') }).then(
      () => 'acknowledged',
      ({ code }) => code,
    );
  const waits = "from pg_stat_activity where wait_event = 'SyncRep'";
  const endWaits = (how: 'cancel' | 'terminate') => rowsOf(url, `select pg_${how}_backend(pid) ${waits}`);
  /** Returns the result of work whose wait for the standby ends. */
  const interrupted = async (how: 'cancel' | 'terminate', work: Promise<unknown>) => {
    await eventually('it waits', async () => (await rowsOf(url, `select 1 ${waits}`)).length, 1);
    await endWaits(how);
    return work;
  };
  t.equal(await deliver('first'), 'acknowledged');
  await standby.stop();

  const write = () =>
    transact(db, (trx) => trx.updateTable('instance').set({ probed_at: 'x' }).execute()).catch(
      ({ code }) => code,
    );
  t.equal(await interrupted('cancel', write()), 'NOT_REPLICATED');
  t.equal(await interrupted('terminate', write()), 'CONNECTION_LOST', 'it may be stored');
  t.equal(await interrupted('cancel', deliver('lost')), 'NOT_STORED');
  const stored = () => db.selectFrom('inbox').select('event_id').orderBy('seq').execute();
  t.match(await stored(), [{ event_id: 'first' }, { event_id: 'lost' }], 'the primary has it');
  t.equal(await interrupted('cancel', deliver('lost')), 'NOT_STORED', 'a duplicate waits as well');

  const alone = open(t, `${url}?options=-c%20synchronous_commit%3Dlocal`);
  const { etag } = await finalized(alone, 'run', body(1));
  const repetitions = {
    run: () => beginRun(db, 'run', runOf(body(1)), acting(LATELY)),
    finalize: () => finalize(db, 'run', { ifMatch: etag }),
  };
  for (const [name, repeat] of Object.entries(repetitions)) {
    const result = repeat().then(
      ({ outcome }) => outcome,
      ({ code }) => code,
    );
    t.equal(await interrupted('cancel', result), 'NOT_REPLICATED', name);
  }

  await standby.start(server);
  t.equal(await deliver('lost'), 'acknowledged');
  await server.crash();
  await execute(standby.url('postgres'), 'select pg_promote()');
  const promoted = open(t, standby.url(nameOf(url)));
  t.match(await promoted.selectFrom('inbox').select('event_id').orderBy('seq').execute(), [
    { event_id: 'first' },
    { event_id: 'lost' },
  ]);
  await server.start();
});

t.test('a running sidecar reports what a failover lost', async (t) => {
  const url = await newDatabaseUrl(t);
  const wire = await startWire(t, url);
  const stage = await setStage(t, { start: false, isSubscribed: false });
  stage.variables.DATABASE_URL = wire.url;
  await stage.start();
  const send = (id: string) => stage.send(eventOf(id, 1)).then(({ status }) => status);
  t.equal(await send('kept'), 204);
  await stage.settled();
  const standby = await stoppedCopy(t);
  await server.start();
  await eventually('it is stored on the primary only', () => send('lost'), 204);
  await server.crash();
  await standby.start();
  wire.leadTo(standby.url(nameOf(url)));

  const check = async () => {
    const { checks } = await stage.api.get('/v1/readiness');
    return checks.find(({ id }: { id: string }) => id === 'data-loss');
  };
  const failed = await eventually('it is reported', check, { result: 'fail' });
  t.match(failed.findings, [
    { text: /^replay the events from .* lacks up to \d+ events?, the newest received at/ },
  ]);
  const metrics = await scrape(stage.sidecar.api, stage.keys);
  t.equal(metrics.of('data_loss'), 1);
  t.match(stage.sidecar.logged('error').at(-1), { msg: /^the database server lacks what it had/ });
  await stage.sidecar.end('SIGTERM');
  await server.start();
});

/** The switchover ends the standby's connections in the time of a connection attempt, and the loops try each second. */
const BACK_WITHIN_MS = 30_000;

t.test('a sidecar leaves a demoted server and follows its address to the new primary', async (t) => {
  const url = await newDatabaseUrl(t);
  const wire = await startWire(t, url);
  const stage = await setStage(t, { start: false, isSubscribed: false });
  stage.variables.DATABASE_URL = `${wire.url}?application_name=moving`;
  await stage.start();
  let index = 0;
  const status = async () => {
    index += 1;
    return (await stage.send(eventOf('moving', index))).status;
  };
  const sessions = (on: PostgresServer) =>
    rowsOf(on.url('postgres'), "select pid from pg_stat_activity where application_name = 'moving'");
  t.equal(await status(), 204);

  const primary = await stoppedCopy(t);
  await primary.start();
  await server.start(primary);
  const refused = () => stage.sidecar.logged('error').filter(({ code }) => code === 'READ_ONLY').length;
  await eventually('it meets the standby', async () => [await status(), refused() > 0].join(), '503,true');
  t.equal(await readyz(stage), 503);
  wire.leadTo(primary.url(nameOf(url)));
  await eventually('deliveries are stored', status, 204, stretched(BACK_WITHIN_MS));
  for (let count = 0; count < 20; count += 1) t.equal(await status(), 204);
  await eventually('it is ready', () => readyz(stage), 200);
  const put = { schedules: [] };
  t.not((await stage.api.call('PUT', '/v1/employers/er-1/pay-schedule', { json: put })).status, 503);
  t.equal((await sessions(server)).length, 0, 'no connection is left on the demoted server');

  await t.test('on both threads no connection is left to a server that becomes read-only', async (t) => {
    t.ok((await sessions(primary)).length > 1);
    const reload = async (change: string) => {
      await execute(primary.url('postgres'), `alter system ${change}`);
      await execute(primary.url('postgres'), 'select pg_reload_conf()');
    };
    await reload('set default_transaction_read_only = on');
    await eventually('deliveries are refused', status, 503);
    await eventually('no connection is left', async () => (await sessions(primary)).length, 0);
    await reload('reset default_transaction_read_only');
    await eventually('deliveries are stored', status, 204);
  });
  await stage.sidecar.end('SIGTERM');
});
