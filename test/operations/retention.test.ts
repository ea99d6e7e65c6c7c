/** Data that is kept for a period, and the parts that remain permanently. */
import { statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import { sql } from 'kysely';
import type { RetentionConfig } from '../../src/config.ts';
import { sqlitePath } from '../../src/database/open.ts';
import { holdRetention } from '../../src/database/retention.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { readBody } from '../../src/employment/bodies.ts';
import { checkChange } from '../../src/employment/change.ts';
import { isAppError } from '../../src/errors.ts';
import { dropBodies } from '../../src/inbox/drop-bodies.ts';
import { dismissEvent, reprocessEvent, reprocessEvents } from '../../src/inbox/events.ts';
import { sha256 } from '../../src/inbox/inbox.ts';
import { createRefusals, refusedSince } from '../../src/inbox/refusals.ts';
import { countDue, dropDue } from '../../src/operations/retention.ts';
import { cancelManually } from '../../src/outbox/manual.ts';
import { startPilot } from '../../src/outbox/pilot.ts';
import { verifyRun } from '../../src/payroll/lifecycle/verify.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { apply, type Delivery, deductionOf, deliver, eventOf, receive } from '../api/deliver.ts';
import { demographic } from '../contract/samples.ts';
import { open, scratch } from '../database/scratch.ts';
import { acceptChange, report, service } from '../employment/stage.ts';
import { type Commits, countedCommits } from '../inbox/commits.ts';
import { encryptor, setClock } from '../outbox/parts.ts';
import { ACTING, acting } from '../support/audit.ts';
import { beforeTransaction } from '../support/before-transaction.ts';
import { at } from '../support/clocks.ts';
import {
  engineOf,
  liftTimeLimits,
  onEachEngine,
  onEitherEngine,
  onPostgres,
  onSqlite,
  rawBytes,
} from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deduct, finalizedOn, readyEmployer } from '../support/payroll.ts';

const test = onEitherEngine.with(scratch);

const DAY_MS = 86_400_000;
/** Today, in these tests. */
const NOW = new Date('2026-12-31T12:00:00.000Z');
const RETENTION: RetentionConfig = { eventsMs: 100 * DAY_MS, requestsMs: 100 * DAY_MS };
const daysAgo = (days: number) => new Date(NOW.getTime() - days * DAY_MS);
const NONE = { count: 0, oldest: null };
const OLD = daysAgo(200).toISOString();
const NEW = daysAgo(50).toISOString();

const CLOCK = { sharedNow: at(NOW), clockWarning: async (): Promise<string | null> => null };
const drop = async ({ db, url }: Pick<Commits, 'db' | 'url'>, retention = RETENTION, clock = CLOCK) => {
  const parts = { db, databaseUrl: url, retention, actor: SYSTEM, ...clock };
  return dropDue(parts, await countDue(parts), new AbortController().signal);
};
const due = async (db: Db, retention = RETENTION) =>
  (await countDue({ db, retention, sharedNow: at(NOW) })).due;

/** The ids of the events with bodies, in order of receipt. */
async function withBody(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('inbox').select(['event_id', 'body']).orderBy('seq').execute();
  return rows.filter(({ body }) => body !== null).map(({ event_id }) => event_id);
}

const of = (name: string, data: object = {}) => deductionOf(name, { id: `ded-${name}`, ...data });

test('old event bodies are dropped; ids, hashes and effects remain', async (t, { db, url }) => {
  const first = of('old');
  await deliver(db, [first, eventOf('old-ignored', 'moon.landed', {})], OLD);
  await deliver(db, [of('new')], NEW);
  const versions = () => db.selectFrom('deduction_versions').selectAll().orderBy('position').execute();
  const before = await versions();
  t.match(await due(db), { events: { count: 2, oldest: OLD }, conflicts: { count: 0 } });
  t.ok(((await due(db)).events?.bytes ?? 0) > first.body.length);
  t.strictSame(await drop({ db, url }), { events: 2, conflicts: 0, requests: 0, pilot: 0, names: 0 });
  t.strictSame(await withBody(db), ['new']);
  const old = db.selectFrom('inbox').select('body_hash').where('event_id', '=', 'old');
  t.strictSame(await old.execute(), [{ body_hash: sha256(first.body) }]);
  t.strictSame(await versions(), before);
  t.match(await due(db), { events: { count: 0, bytes: 0, oldest: null } });
  t.strictSame(
    await drop({ db, url }),
    { events: 0, conflicts: 0, requests: 0, pilot: 0, names: 0 },
    'a second run',
  );
});

test('data without a retention period is kept', async (t, { db, url }) => {
  await deliver(db, [of('old')], OLD);
  const forEver = { eventsMs: null, requestsMs: null };
  t.strictSame(await due(db, forEver), {
    events: null,
    conflicts: null,
    requests: null,
    pilot: NONE,
    names: NONE,
  });
  t.strictSame(await drop({ db, url }, forEver), {
    events: 0,
    conflicts: 0,
    requests: 0,
    pilot: 0,
    names: 0,
  });
  t.strictSame(await withBody(db), ['old']);
});

test('an event without a body distinguishes a duplicate from a conflict', async (t, { db, url }) => {
  const first = of('e');
  await deliver(db, [first], OLD);
  await drop({ db, url });
  await deliver(db, [first, of('other')], NEW);
  const conflicts = () => db.selectFrom('event_conflicts').select(['event_id', 'body']).execute();
  t.strictSame(await conflicts(), [], 'the same body is a duplicate');
  const second = of('e', { member_contribution: '1' });
  await deliver(db, [second, first], NEW);
  t.strictSame(await conflicts(), [{ event_id: 'e', body: second.body }]);
  t.equal((await db.selectFrom('inbox').selectAll().execute()).length, 2);
});

test('an event that needs attention keeps its body until that is done', async (t, { db, url }) => {
  await deliver(db, [of('quarantined', { member_contribution: 1 }), of('conflict'), of('last')], OLD);
  await receive(db, [of('conflict', { member_contribution: '1' }), of('pending')], OLD);
  t.match(await drop({ db, url }), { events: 1 });
  t.strictSame(await withBody(db), ['quarantined', 'conflict', 'pending']);

  t.equal(await transact(db, (trx) => dismissEvent(trx, 'conflict', 'seen', acting(OLD))), true);
  t.match(await due(db), { events: { count: 1 }, conflicts: { count: 1, oldest: OLD } });
  t.match(await drop({ db, url }), { events: 1, conflicts: 1 });
  await apply(db, NEW);
  await transact(db, (trx) => dismissEvent(trx, 'quarantined', 'seen', acting(OLD)));
  t.match(await drop({ db, url }), { events: 1 });
  t.strictSame(await withBody(db), ['quarantined'], 'quarantined bodies stay, dismissed or not');
  const [conflict] = await db.selectFrom('event_conflicts').selectAll().execute();
  t.match(conflict, { body: null, body_hash: sha256(of('conflict', { member_contribution: '1' }).body) });
});

test('an event keeps its body if a conflict arrives while it is about to be dropped', async (t, { db }) => {
  await deliver(db, [of('conflict'), of('old')], OLD);
  const other = of('conflict', { member_contribution: '1' });
  const later = beforeTransaction(db, () => receive(db, [other], NEW));
  t.strictSame(await dropBodies(later, daysAgo(100).toISOString()), { dropped: 1, more: false });
  t.strictSame(await withBody(db), ['conflict']);
  await transact(db, (trx) => dismissEvent(trx, 'conflict', 'seen', acting(NEW)));
  t.match(await dropBodies(db, daysAgo(100).toISOString()), { dropped: 1 });
});

onPostgres('a conflict that arrives while bodies are dropped is stored afterward', async (t) => {
  const { db, url } = await scratch(t);
  await deliver(db, [of('conflict')], OLD);
  const [held, dropped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const dropping = transact(db, async (trx) => {
    await liftTimeLimits(trx);
    await holdRetention(trx);
    held.resolve();
    await dropped.promise;
  });
  await held.promise;
  const receiving = receive(open(t, url), [of('conflict', { member_contribution: '1' })], NEW);
  const waiting = sql<{ pid: number }>`
    select pid from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()`;
  await eventually('it waits', async () => (await waiting.execute(db)).rows.length > 0, true);
  dropped.resolve();
  await dropping;
  await receiving;
});

test('an event is reprocessed only with its body, and loses it afterward', async (t, { db, url }) => {
  await deliver(db, [of('a'), of('b', { member_contribution: 1 }), of('c')], OLD);
  await drop({ db, url });
  t.strictSame(await withBody(db), ['b']);
  const again = (id: string) => transact(db, (trx) => reprocessEvent(trx, id, ACTING));
  await t.rejects(again('a'), { code: 'CONFLICT' });
  await t.rejects(again('none'), { code: 'NOT_FOUND' });
  const step = { after: 0, limit: 2 };
  const first = await transact(db, (trx) => reprocessEvents(trx, {}, step, ACTING));
  t.match(first, { reprocessed: 1, withoutBody: 1 });
  const next = { after: first.next ?? 0, limit: 2 };
  const rest = await transact(db, (trx) => reprocessEvents(trx, {}, next, ACTING));
  t.strictSame(rest, { reprocessed: 0, withoutBody: 1, next: null });
  t.match(await drop({ db, url }), { events: 0 }, 'a pending event keeps its body');
  const ignored = { state: 'ignored', finished_at: NEW } as const;
  await transact(db, (trx) => trx.updateTable('inbox').set(ignored).where('event_id', '=', 'b').execute());
  t.match(await drop({ db, url }), { events: 1 }, 'although later events were checked before');
  t.strictSame(await withBody(db), []);
});

test('the schema keeps an event from losing a body that may be needed', async (t, { db }) => {
  await deliver(db, [of('applied'), of('quarantined', { member_contribution: 1 })], OLD);
  await receive(db, [of('pending'), of('applied', { member_contribution: '1' })], OLD);
  const lose = (id: string, body_hash: Buffer | null) => {
    const lost = { body: null, body_hash };
    return transact(db, (trx) => trx.updateTable('inbox').set(lost).where('event_id', '=', id).execute());
  };
  for (const id of ['pending', 'quarantined']) await t.rejects(lose(id, sha256(Buffer.from(id))), id);
  await t.rejects(lose('applied', null), 'a hash must replace the body');
  const emptying = transact(db, (trx) => trx.updateTable('event_conflicts').set({ body: null }).execute());
  await t.rejects(emptying, 'an open conflict keeps its body');
  await t.resolves(lose('applied', sha256(Buffer.from('x'))));
});

test('old requests keep only their metadata', async (t, { db, url }) => {
  const { clock, answers, send } = await service(t, db);
  const accept = async (employee_id: string, key = employee_id) => {
    const checked = checkChange('demographic', { ...demographic, employee_id });
    if (!checked.ok) throw new Error();
    const accepted = await acceptChange(
      { db, encryptor, sharedNow: async () => clock() },
      checked.change,
      key,
    );
    if (!('changeId' in accepted)) throw new Error(accepted.outcome);
    return accepted.changeId;
  };
  clock.advance(daysAgo(200).getTime() - clock().getTime());
  const [delivered, canceled, refused] = [await accept('e1'), await accept('e2'), await accept('e3')];
  for (const id of [canceled, refused]) answers.set(id, 422);
  await send();
  const at = clock().toISOString();
  await transact(db, (trx) => cancelManually(trx, canceled, { reason: 'given up', ...acting(at) }));
  clock.advance(150 * DAY_MS);
  const late = await accept('e4');
  await send();

  t.match(await due(db), { requests: { count: 2, attempts: 2, oldest: at } });
  t.match(await drop({ db, url }), { requests: 2 });
  const attempts = await db.selectFrom('delivery_attempts').select('request_id').execute();
  t.strictSame(attempts.map(({ request_id }) => request_id).sort(), [refused, late].sort());
  const rows = await db.selectFrom('outbox').selectAll().orderBy('seq').execute();
  const left = rows.map(({ response, erased_at, body_hash }) => [response, erased_at, body_hash !== null]);
  const when = NOW.toISOString();
  t.strictSame(left.slice(0, 2), Array(2).fill([null, when, true]));
  t.match(rows[2], { state: 'rejected', response: Buffer, erased_at: null }, 'it may be retried manually');
  t.match(rows[3], { state: 'delivered', erased_at: null }, 'it is not old');
  t.equal(await accept('e1'), delivered, 'the same key returns the first result permanently');
  await t.rejects(accept('e5', 'e1'), 'the same key rejects another change');
  t.match(await drop({ db, url }), { requests: 0, pilot: 0 });
});

test("the body of a pilot's change is dropped after 30 days, whatever the settings", async (t, {
  db,
  url,
}) => {
  const reports: string[] = [];
  for (const days of [31, 29]) {
    const clock = setClock(daysAgo(days));
    if (reports.length === 0) await transact(db, (trx) => startPilot(trx, acting(clock())));
    reports.push(await report(db, 'demographic', `e-${days}`, { clock }));
  }
  const forEver = { eventsMs: null, requestsMs: null };
  const oldest = daysAgo(31).toISOString();
  t.match(await due(db, forEver), { pilot: { count: 1, oldest } });
  t.match(await drop({ db, url }, forEver), { pilot: 1 });
  const bodies = await Promise.all(reports.map((id) => readBody(db, encryptor, id)));
  t.match(bodies, [{ body: null, absent: /30 days/ }, { body: { employee_id: 'e-29' } }]);
  t.match(await drop({ db, url }, forEver), { pilot: 0 });
});

onEitherEngine('a year of events is dropped day by day, in small transactions', async (t) => {
  const commits = await countedCommits(t);
  const { db } = commits;
  const perDay = 2;
  const days = Array.from({ length: 365 }, (_, index) => 365 - index);
  for (const day of days) {
    const events = Array.from({ length: perDay }, (_, one) => of(`${day}-${one}`));
    await receive(db, events, daysAgo(day).toISOString());
  }
  await apply(db, NEW);
  const old = days.filter((day) => day > 100).length * perDay;
  t.match(await due(db), { events: { count: old, oldest: daysAgo(365).toISOString() } });
  const before = commits.count;
  t.match(await drop(commits), { events: old });
  t.ok(commits.count - before >= old / 128, `${commits.count - before} transactions`);
  t.equal((await withBody(db)).length, 365 * perDay - old);
  t.match(await drop(commits, { ...RETENTION, eventsMs: 364.5 * DAY_MS }), { events: 0 });
  t.match(await drop(commits, { ...RETENTION, eventsMs: 99.5 * DAY_MS }), { events: perDay });
});

onEitherEngine('two concurrent runs drop each body once while events are reprocessed', async (t) => {
  const commits = await countedCommits(t);
  const { db } = commits;
  const ids = Array.from({ length: 300 }, (_, one) => `e${one}`);
  const events = ids.map((id) => of(id));
  await deliver(db, events, OLD);
  const again = ids.filter((_, one) => one % 25 === 0).reverse();
  const reprocessing = async (): Promise<boolean[]> => {
    const found: boolean[] = [];
    for (const id of again) {
      const pending = transact(db, (trx) => reprocessEvent(trx, id, ACTING));
      found.push(
        await pending.then(
          () => true,
          (error) => !isAppError(error, 'CONFLICT'),
        ),
      );
    }
    return found;
  };
  const [one, other, found] = await Promise.all([drop(commits), drop(commits), reprocessing()]);
  const putBack = again.filter((_, index) => found[index]);
  const { length } = await withBody(db);
  t.equal(one.events + other.events, ids.length - length);
  await apply(db, NEW);
  t.match(await drop(commits), { events: length }, 'the last body is dropped once it is applied');
  t.strictSame(await withBody(db), []);
  t.ok(putBack.length <= again.length);
});

/** One body is longer than a page and has its own pages; the short one shares a page. */
const CANARIES = { long: 'canary-long-5d1e', short: 'canary-short-77ab' };

test('no byte of a dropped body is left in the file or its log', async (t, { db, url }) => {
  const spelled = (canary: string, times: number): Delivery[] =>
    Array.from({ length: times }, (_, index) =>
      of(`${canary.length}-${index}`, { description: canary.repeat(canary === CANARIES.long ? 250 : 1) }),
    );
  const events = [...spelled(CANARIES.short, 40), ...spelled(CANARIES.long, 20)];
  for (let from = 0; from < events.length; from += 7) await deliver(db, events.slice(from, from + 7), OLD);
  // The ledger keeps its own description, so only the bodies are searched for.
  const inBody = Object.values(CANARIES).map((canary) => `"description":"${canary}`);
  const counted = async () => {
    const bytes = await rawBytes(db, url);
    return inBody.map((text) => bytes.includes(text));
  };
  t.strictSame(await counted(), [true, true]);
  t.match(await drop({ db, url }), { events: events.length });
  t.strictSame(await counted(), [false, false]);
  if (engineOf(t) === 'sqlite') t.equal(statSync(`${sqlitePath(url)}-wal`).size, 0, 'the log is empty');
});

onSqlite('new events use the space of dropped bodies', async (t) => {
  const { db, url } = await scratch(t);
  const deliverLarge = async (ids: string): Promise<void> => {
    const large = { description: 'x'.repeat(1_000) };
    for (let day = 0; day < 10; day += 1) {
      const events = Array.from({ length: 40 }, (_, index) => of(`${ids}-${day}-${index}`, large));
      await deliver(db, events, OLD);
    }
  };
  await deliverLarge('first');
  const before = pagesOf(url);
  await drop({ db, url });
  const after = pagesOf(url);
  t.ok(after.free > 100, JSON.stringify({ before, after }));
  await deliverLarge('second');
  const reused = pagesOf(url);
  t.ok(reused.all - before.all < before.all - after.free, JSON.stringify({ before, after, reused }));
});

function pagesOf(url: string): { all: number; free: number } {
  const handle = new BetterSqlite3(sqlitePath(url), { readonly: true });
  const count = (pragma: string) => handle.pragma(pragma, { simple: true }) as number;
  try {
    return { all: count('page_count'), free: count('freelist_count') };
  } finally {
    handle.close();
  }
}

test('a finalized run can be verified without the bodies of its events', async (t, { db, url }) => {
  await readyEmployer(t, db);
  await deduct(db, 'more', { id: 'ded-2', employee_id: 'emp-1', line_of_coverage: 'dental' });
  const run = await finalizedOn(db, '2026-07-17');
  t.match(await drop({ db, url }), { events: 3 });
  t.strictSame(await withBody(db), []);
  t.match(await verifyRun(db, run), { identical: true, differences: [] });
});

onEachEngine('nothing is dropped by a clock that may be wrong', async (t) => {
  const { db, url } = await scratch(t);
  await deliver(db, [of('old')], OLD);
  const wrong = { ...CLOCK, clockWarning: async () => 'set forward by 2 hours' };
  if (engineOf(t) === 'postgres') {
    t.match(await drop({ db, url }, RETENTION, wrong), { events: 1 });
    return;
  }
  const error = { code: 'CLOCK_WRONG', message: /set forward by 2 hours/ };
  await t.rejects(drop({ db, url }, RETENTION, wrong), error);
  t.strictSame(await withBody(db), ['old']);
  t.match(await drop({ db, url }), { events: 1 }, 'until it is right');
});

test('counts of refused deliveries are dropped after seven days', async (t, { db, url }) => {
  for (const days of [0, 6, 8, 9]) {
    const refusals = createRefusals(at(daysAgo(days)), silentLog);
    refusals.count('encoding');
    await refusals.flush(db);
  }
  t.strictSame(await refusedSince(db, new Date(0)), [{ cause: 'encoding', refused: 4 }]);
  await drop({ db, url }, { eventsMs: null, requestsMs: null });
  t.strictSame(await refusedSince(db, new Date(0)), [{ cause: 'encoding', refused: 2 }]);
});
