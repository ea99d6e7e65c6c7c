import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { AUDIT_ORDERS, listRecords } from '../../src/operations/audit-files.ts';
import {
  type Action,
  record,
  recordAll,
  recordStartAndEnd,
  SYSTEM,
  tokenActor,
} from '../../src/security/audit.ts';
import { type Head, hashAfter, headText, parseHead, readHead } from '../../src/security/audit-chain.ts';
import type { AuditFilter } from '../../src/security/audit-list.ts';
import { createToken } from '../../src/security/tokens.ts';
import { compareHead, verifyAudit } from '../../src/security/verify-audit.ts';
import { altering } from '../cli/alter.ts';
import { scratch } from '../database/scratch.ts';
import { ACTING, acting } from '../support/audit.ts';
import { differencesOf } from '../support/differences.ts';
import { onEitherEngine } from '../support/engine.ts';

const test = onEitherEngine.with(scratch);

const AT = '2026-07-01T09:30:00.000Z';

/** A record like many others. */
const made = { action: 'event.dismiss', resource: 'e' } as const;
const recordMade = (db: Db) => transact(db, (trx) => record(trx, ACTING, made));

test('a record keeps who acted, when, on what, and why', async (t, { db }) => {
  const actor = tokenActor({ tokenId: 'tok_1', name: 'payroll' }, 'Zoë 🙂');
  const details = { before: null, after: [1] };
  const dismissed = { action: 'census-sync.dismiss', resource: 's/1', employer: 'acme', details } as const;
  const reason = 'the employer left';
  t.equal(await transact(db, (trx) => record(trx, { actor, now: AT }, { ...dismissed, reason })), 1);
  const reprocessed = { action: 'event.reprocess', resource: null } as const;
  t.equal(await transact(db, (trx) => record(trx, acting(AT), reprocessed)), 2);
  const page = await listRecords(db, { resourceType: 'census-sync', resourceId: 's/1' }, { limit: 1 });
  t.strictSame(page, {
    data: [
      {
        ...{ id: '1', recorded_at: AT },
        actor: { kind: 'token', issuer: null, id: 'tok_1', name: 'payroll', acting_user: 'Zoë 🙂' },
        ...{ action: 'census-sync.dismiss', resource_type: 'census-sync', resource_id: 's/1' },
        ...{ employer_id: 'acme', employee_id: null, details, reason },
        ...{ reason_hash: page.data[0]?.reason_hash, hash: page.data[0]?.hash },
      },
    ],
    ...{ has_more: false, next_cursor: null },
  });
});

test('records are filtered and paged in either order', async (t, { db }) => {
  const actor = tokenActor({ tokenId: 'tok_1', name: 'payroll' }, null);
  await transact(db, (trx) =>
    recordAll(trx, [
      { ...acting('2026-07-01T00:00:00.000Z'), action: 'event.dismiss', resource: 'e' },
      { ...acting('2026-07-02T00:00:00.000Z'), action: 'event.reprocess', resource: 'e', employer: 'acme' },
      { actor, now: '2026-07-03T00:00:00.000Z', action: 'change.retry', resource: 'c', employee: 'ann' },
    ]),
  );
  const idsOf = async (filter: AuditFilter, page: Parameters<typeof listRecords>[2] = { limit: 10 }) =>
    (await listRecords(db, filter, page)).data.map(({ id }) => id).join(' ');
  t.equal(await idsOf({}), '3 2 1');
  t.equal(await idsOf({}, { limit: 10, order: 'oldest_first' }), '1 2 3');
  for (const order of AUDIT_ORDERS) {
    const first = await listRecords(db, {}, { limit: 2, order });
    t.equal(
      await idsOf({}, { limit: 2, order, cursor: String(first.next_cursor) }),
      order === 'newest_first' ? '1' : '3',
    );
    t.equal((await listRecords(db, {}, { limit: 3, order })).next_cursor, null);
  }
  const filtered: Record<string, AuditFilter[]> = {
    1: [{ action: 'event.dismiss' }],
    '2 1': [{ resourceType: 'event' }],
    2: [
      ...[{ employerId: 'acme' }, { employers: ['acme', 'other'] }],
      { from: '2026-07-02T00:00:00.000Z', until: '2026-07-03T00:00:00.000Z' },
    ],
    3: [{ employeeId: 'ann' }, { actorId: 'tok_1' }],
    '': [{ resourceType: 'event', resourceId: 'c' }, { employers: [] }],
  };
  for (const [ids, filters] of Object.entries(filtered))
    for (const filter of filters) t.equal(await idsOf(filter), ids, JSON.stringify(filter));
});

test('work of several transactions that fails ends with a record of its failure', async (t, { db }) => {
  const by = { actor: ACTING.actor, time: async () => new Date(AT) };
  const rotated = { action: 'key.rotate', resource: null } as const;
  const failing = () => Promise.reject(Object.assign(new Error('the disk is full'), { code: 'DISK_FULL' }));
  const recording = recordStartAndEnd(db, by, rotated, failing, () => ({}));
  await t.rejects(recording, { code: 'DISK_FULL' });
  const { data: records } = await listRecords(db, {}, { limit: 10, order: 'oldest_first' });
  const details = [{ phase: 'start' }, { phase: 'end', failed: 'DISK_FULL' }];
  t.equal(JSON.stringify(records.map((entry) => entry.details)), JSON.stringify(details));
});

test('a transaction that fails leaves no record and no gap', async (t, { db }) => {
  const failing = transact(db, async (trx) => {
    await record(trx, ACTING, made);
    throw new Error('refused');
  });
  await t.rejects(failing, { message: 'refused' });
  t.equal(await recordMade(db), 1);
});

test('ids follow the order of commits without gaps, however many act at once', async (t, { db }) => {
  await Promise.all(Array.from({ length: 20 }, () => recordMade(db)));
  const { data: records } = await listRecords(db, { resourceId: 'e' }, { limit: 100, order: 'oldest_first' });
  for (const [index, { id }] of records.entries()) t.equal(Number(id), index + 1);
  t.equal(records.length, 20);
});

test('audit records are append-only', async (t, { db }) => {
  await recordMade(db);
  const changing = transact(db, (trx) => trx.updateTable('audit_records').set({ reason: 'x' }).execute());
  await t.rejects(changing, /audit_records are append-only/);
  const removing = transact(db, (trx) => trx.deleteFrom('audit_records').execute());
  await t.rejects(removing, /audit_records are append-only/);
  t.match(await listRecords(db, {}, { limit: 1 }), { data: [{ reason: null }] });
});

test('the chain has the same hashes on both engines', async (t, { db }) => {
  const actor = tokenActor({ tokenId: 'tok_1', name: 'payroll\ud800' }, 'Zoë 🙂');
  await transact(db, (trx) =>
    recordAll(trx, [
      { ...acting(AT), action: 'event.reprocess', resource: null, details: { count: 1, type: 'ü"' } },
      { actor, now: AT, action: 'change.retry', resource: 'c\ud800', employer: 'acme', employee: 'e' },
    ]),
  );
  const { record_id, hash } = await readHead(db);
  t.strictSame([record_id, hash], [2, 'ecf54e2fceb331b62f57cf89ec3badf805f83592a6acb59bb96f57fedddc5825']);
  t.strictSame(await differencesIn(db), []);
});

test('verification names a record that was altered or removed', async (t, { db, url }) => {
  const reasoned = { ...made, reason: 'a test' };
  for (let count = 0; count < 3; count += 1) await transact(db, (trx) => record(trx, ACTING, reasoned));
  t.strictSame(await differencesIn(db), []);
  const by = await altering(t, url);
  const set = (value: string) => by.run(`update audit_records set ${value} where record_id = 2`);
  await set("reason = 'another'");
  t.strictSame(await differencesIn(db), ['2 reason']);
  await set('reason = null, reason_key = null');
  t.strictSame(await differencesIn(db), ['2 reason'], 'erased without a record');
  const erased = { action: 'reason.erase', resource: '2', details: {} } as const;
  await transact(db, (trx) => record(trx, ACTING, erased));
  t.strictSame(await differencesIn(db), [], 'an erased reason is no difference');
  await set("employee_id = 'another'");
  t.strictSame(await differencesIn(db), ['2 hash']);
  await set("resource_type = 'run'");
  t.strictSame(await differencesIn(db), ['2 resource_type', '2 hash']);
  await by.run('delete from audit_records where record_id = 2');
  t.strictSame(await differencesIn(db), ['3 record_id', '3 hash']);
  await by.run('delete from audit_records where record_id >= 3');
  t.strictSame(await differencesIn(db), ['1 record_id'], 'the end was removed, and the head stays');
  await by.run("update audit_head set record_id = 0, hash = ''");
  t.strictSame(await differencesIn(db), ['1 record_id'], 'a record after the head');
  await by.run('delete from audit_head');
  t.strictSame(await differencesIn(db), ['1 id'], 'the head was removed');
});

test('a chain whose end was cut is found by the rows that refer to it', async (t, { db, url }) => {
  await recordMade(db);
  const token = { name: 'payroll', scopes: ['all'], expiresAt: null, now: new Date(AT), actor: SYSTEM };
  await transact(db, (trx) => createToken(trx, token));
  const by = await altering(t, url);
  await by.run('delete from audit_records where record_id = 2');
  const { hash } = await by.row('audit_records', 'record_id = 1');
  await by.run(`update audit_head set record_id = 1, hash = '${hash}'`);
  t.match(await namedIn(db), [/^audit_records 2: record_id: is missing: tokens refers to it$/]);
});

test('a recomputed chain is found by the heads that its records state', async (t, { db, url }) => {
  const stating = (action: Action, field: string, head: string) =>
    transact(db, (trx) => record(trx, ACTING, { action, resource: null, details: { [field]: head } }));
  await recordMade(db);
  await stating('database.back-up', 'audit_head', headText(await readHead(db)));
  await recordMade(db);
  await stating('database.restore', 'backup_head', headText(await readHead(db)));
  await stating('database.copy', 'from_head', headText(await readHead(db)));
  t.strictSame(await differencesIn(db), []);
  const by = await altering(t, url);
  await by.run("update audit_records set actor_name = 'someone' where record_id = 1");
  await rechain(db, by);
  t.strictSame(await differencesIn(db), ['2 details', '4 details', '5 details']);
  t.match((await namedIn(db))[0], /the chain was recomputed, or this record is forged$/);
});

test('a forged record of a restore is named', async (t, { db }) => {
  for (let count = 0; count < 3; count += 1) await recordMade(db);
  const first = await db
    .selectFrom('audit_records')
    .selectAll()
    .orderBy('record_id')
    .executeTakeFirstOrThrow();
  for (const [index, backup_head] of ['', `1:${'a'.repeat(64)}`, headText(first)].entries()) {
    const forged = { action: 'database.restore', resource: null, details: { backup_head } } as const;
    await transact(db, (trx) => record(trx, ACTING, forged));
    t.strictSame((await differencesIn(db)).length, index + 1, 'a restore follows the head of its backup');
  }
});

test('a kept head shows whether the chain continues', async (t, { db }) => {
  const heads: string[] = [headText(await readHead(db))];
  const compared = async (head: string) => (await compareHead(db, parseHead(head) as Head)).result;
  for (let count = 0; count < 3; count += 1) {
    await recordMade(db);
    heads.push(headText(await readHead(db)));
  }
  for (const head of heads) t.equal(await compared(head), 'continues', head);
  const other = 'a'.repeat(64);
  t.equal(await compared(`2:${other}`), 'altered');
  t.equal(await compared(`4:${other}`), 'restored from an older state', 'the chain ends before the head');
  t.match((await compareHead(db, { record_id: 4, hash: other })).because, /no restore is recorded/);
  const restore = { backup_head: heads[1], replaced_head: `3:${other}` };
  const restored = { action: 'database.restore', resource: null, details: restore } as const;
  await transact(db, (trx) => record(trx, ACTING, restored));
  t.equal(await compared(`2:${other}`), 'restored from an older state');
  t.equal(await compared(`1:${other}`), 'altered', 'the backup had the record of the head');
  t.equal(await compared(heads[1] as string), 'continues');
  for (const text of ['', '1', '1:', '1:A', `01:${other}`, `1:${other}0`, `0:${other}`])
    t.equal(parseHead(text), null, text);
});

async function differencesIn(db: Db): Promise<string[]> {
  const differences = await differencesOf((on) => verifyAudit(db, on));
  return differences.map(({ id, field }) => `${id} ${field}`);
}

async function namedIn(db: Db): Promise<string[]> {
  const differences = await differencesOf((on) => verifyAudit(db, on));
  return differences.map(({ table, id, field, rule }) => `${table} ${id}: ${field}: ${rule}`);
}

/** Recomputes the hashes as someone with the database could. */
async function rechain(db: Db, by: Awaited<ReturnType<typeof altering>>): Promise<void> {
  const rows = await db.selectFrom('audit_records').selectAll().orderBy('record_id').execute();
  let hash = '';
  for (const row of rows) {
    hash = hashAfter(hash, row);
    await by.run(`update audit_records set hash = '${hash}' where record_id = ${row.record_id}`);
  }
  await by.run(`update audit_head set hash = '${hash}'`);
}
