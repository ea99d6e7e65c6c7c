import { join } from 'node:path';
import { CompiledQuery, Kysely } from 'kysely';
import t, { type Test } from 'tap';
import { openSqlite } from '../../src/database/sqlite.ts';
import type { Db, Tables } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';

/** The maximum number of prepared statements, as in src/database/sqlite.ts. */
const KEPT = 300;

/** A database whose writing handle records which texts it prepares. */
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

t.test('a repeated statement is prepared once', async (t) => {
  const { db, prepared } = watched(t);
  await run(db, [text(1), text(2), text(1)]);
  await run(db, [text(2)]);
  t.strictSame(prepared, ['begin immediate', text(1), text(2), 'commit']);
});

t.test('a bounded number of statements is kept, the most recently used ones', async (t) => {
  const { db, prepared } = watched(t);
  const newest = text(KEPT - 1);
  // With `begin` and `commit` they are two too many, and the next `begin` takes one more slot.
  await run(
    db,
    Array.from({ length: KEPT }, (_, number) => text(number)),
  );
  prepared.length = 0;
  await run(db, [text(2), newest, text(0), text(2), text(3)]);
  t.strictSame(prepared, ['begin immediate', text(0), text(3)], 'the least recently used were dropped');
});
