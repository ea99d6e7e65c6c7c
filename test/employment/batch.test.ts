import type { Test } from 'tap';
import { parseJson } from '../../src/contract/json.ts';
import { CHANGES_AT_ONCE } from '../../src/employment/accept.ts';
import { acceptBatch, type BatchParts } from '../../src/employment/batch.ts';
import type { LogFields } from '../../src/telemetry/log.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { termination } from '../contract/samples.ts';
import { scratch } from '../database/scratch.ts';
import { encryptor, setClock } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';

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
    sharedNow: async () => {
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
  const results = await acceptBatch(parts, lines);
  t.equal(results.filter(({ status }) => status === 'accepted').length, LINES - 1);
  t.equal(await stored(), LINES - 1);
  t.strictSame(counts, { transactions: 3, woken: 3 });
});

onEitherEngine('a batch whose database fails in the middle rejects all later changes', async (t) => {
  const { parts, logged, counts, stored } = await failingIn(t, 2);
  const results = await acceptBatch(parts, lines);
  t.equal(results.length, LINES);
  t.ok(results.slice(0, CHANGES_AT_ONCE).every(({ status }) => status === 'accepted'));
  t.ok(results.slice(CHANGES_AT_ONCE, -1).every(({ status }) => status === 'unavailable'));
  t.equal(results.at(-1)?.status, 'refused', 'an invalid change is still rejected');
  t.equal(await stored(), CHANGES_AT_ONCE);
  t.strictSame(counts, { transactions: 2, woken: 1 }, 'later transactions are not tried');
  t.strictSame(logged, [{ code: 'INTERNAL' }]);
});
