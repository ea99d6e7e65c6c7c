/** A database of an earlier release, with rows in every table that it had, brought up to this one. */
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import t, { type Test } from 'tap';
import { checkSchema, migrate } from '../../src/database/migrate.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { call, NOW, type Request, start } from '../api/start.ts';
import { sealer } from '../outbox/parts.ts';
import { engineOfTests, newDatabaseUrl } from '../support/engine.ts';
import { type Earlier, fillEarlier, readEarlier, rowsOf, textOf } from './earlier.ts';
import { open } from './scratch.ts';

const RELEASED = new URL('../../db/', import.meta.url);
const EARLIER = '0007';
/** Columns that a later migration renamed. */
const RENAMED = new Map([['payroll_runs.force_reason', 'accept_reason']]);

function nameNow(table: string, column: string): string {
  return RENAMED.get(`${table}.${column}`) ?? column;
}

/** A database as that release left it. */
async function leftBehind(t: Test, earlier: Earlier): Promise<Db> {
  const url = await newDatabaseUrl(t);
  const folder = join(t.testdirName, 'db');
  const engine = engineOfTests();
  mkdirSync(join(folder, engine), { recursive: true });
  for (const [name] of earlier.migrations[engine]) {
    cpSync(new URL(`${engine}/${name}.sql`, RELEASED), join(folder, engine, `${name}.sql`));
  }
  const db = open(t, url);
  await migrate(db, 'sandbox', NOW, pathToFileURL(`${folder}/`));
  await fillEarlier(db, earlier);
  return db;
}

t.test('the migrations of an earlier release are still its very text', async (t) => {
  const { migrations } = readEarlier(EARLIER);
  const db = await leftBehind(t, readEarlier(EARLIER));
  const applied = await db.selectFrom('migrations').select(['name', 'hash']).orderBy('number').execute();
  t.strictSame(
    applied.map(({ name, hash }) => [name, hash]),
    migrations[engineOfTests()],
  );
});

t.test('an upgrade keeps every row of the release before, and what it said', async (t) => {
  const earlier = readEarlier(EARLIER);
  const db = await leftBehind(t, earlier);
  t.ok((await migrate(db, 'sandbox', NOW)).length > 0, 'there is something to migrate');
  await t.resolves(checkSchema(db, 'sandbox'));
  for (const [table, rows] of earlier.tables) {
    const columns = Object.keys(rows[0] ?? {});
    const now = columns.map((column) => nameNow(table, column));
    t.strictSame(await rowsOf(db, table, now), rows.map((row) => textOf(row, columns)).sort(), table);
  }
});

/** The closed sets of more than two words, of which an upgrade changes how they are checked. */
const CLOSED_SETS = [
  ['inbox', 'state'],
  ['versions', 'decided_by'],
  ['roster_facts', 'source'],
  ['outbox', 'kind'],
  ['outbox', 'state'],
  ['staged_censuses', 'state'],
  ['census_syncs', 'state'],
  ['payroll_runs', 'state'],
] as const;

t.test('an upgrade leaves every closed set closed', async (t) => {
  const earlier = readEarlier(EARLIER);
  const db = await leftBehind(t, earlier);
  await migrate(db, 'sandbox', NOW);
  for (const [table, column] of CLOSED_SETS) {
    const row = { ...earlier.tables.get(table)?.[0], [column]: 'another' };
    const columns = sql.join(Object.keys(row).map((name) => sql.ref(nameNow(table, name))));
    const values = sql.join(Object.values(row));
    const insert = sql`insert into ${sql.table(table)} (${columns}) values (${values})`;
    await t.rejects(
      transact(db, (trx) => insert.execute(trx)),
      engineOfTests() === 'sqlite'
        ? { code: 'SQLITE_CONSTRAINT_CHECK', message: new RegExp(`failed: ${column} = `) }
        : { code: '23514' },
      `${table}.${column}`,
    );
  }
});

/** Returns id, state and totals of each run, by pay date, newest first. */
function runsOf({ tables }: Earlier): unknown[] {
  return (tables.get('payroll_runs') ?? [])
    .toSorted((one, other) => String(other.pay_date).localeCompare(String(one.pay_date)))
    .map(({ run_id, state, totals }) => [run_id, state, JSON.parse(String(totals))]);
}

t.test('data of the release before opens, and work goes on where it ended', async (t) => {
  const earlier = readEarlier(EARLIER);
  const db = await leftBehind(t, earlier);
  await migrate(db, 'sandbox', NOW);
  const { app } = await start(t, { db, sealer });
  const ask = async (request: Request) => {
    const answer = await call(app, { token: earlier.token, ...request });
    t.equal(answer.status, 200, `${request.method ?? 'GET'} ${request.url}: ${answer.text.slice(0, 200)}`);
    return answer.json;
  };

  const { data: feed } = await ask({ url: '/v1/deduction-versions?after=0&limit=1000' });
  const versions = earlier.tables.get('versions')?.length;
  t.equal(feed.length, versions, 'a token of then reads the whole feed');
  const { employees } = await ask({ url: '/v1/employers/b/census' });
  t.match(employees[0], { first_name: 'Zoë' }, 'what was sealed opens');
  const { data: runs } = await ask({ url: '/v1/payroll-runs' });
  t.strictSame(
    runs.map((run: Record<string, unknown>) => [run.run_id, run.state, run.totals]),
    runsOf(earlier),
    'runs are listed with the totals that they were finalized with',
  );
  const verify = { url: '/v1/payroll-runs/2026-01-16/verify', token: earlier.token };
  t.match(await call(app, verify), { status: 409, json: { detail: /finalized by rules 1/ } });

  const again = deductionOf('evt-apple-1', { id: 'ded-apple', employee_id: 'apple' });
  const next = deductionOf('evt-new', { id: 'ded-apple', employee_id: 'apple' }, '2026-03-01T00:00:00Z');
  await deliver(db, [again, next]);
  const { data: added } = await ask({ url: `/v1/deduction-versions?after=${earlier.position}` });
  // The event that had come, and was not applied yet; and the new one. The known id is no second version.
  t.strictSame(
    added.map((version: { id: string; position: number }) => [version.id, version.position]),
    [
      ['ded-waits', earlier.position + 1],
      ['ded-apple', earlier.position + 2],
    ],
  );
});
