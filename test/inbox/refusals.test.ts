import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { readEventAge } from '../../src/inbox/arrivals.ts';
import { createRefusals, refusedSince } from '../../src/inbox/refusals.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { scratch } from '../database/scratch.ts';
import { setClock } from '../outbox/parts.ts';
import { at } from '../support/clocks.ts';
import { diskFull, onEitherEngine } from '../support/engine.ts';
import { countedCommits } from './commits.ts';

const test = onEitherEngine.with(countedCommits);

const START = new Date('2026-03-01T12:00:30.000Z');
const MINUTE_MS = 60_000;
const LONG_AGO = new Date(0);

test('rejected deliveries are counted by minute and cause', async (t, { db }) => {
  const clock = setClock(START);
  const refusals = createRefusals(async () => clock(), silentLog);
  refusals.count('signature');
  refusals.count('signature');
  refusals.count('headers');
  await refusals.flush(db);
  refusals.count('signature');
  await refusals.flush(db);
  clock.advance(MINUTE_MS);
  refusals.count('signature');
  await refusals.flush(db);
  const counts = db.selectFrom('refused_signatures').selectAll().orderBy('minute').orderBy('cause');
  t.strictSame(await counts.execute(), [
    { minute: '2026-03-01T12:00Z', cause: 'headers', refused_count: 1 },
    { minute: '2026-03-01T12:00Z', cause: 'signature', refused_count: 3 },
    { minute: '2026-03-01T12:01Z', cause: 'signature', refused_count: 1 },
  ]);
  t.strictSame(await refusedSince(db, START), [
    { cause: 'headers', refused: 1 },
    { cause: 'signature', refused: 4 },
  ]);
  t.strictSame(await refusedSince(db, clock()), [{ cause: 'signature', refused: 1 }]);
});

test('without rejections nothing is written', async (t, commits) => {
  await createRefusals(at(START), silentLog).flush(commits.db);
  t.equal(commits.count, 0);
});

test('counts that cannot be saved are kept and saved once', async (t, commits) => {
  const refusals = createRefusals(at(START), silentLog);
  refusals.count('timestamp');
  commits.failure = diskFull(t).code;
  await refusals.flush(commits.db);
  refusals.count('timestamp');
  commits.failure = null;
  await refusals.flush(commits.db);
  await refusals.flush(commits.db);
  t.strictSame(await refusedSince(commits.db, LONG_AGO), [{ cause: 'timestamp', refused: 2 }]);
});

test('the last counts are saved when the loop ends', async (t, { db }) => {
  const refusals = createRefusals(at(START), silentLog);
  const aborting = new AbortController();
  const running = refusals.run(db, aborting.signal);
  refusals.count('signature');
  aborting.abort();
  await running;
  t.strictSame(await refusedSince(db, LONG_AGO), [{ cause: 'signature', refused: 1 }]);
});

test('refusals are logged at most once a second, with their causes', async (t) => {
  const timers = t.capture(globalThis, 'setTimeout', ((run: () => void) => {
    passSecond = run;
    return { unref: () => {} };
  }) as never);
  let passSecond = () => {};
  const lines: unknown[] = [];
  const refusals = createRefusals(at(START), { ...silentLog, warn: (fields) => void lines.push(fields) });
  for (const cause of ['signature', 'path', 'path', 'compressed'] as const) refusals.count(cause);
  t.strictSame(lines, [{ count: 1, cause: '1 signature' }]);
  passSecond();
  t.strictSame(lines.slice(1), [{ count: 3, cause: '2 path, 1 compressed' }]);
  passSecond();
  t.equal(lines.length, 2);
  t.equal(timers().length, 2);
});

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
