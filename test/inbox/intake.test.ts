import BetterSqlite3 from 'better-sqlite3';
import type { Test } from 'tap';
import { databaseNow } from '../../src/database/engine.ts';
import { sqlitePath } from '../../src/database/open.ts';
import { receivedNow, type StoredBatch } from '../../src/inbox/inbox.ts';
import { createIntake, type Intake } from '../../src/inbox/intake.ts';
import { type Log, silentLog } from '../../src/telemetry/log.ts';
import { scratch } from '../database/scratch.ts';
import { diskFull, onEachEngine, onPostgres, onSqlite } from '../support/engine.ts';
import { type Commits, countedCommits } from './commits.ts';
import { deliver, startReceiver } from './deliver.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');

type Taking = Intake & { commits: Commits; stored: StoredBatch[]; fatal: unknown[] };

async function startIntake(t: Test, log: Log = silentLog): Promise<Taking> {
  const commits = await countedCommits(t);
  const stored: StoredBatch[] = [];
  const fatal: unknown[] = [];
  const intake = createIntake({
    db: commits.db,
    receivedAt: () => NOW.toISOString(),
    log,
    onStored: (one) => stored.push(one),
    onFatal: (error) => fatal.push(error),
  });
  return { ...intake, commits, stored, fatal };
}

const test = onEachEngine.with(startIntake);

function arrival(eventId: string, body = eventId) {
  return { eventId, body: Buffer.from(body) };
}

async function inbox({ commits }: Taking): Promise<string[]> {
  const rows = await commits.db.selectFrom('inbox').selectAll().orderBy('seq').execute();
  for (const { state, source, received_at } of rows) {
    if (state !== 'pending' || source !== 'webhook' || received_at !== NOW.toISOString())
      throw new Error('odd row');
  }
  return rows.map(({ event_id, body }) => (String(body) === event_id ? event_id : `${event_id} ${body}`));
}

async function conflicts({ commits }: Taking): Promise<string[]> {
  const rows = await commits.db.selectFrom('event_conflicts').selectAll().orderBy('conflict_id').execute();
  return rows.map(({ event_id, body }) => `${event_id} ${body}`);
}

const numbered = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `msg_${from + index}`);

/** The newest event of a commit, by which a loss is detected. */
const newestOf = (seq: number) => ({ seq, received_at: NOW.toISOString() });

test('deliveries of one event loop turn share a commit, in order of arrival', async (t, taking) => {
  const ids = numbered(100).reverse();
  await Promise.all(ids.map((id) => taking.accept(arrival(id))));
  t.strictSame(await inbox(taking), ids);
  t.equal(taking.commits.count, 1);
  t.strictSame(taking.stored, [{ accepted: 100, duplicates: 0, conflicts: 0, newest: newestOf(100) }]);
});

test('deliveries beyond the limit of a commit, and later ones, form the next commits', async (t, taking) => {
  const ids = numbered(600);
  const accepting = ids.slice(0, 500).map((id) => taking.accept(arrival(id)));
  await accepting[0];
  t.equal(taking.stored.length, 1, 'the first batch is acknowledged without the last');
  accepting.push(...ids.slice(500).map((id) => taking.accept(arrival(id))));
  await Promise.all(accepting);
  t.strictSame((await inbox(taking)).sort(), [...ids].sort());
  const sizes = taking.stored.map(({ accepted }) => accepted);
  t.equal(sizes[0], 256);
  t.equal(sizes.length, 3, `in as few as possible: ${sizes}`);
});

test('an event delivered again is stored once, one by one or 200 at once over HTTP', async (t, taking) => {
  const { port } = await startReceiver(t, { accept: taking.accept });
  for (let attempt = 0; attempt < 3; attempt += 1)
    t.equal((await deliver(port, 'msg_slow', 'msg_slow')).status, 204);
  const answers = await Promise.all(numbered(200).map(() => deliver(port, 'msg_fast', 'msg_fast')));
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([204]));
  t.strictSame(await inbox(taking), ['msg_slow', 'msg_fast']);
  t.strictSame(await conflicts(taking), []);
  const duplicates = taking.stored.reduce((sum, stored) => sum + stored.duplicates, 0);
  t.equal(duplicates, 2 + 199);
});

test('a duplicate among new events loses none of them', async (t, taking) => {
  await taking.accept(arrival('msg_1'));
  const ids = ['msg_0', 'msg_1', 'msg_2', 'msg_0', 'msg_3'];
  await Promise.all(ids.map((id) => taking.accept(arrival(id))));
  t.strictSame(await inbox(taking), ['msg_1', 'msg_0', 'msg_2', 'msg_3']);
  t.match(taking.stored[1], { accepted: 3, duplicates: 2, conflicts: 0, newest: { seq: Number } });
});

test('a known id with another body is acknowledged and kept as one conflict', async (t, taking) => {
  await Promise.all([
    taking.accept(arrival('msg_1', 'first')),
    taking.accept(arrival('msg_1', 'second')),
    taking.accept(arrival('msg_1', 'second')),
    taking.accept(arrival('msg_1', 'first')),
  ]);
  t.strictSame(await conflicts(taking), ['msg_1 second'], 'in one batch');
  for (const body of ['second', 'third', 'first', 'third', '']) await taking.accept(arrival('msg_1', body));
  t.strictSame(await inbox(taking), ['msg_1 first'], 'the first body counts');
  t.strictSame(await conflicts(taking), ['msg_1 second', 'msg_1 third', 'msg_1 '], 'across batches');
});

test('when a commit fails, its whole batch is rejected and nothing is stored', async (t, taking) => {
  taking.commits.failure = diskFull(t).code;
  const outcomes = await Promise.allSettled(numbered(300).map((id) => taking.accept(arrival(id))));
  for (const outcome of outcomes) {
    if (outcome.status !== 'rejected' || outcome.reason.code !== 'NOT_STORED')
      t.fail('an event was acknowledged');
  }
  t.equal(outcomes.length, 300);
  t.strictSame(await inbox(taking), []);
  t.strictSame(taking.stored, []);
  t.strictSame(taking.fatal, [], 'a full disk is not fatal');

  taking.commits.failure = null;
  await Promise.all(numbered(3).map((id) => taking.accept(arrival(id))));
  t.strictSame(await inbox(taking), numbered(3), 'after recovery the same events are accepted');
});

onSqlite('a storage failure that a retry cannot fix is reported to the process, once', async (t) => {
  const taking = await startIntake(t);
  taking.commits.failure = 'SQLITE_IOERR_FSYNC';
  await t.rejects(taking.accept(arrival('msg_1')), { code: 'NOT_STORED' });
  t.match(taking.fatal, [{ code: 'SQLITE_IOERR_FSYNC' }]);
  t.equal(taking.fatal.length, 1);
});

onSqlite('while the write lock is held, bounded bytes wait, and each delivery gets a response', async (t) => {
  const taking = await startIntake(t);
  const { port } = await startReceiver(t, { accept: taking.accept });
  const other = new BetterSqlite3(sqlitePath(taking.commits.url));
  t.teardown(() => other.close());
  other.exec('begin immediate');

  // 64 MiB in two batches. The second one must not wait again.
  const body = Buffer.alloc(128 * 1024);
  const began = performance.now();
  const endedAfterMs: number[] = [];
  const ended = () => endedAfterMs.push(performance.now() - began);
  const waiting = numbered(512).map((eventId) => taking.accept({ eventId, body }).finally(ended));
  const outcomes = Promise.allSettled(waiting);
  const accepting = taking.accept(arrival('msg_one_more', 'x'));
  await t.rejects(accepting, { code: 'NOT_STORED' }, 'rejected immediately');
  t.strictSame(endedAfterMs, [], 'without waiting for the lock');
  t.equal((await deliver(port, 'msg_http', 'x')).status, 503, 'over HTTP too');

  t.strictSame(new Set((await outcomes).map(({ status }) => status)), new Set(['rejected']));
  const [first = 0] = endedAfterMs;
  const last = endedAfterMs.at(-1) ?? 0;
  t.ok(first > 2_500, `the first waited 3 s for the lock: ${Math.round(first)} ms`);
  t.ok(last - first < 2_500, `all ended together: ${Math.round(last - first)} ms apart`);

  other.exec('rollback');
  const status = (await deliver(port, 'msg_http', 'msg_http')).status;
  t.equal(status, 204, 'the released bytes are available again');
  t.strictSame(await inbox(taking), ['msg_http']);
});

onPostgres("the time of receipt is the database's, whatever the receiver's clock shows", async (t) => {
  const { db } = await scratch(t);
  const onFatal = (error: unknown) => t.fail('nothing fatal happens', { error });
  const receivedAt = () => receivedNow('postgres', () => NOW);
  const intake = createIntake({ db, receivedAt, log: silentLog, onStored: () => {}, onFatal });
  const began = (await databaseNow(db, () => NOW)).toISOString();
  await intake.accept(arrival('a'));
  await intake.accept(arrival('a', 'another body'));
  const ended = (await databaseNow(db, () => NOW)).toISOString();
  for (const table of ['inbox', 'event_conflicts'] as const) {
    const { received_at } = await db.selectFrom(table).select('received_at').executeTakeFirstOrThrow();
    t.match(received_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    t.ok(began <= received_at && received_at <= ended, `${began} <= ${received_at} <= ${ended}`);
  }
});
