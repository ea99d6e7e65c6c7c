import type { Test } from 'tap';
import { parseJson } from '../../src/contract/json.ts';
import type { Db } from '../../src/database/tables.ts';
import {
  type Accepted,
  type Accepting,
  acceptChanges,
  CHANGES_AT_ONCE,
  createGroupCommit,
} from '../../src/employment/accept.ts';
import { acceptBatch, type BatchParts } from '../../src/employment/batch.ts';
import { employmentsOf } from '../../src/ledger/employment.ts';
import { rosterOf } from '../../src/ledger/roster.ts';
import { placeOf } from '../../src/outbox/queue.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { type LogFields, silentLog } from '../../src/telemetry/log.ts';
import { compensationChange, demographic, newHire, termination } from '../contract/samples.ts';
import { scratch } from '../database/scratch.ts';
import { encryptor, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json, stubService } from '../outbox/stub-service.ts';
import { onEitherEngine, rawBytes } from '../support/engine.ts';
import { acceptChange, changeOf } from './stage.ts';

const START = new Date('2026-03-01T09:30:00.000Z');

async function begin(t: Parameters<typeof scratch>[0]) {
  const { db, url } = await scratch(t);
  const now = setClock(START);
  const accepting: Accepting = { db, encryptor, sharedNow: async () => now() };
  return { db, url, now, accepting };
}

const hire = (fields: object = {}) => changeOf('new-hire', { ...newHire, ...fields });
const leave = (fields: object = {}) => changeOf('termination', { ...termination, ...fields });

const owed = (db: Db) =>
  db
    .selectFrom('outbox')
    .select(['request_id', 'kind', 'subject_type', 'subject_id', 'state', 'is_next'])
    .orderBy('seq')
    .execute();
const facts = (db: Db) =>
  db
    .selectFrom('roster_facts')
    .select(['position', 'employee_id', 'employer_id', 'termination_date', 'source', 'source_id'])
    .orderBy('position')
    .execute();
/** The last days of the employments of `emp-1`. */
const ends = async (db: Db) =>
  employmentsOf((await rosterOf(db, ['emp-1'])).get('emp-1') ?? []).flatMap(({ spells }) =>
    spells.map(({ termination_date }) => termination_date),
  );
const idOf = (accepted: Accepted | undefined) =>
  accepted !== undefined && 'changeId' in accepted ? accepted.changeId : null;

onEitherEngine('a change is enqueued encrypted and updates the roster in one transaction', async (t) => {
  const { db, accepting } = await begin(t);
  const accepted = await acceptChange(accepting, hire({ employer: 'Acme Inc.' }), 'key-1');
  t.match(accepted, { outcome: 'accepted', createdAt: START.toISOString() });
  const changeId = idOf(accepted) as string;
  t.match(await owed(db), [{ request_id: changeId, kind: 'new-hire', state: 'pending', is_next: 1 }]);
  const { body } = await db.selectFrom('outbox').select('body').executeTakeFirstOrThrow();
  const sent = JSON.parse(encryptor.decrypt(body as Buffer, placeOf(changeId, 'body')).toString('utf8'));
  t.strictSame(sent, { ...newHire, employer: 'Acme Inc.' }, 'the employer is sent if given');
  t.match(await facts(db), [
    { position: 1, employee_id: 'emp-1', employer_id: 'employer-1', source: 'new-hire', source_id: changeId },
  ]);
});

onEitherEngine('a key returns the same change, even without its body or old data key', async (t) => {
  const { db, now, accepting } = await begin(t);
  const service = await stubService(t, (response) => json(response, 200));
  const first = await acceptChange(accepting, leave(), 'key-1');
  await sendAll(sendLoop(t, db, service.url, now));
  t.strictSame(await db.selectFrom('outbox').select(['state', 'body']).execute(), [
    { state: 'delivered', body: null },
  ]);
  now.advance(400 * 86_400_000);
  const rotated = createEncryptor([
    { id: 'k2', key: Buffer.alloc(32, 9) },
    { id: 'k1', key: Buffer.alloc(32, 7) },
  ]);
  for (const later of [accepting, { ...accepting, encryptor: rotated }]) {
    t.strictSame(await acceptChange(later, leave(), 'key-1'), { ...first, outcome: 'repeated' });
    t.strictSame(await acceptChange(later, leave({ employee_id: 'emp-2' }), 'key-1'), {
      outcome: 'conflict',
    });
    t.strictSame(await acceptChange(later, changeOf('demographic', demographic), 'key-1'), {
      outcome: 'conflict',
    });
  }
  t.equal((await owed(db)).length, 1);
});

onEitherEngine('one of many concurrent requests with the same key is accepted', async (t) => {
  const { db, accepting } = await begin(t);
  const all = await Promise.all(Array.from({ length: 20 }, () => acceptChange(accepting, leave(), 'key-1')));
  t.equal(all.filter(({ outcome }) => outcome === 'accepted').length, 1);
  t.equal(all.filter(({ outcome }) => outcome === 'repeated').length, 19);
  t.equal(new Set(all.map(idOf)).size, 1);
  t.equal((await owed(db)).length, 1);
});

onEitherEngine('changes in one transaction are independent and in order', async (t) => {
  const { db, accepting } = await begin(t);
  const submissions = [
    { change: hire(), idempotencyKey: 'a' },
    { change: leave(), idempotencyKey: 'b' },
    { change: leave(), idempotencyKey: 'a' },
    { change: hire(), idempotencyKey: 'a' },
    { change: changeOf('compensation-change', compensationChange), idempotencyKey: null },
    { change: leave({ employee_id: 'emp-2' }), idempotencyKey: null },
  ];
  const submitted = submissions.map((submission) => ({ ...submission, actor: SYSTEM }));
  const accepted = await acceptChanges(accepting, submitted);
  const outcomes = accepted.map(({ outcome }) => outcome);
  t.strictSame(outcomes, ['accepted', 'accepted', 'conflict', 'repeated', 'accepted', 'accepted']);
  t.equal(idOf(accepted[3]), idOf(accepted[0]));
  t.match(await owed(db), [
    { request_id: idOf(accepted[0]), kind: 'new-hire', is_next: 1 },
    { request_id: idOf(accepted[1]), kind: 'termination', is_next: 0 },
    { request_id: idOf(accepted[4]), kind: 'compensation-change', is_next: 0 },
    { request_id: idOf(accepted[5]), subject_type: 'employee', subject_id: 'emp-2', is_next: 1 },
  ]);
  t.match(
    await facts(db),
    [
      { position: 1, source: 'new-hire', source_id: idOf(accepted[0]), termination_date: null },
      { position: 2, source: 'termination', source_id: idOf(accepted[1]), termination_date: '2026-03-31' },
      { position: 3, source: 'compensation-change', source_id: idOf(accepted[4]), termination_date: null },
    ],
    'a change sees the facts of earlier ones, and a termination of an unknown employee adds none',
  );
  t.match((await rosterOf(db, ['emp-1'])).get('emp-1'), [{}, {}, { position: 3, pay_frequency: 'monthly' }]);
});

onEitherEngine('a change applies even if the clock was set back since the previous fact', async (t) => {
  const { db, now, accepting } = await begin(t);
  await acceptChange(accepting, hire(), null);
  now.advance(-2 * 86_400_000);
  await acceptChange(accepting, leave(), null);
  t.strictSame(await ends(db), ['2026-03-31']);
});

onEitherEngine('changes that arrive together share a transaction, with a result each', async (t) => {
  const { db, now, accepting } = await begin(t);
  const ticking = async () => {
    now.advance(1);
    return now();
  };
  const gathering = createGroupCommit({ ...accepting, sharedNow: ticking });
  const changes = Array.from({ length: CHANGES_AT_ONCE + 50 }, (_, at) => leave({ employee_id: `e${at}` }));
  const accepted = await Promise.all(
    changes.map((one, at) =>
      gathering.accept({ change: one, idempotencyKey: at % 2 === 0 ? `k${at}` : null, actor: SYSTEM }),
    ),
  );
  const rows = await owed(db);
  const expected = changes.map(({ body }, at) => [idOf(accepted[at]), body.employee_id]);
  t.strictSame(
    rows.map(({ request_id, subject_id }) => [request_id, subject_id]),
    expected,
  );
  const times = await db.selectFrom('outbox').select('created_at').distinct().execute();
  t.equal(times.length, 2, 'one time per transaction');
});

onEitherEngine('a database error rejects every waiting caller, and only those', async (t) => {
  const { db, accepting } = await begin(t);
  let isBroken = true;
  const sharedNow = async () => {
    if (isBroken) throw new Error('no clock');
    return START;
  };
  const gathering = createGroupCommit({ ...accepting, sharedNow });
  const both = await Promise.allSettled(
    [1, 2].map(() => gathering.accept({ change: leave(), idempotencyKey: 'k', actor: SYSTEM })),
  );
  const statuses = both.map(({ status }) => status);
  t.strictSame(statuses, ['rejected', 'rejected']);
  t.strictSame(await owed(db), [], 'nothing was stored');
  isBroken = false;
  t.match(await gathering.accept({ change: leave(), idempotencyKey: 'k', actor: SYSTEM }), {
    outcome: 'accepted',
  });
});

onEitherEngine('neither a key nor a value of a change is stored in plain text', async (t) => {
  const { db, url, accepting } = await begin(t);
  const canary = 'canary-7f3a';
  await acceptChange(accepting, hire({ ssn: canary, first_name: canary, employer: canary }), canary);
  t.notOk((await rawBytes(db, url)).includes(canary));
});

const LINES = 2 * CHANGES_AT_ONCE + 10;
const lines = Array.from({ length: LINES }, (_, at) =>
  parseJson(
    at === LINES - 1 ? '{}' : JSON.stringify({ kind: 'termination', ...termination, employee_id: `e${at}` }),
  ),
);

/** A database that fails in the given transaction, counted from 1. */
async function failingIn(t: Test, transaction: number) {
  const { db } = await scratch(t);
  const clock = setClock();
  const logged: LogFields[] = [];
  const counts = { transactions: 0, woken: 0 };
  const parts: BatchParts = {
    db,
    encryptor,
    sharedNow: async (reader) => {
      if (!reader.isTransaction) return clock();
      counts.transactions += 1;
      if (counts.transactions === transaction) throw new Error('the disk is away');
      return clock();
    },
    log: { ...silentLog, error: (fields) => logged.push(fields) },
    wakeSend: () => {
      counts.woken += 1;
    },
  };
  const stored = async () => (await db.selectFrom('outbox').select('subject_id').execute()).length;
  return { parts, logged, counts, stored };
}

onEitherEngine('a batch is accepted in bounded transactions that wake the send loop', async (t) => {
  const { parts, counts, stored } = await failingIn(t, 0);
  const results = await acceptBatch(parts, lines, SYSTEM);
  t.equal(results.filter(({ status }) => status === 'accepted').length, LINES - 1);
  t.equal(await stored(), LINES - 1);
  t.strictSame(counts, { transactions: 3, woken: 3 });
});

onEitherEngine('a batch whose database fails in the middle rejects all later changes', async (t) => {
  const { parts, logged, counts, stored } = await failingIn(t, 2);
  const results = await acceptBatch(parts, lines, SYSTEM);
  t.equal(results.length, LINES);
  t.ok(results.slice(0, CHANGES_AT_ONCE).every(({ status }) => status === 'accepted'));
  t.ok(results.slice(CHANGES_AT_ONCE, -1).every(({ status }) => status === 'unavailable'));
  t.equal(results.at(-1)?.status, 'refused', 'an invalid change is still rejected');
  t.equal(await stored(), CHANGES_AT_ONCE);
  t.strictSame(counts, { transactions: 2, woken: 1 }, 'later transactions are not tried');
  t.strictSame(logged, [{ code: 'INTERNAL' }]);
});
