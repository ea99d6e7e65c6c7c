import { join } from 'node:path';
import { CompiledQuery, Kysely } from 'kysely';
import t, { type Test } from 'tap';
import { openSqlite } from '../../src/database/sqlite.ts';
import type { Db, Tables } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';

/** How many statements stay prepared; the number is src/database/sqlite.ts's own. */
const KEPT = 300;

/** A database whose writing handle tells which texts it prepares. */
function watched(t: Test): { db: Db; prepared: string[] } {
  const { dialect, writer } = openSqlite(join(t.testdir(), 'sidecar.db'));
  const prepared: string[] = [];
  const prepare = writer.prepare.bind(writer);
  writer.prepare = ((text: string) => {
    prepared.push(text);
    return prepare(text);
  }) as typeof writer.prepare;
  const db = new Kysely<Tables>({ dialect });
  t.teardown(() => db.destroy());
  return { db, prepared };
}

function run(db: Db, texts: readonly string[]): Promise<void> {
  return transact(db, async (trx) => {
    for (const text of texts) await trx.executeQuery(CompiledQuery.raw(text));
  });
}

const text = (number: number) => `select ${number} as answer`;

t.test('a statement that is used again is not prepared again', async (t) => {
  const { db, prepared } = watched(t);
  await run(db, [text(1), text(2), text(1)]);
  await run(db, [text(2)]);
  t.strictSame(prepared, ['begin immediate', text(1), text(2), 'commit']);
});

t.test('a bounded number of statements is kept, those used last', async (t) => {
  const { db, prepared } = watched(t);
  const newest = text(KEPT - 1);
  // `begin` before them and `commit` after them make it two too many; the next `begin` takes one more place.
  await run(
    db,
    Array.from({ length: KEPT }, (_, number) => text(number)),
  );
  prepared.length = 0;
  await run(db, [text(2), newest, text(0), text(2), text(3)]);
  t.strictSame(prepared, ['begin immediate', text(0), text(3)], 'those used longest ago had to go');
});

t.test('nothing writes the text of the schema, but a migration that says so', async (t) => {
  const { db } = watched(t);
  await run(db, ["create table gate (state text check (state in ('open', 'closed', 'ajar')))"]);
  const respell = "update sqlite_schema set sql = replace(sql, ', ''ajar''', '')";
  const refused = { message: /sqlite_master may not be modified/ };
  const add = (state: string) => run(db, [`insert into gate values ('${state}')`]);
  await t.rejects(run(db, [respell]), refused);

  await t.rejects(run(db, ['PRAGMA writable_schema = ON', respell, 'not a statement']), {
    message: /syntax/,
  });
  await t.rejects(run(db, [respell]), refused, 'not after one that failed');
  await run(db, ['create unique index gate_states on gate (state)', "insert into gate values ('open')"]);
  await t.rejects(
    run(db, ['PRAGMA writable_schema = ON', respell, "insert or rollback into gate values ('open')"]),
    {
      code: 'SQLITE_CONSTRAINT_UNIQUE',
    },
  );
  await t.rejects(run(db, [respell]), refused, 'nor after one whose transaction SQLite ended by itself');
  await t.resolves(add('ajar'), 'which changed nothing');

  await run(db, ["delete from gate where state = 'ajar'"]);
  await run(db, ['PRAGMA writable_schema = ON', respell, 'PRAGMA writable_schema = RESET']);
  await t.rejects(run(db, [respell]), refused, 'not after one that did it');
  await t.rejects(add('ajar'), { code: 'SQLITE_CONSTRAINT_CHECK' }, 'whose text is heeded at once');
  await t.resolves(add('closed'));
});

t.test('statements answer rows, and how many rows they changed', async (t) => {
  const { db } = watched(t);
  await run(db, ['create table ledger_head (one integer, position integer)']);
  const inserted = await transact(db, async (trx) => {
    await trx.insertInto('ledger_head').values({ one: 1, position: 1 }).execute();
    return trx.updateTable('ledger_head').set({ position: 2 }).executeTakeFirstOrThrow();
  });
  t.equal(inserted.numUpdatedRows, 1n);
  t.strictSame(await db.selectFrom('ledger_head').selectAll().execute(), [{ one: 1, position: 2 }]);
});
