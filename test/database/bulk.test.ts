import { insertMany, isOneOf, updateMany } from '../../src/database/bulk.ts';
import { transact } from '../../src/database/transaction.ts';
import { onEachEngine } from '../support/engine.ts';
import { scratch } from './scratch.ts';

const COLUMNS = ['event_id', 'source', 'received_at', 'body', 'state'] as const;
const MOST_ROWS = 200;

function event(id: number, body = `{"n":${id}}`): unknown[] {
  return [`event-${id}`, 'webhook', '2026-01-31T09:30:00.000Z', Buffer.from(body), 'pending'];
}

onEachEngine('any number of rows is inserted, each once and in order', async (t) => {
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

onEachEngine('rows skipped by a suffix are not counted, and the first one is kept', async (t) => {
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

onEachEngine('rows updated by a suffix are counted', async (t) => {
  const { db } = await scratch(t);
  const columns = ['minute', 'cause', 'refused_count'] as const;
  const suffix =
    'on conflict (minute, cause) do update set refused_count = refused_signatures.refused_count + excluded.refused_count';
  const refuse = (...causes: string[]) => {
    const rows = causes.map((cause) => ['2026-01-31T09:30', cause, 2]);
    return transact(db, (trx) => insertMany(trx, 'refused_signatures', columns, rows, suffix));
  };
  t.equal(await refuse('expired'), 1);
  t.equal(await refuse('unsigned', 'expired'), 2);
  const counts = await db
    .selectFrom('refused_signatures')
    .select(['cause', 'refused_count'])
    .orderBy('cause')
    .execute();
  t.strictSame(counts, [
    { cause: 'expired', refused_count: 4 },
    { cause: 'unsigned', refused_count: 2 },
  ]);
});

onEachEngine('a list of any length matches its rows, by text and by number', async (t) => {
  const { db } = await scratch(t);
  const events = Array.from({ length: MOST_ROWS }, (_, id) => event(id));
  // Kept as sent, whatever the characters: the list is passed as text.
  const odd = ['', "'", '"', '\\', '\\u0041', 'ä€😀', '[1]', 'null', '1'];
  events.push(...odd.map((id) => [id, ...event(0).slice(1)]));
  await transact(db, (trx) => insertMany(trx, 'inbox', COLUMNS, events));
  const all = await db.selectFrom('inbox').select(['seq', 'event_id']).orderBy('seq').execute();
  const found = (column: 'seq' | 'event_id', values: readonly (string | number)[]) =>
    db
      .selectFrom('inbox')
      .select(['seq', 'event_id'])
      .where(isOneOf(db, column, values))
      .orderBy('seq')
      .execute();
  for (const length of [0, 1, 2, 63, 64, 65, all.length]) {
    const some = all.slice(all.length - length);
    const ids = some.map(({ event_id }) => event_id);
    t.strictSame(await found('event_id', [...ids, 'unknown']), some, `${length} texts`);
    const seqs = some.map(({ seq }) => seq);
    t.strictSame(await found('seq', [...seqs, ...seqs, -1]), some, `${length} numbers, each twice`);
  }
});

onEachEngine('rows are updated by key if the guard holds, and counted', async (t) => {
  const { db } = await scratch(t);
  const finish = (seqs: readonly number[]) => {
    const rows = seqs.map((seq) => ['ignored', `reason ${seq}`, '2026-01-31T09:31:00.000Z', seq]);
    return transact(db, (trx) =>
      updateMany(trx, 'inbox', ['state', 'reason', 'finished_at'], 'seq', rows, "inbox.state = 'pending'"),
    );
  };
  await transact(db, (trx) =>
    insertMany(
      trx,
      'inbox',
      COLUMNS,
      Array.from({ length: 100 }, (_, id) => event(id)),
    ),
  );
  const seqs = (await db.selectFrom('inbox').select('seq').orderBy('seq').execute()).map(({ seq }) => seq);
  t.equal(await finish([]), 0);
  t.equal(await finish(seqs.slice(0, 70)), 70);
  t.equal(await finish(seqs.slice(60, 90)), 20, 'finished rows are not changed');
  const states = await db.selectFrom('inbox').select(['seq', 'state', 'reason']).orderBy('seq').execute();
  t.strictSame(
    states.map(({ seq, state, reason }) => [seq, state, reason]),
    seqs.map((seq, index) => (index < 90 ? [seq, 'ignored', `reason ${seq}`] : [seq, 'pending', null])),
  );
});
