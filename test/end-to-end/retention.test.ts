/** Retention next to a receiving sidecar: the command, and duplicates of old ids afterward. */
import BetterSqlite3 from 'better-sqlite3';
import { openDatabase, sqlitePath } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { here, jsonOf } from '../cli/harness.ts';
import { engineOf, onEitherEngine } from '../support/engine.ts';
import { deliver, eventOf, startLoad } from '../support/load.ts';
import { setStage } from '../support/stage.ts';

const EVENTS = 300;

onEitherEngine('bodies are dropped while events arrive, and every event is acknowledged', async (t) => {
  const stage = await setStage(t, { variables: { RETENTION_EVENTS: '3650d' } });
  const { api, keys, sidecar, databaseUrl } = stage;
  const load = (series: string) =>
    startLoad({ port: sidecar.port, secret: keys.webhookSecret, series, events: EVENTS });
  const old = load('old');
  await old.ended;
  await stage.settled();
  const db = openDatabase(databaseUrl);
  t.teardown(() => db.destroy());
  await transact(db, (trx) =>
    trx.updateTable('inbox').set({ received_at: '2025-01-01T00:00:00.000Z' }).execute(),
  );

  const during = load('during');
  const env = { ...(stage.variables as Record<string, string>), RETENTION_EVENTS: '2d' };
  const ran = await here(t, env, ['retention', '--yes', '--json']);
  t.match(jsonOf(ran), { dropped: { events: EVENTS } });
  await during.ended;
  t.equal(during.acknowledged.size, EVENTS);
  await stage.settled();

  const first = eventOf('old', 1);
  t.match(await api.get(`/v1/events/${first.id}`), { state: 'applied', body: null });
  const again = (body: string) => deliver(sidecar.port, keys.webhookSecret, { ...first, body });
  t.equal((await again(first.body)).status, 204);
  t.match(
    await api.get(`/v1/events/${first.id}`),
    { conflicts: { stored: 0 } },
    'the same body is a duplicate',
  );
  t.equal((await again(eventOf('another', 1).body)).status, 204);
  t.match(
    await api.get(`/v1/events/${first.id}`),
    { conflicts: { stored: 1 } },
    'another body is a conflict',
  );
  t.equal(await sidecar.end('SIGTERM'), 0);
  if (engineOf(t) === 'postgres') return;
  const handle = new BetterSqlite3(sqlitePath(databaseUrl), { readonly: true });
  t.equal(
    handle.pragma('auto_vacuum', { simple: true }),
    2,
    'created with retention, so the file can shrink',
  );
  handle.close();
});
