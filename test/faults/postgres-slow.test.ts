/** Events are applied while PostgreSQL cancels slow statements, holds an old snapshot or commits late. */
import { sql } from 'kysely';
import { Client } from 'pg';
import t, { type Test } from 'tap';
import type { Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { reprocessEvent } from '../../src/inbox/events.ts';
import { createWorkListStart } from '../../src/inbox/work-list.ts';
import { ledgerHead, lockLedger, moveLedger } from '../../src/ledger/position.ts';
import { type Applying, type Body, startApplying } from '../inbox/applying.ts';
import { deduction, syncBody } from '../inbox/bodies.ts';
import { ACTING } from '../support/audit.ts';
import { usePostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';

usePostgres();

const sync = (name: string): Body => [name, syncBody('sync-request', name)];

/** Runs a statement that the server cancels. */
async function runTooLong(trx: Trx): Promise<void> {
  await sql`set local statement_timeout = 20`.execute(trx);
  await sql`select pg_sleep(60)`.execute(trx);
}

t.test('a batch that times out is applied in smaller and smaller halves', async (t) => {
  const aborting = new AbortController();
  const asked = new WeakMap<Trx, number>();
  const { store, loop, states, ledger, applied, logged } = await startApplying(t, {
    effects: {
      requestSync: async (trx) => {
        asked.set(trx, (asked.get(trx) ?? 0) + 1);
        if (asked.get(trx) === 3) await runTooLong(trx);
      },
    },
    onApplied: () => applied.length === 4 && aborting.abort(),
  });
  const syncs = Array.from({ length: 8 }, (_, index) => `sync-${index}`);
  await store(...syncs.map(sync), deduction('a'));
  await loop.run(aborting.signal);
  const sizes = applied.map((one) => one.applied);
  t.strictSame(sizes, [2, 2, 2, 3], '8 and 4 time out, also 4 after 2 succeeded');
  const all = [...syncs, 'a'].map((name) => `${name}: applied`);
  t.strictSame(await states(), all);
  t.strictSame(await ledger(), ['a']);
  t.match(logged[0], /^events could not be applied: trying again .*57014/);
});

t.test('an event that times out alone is quarantined, and later ones are applied', async (t) => {
  const aborting = new AbortController();
  let tries = 0;
  const { store, loop, states, differences, ledger } = await startApplying(t, {
    effects: {
      requestSync: async (trx, { employerId }) => {
        if (employerId !== 'slow') return;
        tries += 1;
        await runTooLong(trx);
      },
    },
    onApplied: async () => (await states()).every((state) => !state.endsWith('pending')) && aborting.abort(),
  });
  await store(deduction('a'), sync('slow'), sync('quick'), deduction('b'));
  await loop.run(aborting.signal);
  t.strictSame(await states(), [
    'a: applied',
    'slow: quarantined applying it timed out 3 times in a row (57014): reprocess it after an upgrade, or dismiss it',
    'quick: applied',
    'b: applied',
  ]);
  t.strictSame(await differences(), [], 'verify accepts its reason');
  t.strictSame(await ledger(), ['a', 'b']);
  t.equal(tries, 6, 'three times in a batch, three times alone');
});

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

/** A connection of a foreign program with an open transaction. */
async function inTransaction(t: Test, url: string, begin: string): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  t.teardown(() => client.end());
  await client.query(begin);
  return client;
}

async function apply({ store, loop }: Applying, events: readonly string[]): Promise<void> {
  await store(...events.map(deduction));
  loop.wake(events.length);
  for (let applied = 0; applied < events.length; ) applied += (await loop.runOnce()).applied;
}

/** Runs the loop until an event is applied. */
async function appliedIn({ loop, states }: Applying, eventId: string): Promise<void> {
  const ran = async () => {
    await loop.runOnce();
    return (await states()).includes(`${eventId}: applied`);
  };
  await eventually(`${eventId} is applied`, ran, true);
}

/** Returns the pages that the server read to execute a statement. */
async function pagesOf(explained: Promise<unknown>): Promise<number> {
  const [row] = (await explained) as [{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }];
  const { Plan: plan } = row['QUERY PLAN'][0];
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

/** Returns the server's count of inbox reads since its last report. */
async function inboxPagesRead(trx: Trx): Promise<{ pid: number; pages: number }> {
  const { rows } = await sql<{ pid: number; pages: number }>`
    select pg_backend_pid() as pid, pg_stat_get_xact_blocks_fetched('inbox'::regclass) as pages`.execute(trx);
  return rows[0] as { pid: number; pages: number };
}

t.test('a held snapshot does not make a batch read applied events', async (t) => {
  const read: { pid: number; pages: number }[] = [];
  const requestSync = async (trx: Trx) => void read.push(await inboxPagesRead(trx));
  const applying = await startApplying(t, { effects: { requestSync } });
  const { db, commits, store, loop } = applying;
  const holder = await inTransaction(t, commits.url, 'begin isolation level repeatable read');
  await holder.query('select count(*) from inbox');
  await apply(applying, names('many', 2_000));
  for (let moved = 0; moved < 1_000; moved += 1)
    await transact(db, async (trx) => moveLedger(trx, await lockLedger(trx)));
  const start = createWorkListStart(db);
  const newest = await eventually('the start is up to date', start.find, 2_000);
  const pending = db.selectFrom('inbox').select('seq').where('state', '=', sql.lit('pending')).orderBy('seq');
  const analyze = sql`analyze, buffers`;
  const all = await pagesOf(pending.explain('json', analyze));
  t.ok(all > 100, `${all} pages from the beginning: the snapshot keeps the entries`);
  const fromTheStart = await pagesOf(pending.where('seq', '>', newest).explain('json', analyze));
  t.ok(fromTheStart < 10, `${fromTheStart} pages from the start`);
  const pagesOfBatch = async () => {
    for (const name of [`sync-${read.length}`, `sync-${read.length + 1}`]) {
      await store([name, syncBody('sync-request')]);
      loop.wake(1);
      await loop.runOnce();
    }
    const [one, next] = read.slice(-2) as [(typeof read)[0], (typeof read)[0]];
    return one.pid === next.pid ? next.pages - one.pages : null;
  };
  const isFew = (pages: number | null) => pages !== null && pages > 0 && pages < 50;
  await eventually('a batch of the loop reads as little', pagesOfBatch, isFew);
  // A connection may reuse a gap in an older page, so the current version is at the end only after some updates.
  const pagesOfHead = async () => {
    await transact(db, async (trx) => moveLedger(trx, await lockLedger(trx)));
    return pagesOf(ledgerHead(db).explain('json', analyze));
  };
  await eventually('ledger_head is found at the end of its index', pagesOfHead, (pages) => pages < 5);
  const scans = await transact(db, async (trx) => {
    await moveLedger(trx, await lockLedger(trx));
    const { rows } = await sql<{ scans: number }>`
      select seq_scan as scans from pg_stat_xact_user_tables where relname = 'ledger_head'`.execute(trx);
    return rows[0]?.scans;
  });
  t.equal(scans, 0, 'an update does not read every version of ledger_head');
});

t.test('an event committed after newer ones were applied is applied', async (t) => {
  const applying = await startApplying(t);
  const { db, commits, loop } = applying;
  const slow = await inTransaction(t, commits.url, 'begin');
  const [eventId, body] = deduction('slow');
  await slow.query(
    `insert into inbox (event_id, source, received_at, body, state) values ($1, 'webhook', $2, $3, 'pending')`,
    [eventId, '2026-03-01T12:00:00.000Z', Buffer.from(body as string)],
  );
  await apply(applying, names('quick', 10));
  const start = createWorkListStart(db);
  t.equal(await start.find(), 11, 'the start is after its seq');
  t.strictSame(await loop.runOnce(), { applied: 0, ignored: 0, quarantined: 0, syncsRequested: 0 });
  await slow.query('commit');
  await appliedIn(applying, 'slow');
});

t.test('an event set back to pending by another process is applied again, however old', async (t) => {
  const applying = await startApplying(t);
  const { db, commits, states } = applying;
  await apply(applying, names('e', 10));
  const start = createWorkListStart(db);
  await eventually('the start is after all events', start.find, 10);
  await transact(commits.other, (trx) => reprocessEvent(trx, 'e3', ACTING));
  await eventually('a look back finds it', start.find, 3);
  t.ok((await states()).includes('e3: pending'));
  await appliedIn(applying, 'e3');
  await eventually('the start is after all events again', start.find, 10);
  await transact(commits.other, (trx) => reprocessEvent(trx, 'e5', ACTING));
  start.lookBack();
  t.equal(await start.find(), 5, 'immediately after lookBack');
});
