import t from 'tap';
import { insertMany } from '../../src/database/bulk.ts';
import { transact } from '../../src/database/transaction.ts';
import { notUnique } from '../support/engine.ts';
import { scratch } from './scratch.ts';

const COLUMNS = ['event_id', 'source', 'received_at', 'body', 'state'] as const;
const MOST_ROWS = 200;

function event(id: number, body = `{"n":${id}}`): unknown[] {
  return [`event-${id}`, 'webhook', '2026-01-31T09:30:00.000Z', Buffer.from(body), 'pending'];
}

t.test('any number of rows is inserted, each once and in order', async (t) => {
  const { db } = await scratch(t);
  await transact(db, async (trx) => {
    for (let rows = 0; rows <= MOST_ROWS; rows += 1) {
      const events = Array.from({ length: rows }, (_, id) => event(id));
      const inserted = await insertMany(trx, 'inbox', COLUMNS, events);
      const stored = await trx.selectFrom('inbox').select(['event_id', 'body']).orderBy('seq').execute();
      await trx.deleteFrom('inbox').execute();
      const expected = events.map(([event_id, , , body]) => ({ event_id, body }));
      if (!t.strictSame({ inserted, stored }, { inserted: rows, stored: expected }, `${rows} rows`)) return;
    }
  });
});

t.test('a conflict in the middle takes the whole transaction back', async (t) => {
  const { db } = await scratch(t);
  const events = Array.from({ length: 100 }, (_, id) => event(id === 90 ? 10 : id));
  const inserting = transact(db, (trx) => insertMany(trx, 'inbox', COLUMNS, events));
  await t.rejects(inserting, notUnique());
  t.strictSame(await db.selectFrom('inbox').selectAll().execute(), []);
});

t.test('rows that a suffix skips are not counted, and the first of two alike stands', async (t) => {
  const { db } = await scratch(t);
  const events = Array.from({ length: 100 }, (_, id) => event(id % 70, `{"n":${id}}`));
  const inserted = await transact(db, (trx) =>
    insertMany(trx, 'inbox', COLUMNS, events, 'on conflict (event_id) do nothing'),
  );
  t.equal(inserted, 70);
  const rows = await db.selectFrom('inbox').select('body').orderBy('seq').execute();
  t.strictSame(
    rows.map((row) => row.body),
    Array.from({ length: 70 }, (_, id) => Buffer.from(`{"n":${id}}`)),
  );
});

t.test('rows that a suffix updates are counted', async (t) => {
  const { db } = await scratch(t);
  const columns = ['minute', 'cause', 'refused'] as const;
  const suffix =
    'on conflict (minute, cause) do update set refused = refused_signatures.refused + excluded.refused';
  const refuse = (...causes: string[]) => {
    const rows = causes.map((cause) => ['2026-01-31T09:30', cause, 2]);
    return transact(db, (trx) => insertMany(trx, 'refused_signatures', columns, rows, suffix));
  };
  t.equal(await refuse('expired'), 1);
  t.equal(await refuse('unsigned', 'expired'), 2);
  const counts = await db
    .selectFrom('refused_signatures')
    .select(['cause', 'refused'])
    .orderBy('cause')
    .execute();
  t.strictSame(counts, [
    { cause: 'expired', refused: 4 },
    { cause: 'unsigned', refused: 2 },
  ]);
});
