import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { readEventAge } from '../../src/inbox/arrivals.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine } from '../support/engine.ts';

async function insert(db: Db, source: 'webhook' | 'import', receivedAt: string, count = 1) {
  const rows = Array.from({ length: count }, (_, index) => ({
    event_id: `${source}-${receivedAt}-${index}`,
    source,
    received_at: receivedAt,
    body: Buffer.from('{}'),
    state: 'ignored' as const,
    finished_at: receivedAt,
  }));
  await transact(db, (trx) => trx.insertInto('inbox').values(rows).execute());
}

onEitherEngine('before the first event its age counts from the creation of the database', async (t) => {
  const { db } = await scratch(t);
  t.strictSame(await readEventAge(db), { since: '2026-01-31T09:30:00.000Z', hasEvents: false });
  await insert(db, 'webhook', '2026-02-01T10:00:00.000Z');
  t.strictSame(await readEventAge(db), { since: '2026-02-01T10:00:00.000Z', hasEvents: true });
});

onEitherEngine('imported events do not change the age of the last event', async (t) => {
  const { db } = await scratch(t);
  await insert(db, 'import', '2026-02-01T09:00:00.000Z', 300);
  t.match(await readEventAge(db), { hasEvents: false });
  await insert(db, 'webhook', '2026-02-01T10:00:00.000Z');
  for (const hour of [11, 12]) await insert(db, 'import', `2026-02-01T${hour}:00:00.000Z`, 300);
  t.strictSame(await readEventAge(db), { since: '2026-02-01T10:00:00.000Z', hasEvents: true });
});
