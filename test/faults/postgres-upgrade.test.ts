/** A newer release migrates a database that an older one uses: both go on, and no delivery is refused. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { knownMigrations } from '../../src/database/migrate.ts';
import { transact } from '../../src/database/transaction.ts';
import { open } from '../database/scratch.ts';
import { finalizeAsItIs } from '../support/api.ts';
import { liftTimeLimits, lockWaits, tablesOf, useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { breaches } from '../support/oracle.ts';
import { bodyOn, hireMany, schedule, setSchedules } from '../support/payroll.ts';
import { start } from '../support/sidecar.ts';
import { type Instance, type Stage, setStage } from '../support/stage.ts';
import { deadlocks, nothingPending } from '../support/three.ts';

await useOwnPostgres();
t.setTimeout(600_000);

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
/** Each sidecar acknowledges so many before, and again after, the migration. */
const ACKNOWLEDGED = 100;

/** Returns the executable of the next release, whose migration adds to every table. */
function nextRelease(t: Test, tables: readonly string[]): string {
  const folder = join(t.testdirName, 'next');
  for (const part of ['src', 'db', 'assets', 'package.json'])
    cpSync(join(PROJECT, part), join(folder, part), { recursive: true });
  const number = String(knownMigrations().length + 1).padStart(4, '0');
  const columns = tables.map((name) => `ALTER TABLE ${name} ADD COLUMN of_the_next_release TEXT;\n`);
  const rest =
    'CREATE TABLE next (\n  one INTEGER\n);\nCREATE INDEX next_of_inbox ON inbox (of_the_next_release);\n';
  writeFileSync(join(folder, 'db', `${number}_next.sql`), `${columns.join('')}${rest}`);
  return join(folder, 'src/main.ts');
}

async function paid({ api, sidecar }: Instance, { keys }: Stage, payDate: string): Promise<unknown> {
  await api.call('PUT', `/v1/payroll-runs/${payDate}`, bodyOn(payDate));
  const { status } = await finalizeAsItIs(sidecar.api, keys, payDate);
  return { status, verified: await api.get(`/v1/payroll-runs/${payDate}/verify`) };
}

t.test('an older sidecar goes on while a newer one migrates its database under load', async (t) => {
  const stage = await setStage(t);
  const db = open(t, stage.databaseUrl);
  await hireMany(db, 3);
  await setSchedules(db, [schedule()]);
  const isPaid = { status: 200, verified: { identical: true } };
  t.match(await paid(stage, stage, '2026-05-08'), isPaid);
  const tables = (await tablesOf(db)).filter((name) => name !== 'migrations');
  const main = nextRelease(t, tables);
  const newer = await stage.another();

  const old = stage.load('old');
  await old.reached(ACKNOWLEDGED);
  const released = Promise.withResolvers<void>();
  const reading = transact(db, async (trx) => {
    await liftTimeLimits(trx);
    await trx.selectFrom('inbox').select('seq').limit(1).execute();
    await released.promise;
  });
  const started = newer.start({ main });
  await eventually('the migration waits for a reader', () => lockWaits(db, 'lock table'), 1);
  await old.reached(old.acknowledged.size + ACKNOWLEDGED);
  released.resolve();
  await reading;
  await started;
  const migrated = newer.sidecar.logged().filter(({ msg }) => msg === 'migrated the database');
  t.match(migrated, [{ count: 1 }]);
  const both = [old, newer.load('new')];
  await Promise.all(both.map((load) => load.reached(load.acknowledged.size + ACKNOWLEDGED)));
  t.match(await paid(stage, stage, '2026-05-22'), isPaid, 'by the older release');
  t.match(await paid(newer, stage, '2026-06-05'), isPaid, 'by the newer one');
  await Promise.all(both.map((load) => load.stop()));

  for (const load of both) t.strictSame([...load.refusals], [], 'no delivery was refused');
  const acknowledged = both.flatMap((load) => [...load.acknowledged.values()]);
  await nothingPending(db);
  t.strictSame(await breaches({ databaseUrl: stage.databaseUrl, acknowledged }), []);
  for (const { sidecar } of [stage, newer]) t.strictSame(sidecar.logged('error', 'fatal'), []);
  t.equal(await deadlocks(db), 0);

  await stage.sidecar.end('SIGTERM');
  const older = start(t, stage.variables);
  t.equal(await older.ended, 1);
  t.match(
    older.output(),
    /^benefits-sidecar: .*_next, which this release does not know: start the newer release.*\n$/,
  );
});
