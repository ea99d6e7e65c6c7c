import type { Db, RequestKind } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { claim } from '../../src/outbox/claims.ts';
import { finish } from '../../src/outbox/finish.ts';
import { cancelManually, releaseManually, retryManually } from '../../src/outbox/manual.ts';
import { employeeSubject, enqueue } from '../../src/outbox/queue.ts';
import type { AttemptOutcome } from '../../src/outbox/retry.ts';
import type { Claim } from '../../src/outbox/sender.ts';
import { scratch } from '../database/scratch.ts';
import { ACTING, acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import fc from '../support/seeded.ts';
import { encryptor, setClock } from './parts.ts';

const SUBJECTS = ['a', 'b'];
const KINDS: RequestKind[] = ['new-hire', 'demographic'];
const STATUSES = [200, 422, 503, 403, 401, 0];

const step = fc.oneof(
  fc.record({ do: fc.constant('enqueue' as const), subject: fc.nat(1), kind: fc.nat(1) }),
  fc.record({ do: fc.constant('claim' as const), limit: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('finish' as const), pick: fc.nat(), status: fc.nat(STATUSES.length - 1) }),
  fc.record({ do: fc.constantFrom('cancel' as const, 'release' as const, 'retry' as const), pick: fc.nat() }),
  fc.record({ do: fc.constant('wait' as const), seconds: fc.constantFrom(1, 40, 1_000, 200_000, -200_000) }),
);

onEitherEngine('after any actions the front of a subject is its oldest request, or it is held', async (t) => {
  const { db } = await scratch(t);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      await empty(db);
      const clock = setClock();
      const claims: Claim[] = [];
      let count = 0;
      for (const now of steps) {
        const at = clock();
        await transact(db, async (trx) => {
          const iso = at.toISOString();
          const ids = (await trx.selectFrom('outbox').select('request_id').orderBy('seq').execute()).map(
            ({ request_id }) => request_id,
          );
          if (now.do === 'enqueue') {
            const kind = KINDS[now.kind] as RequestKind;
            const subject = employeeSubject(SUBJECTS[now.subject] as string);
            await enqueue(trx, [{ requestId: `r-${count++}`, kind, ...subject, encrypted: null }], iso);
          } else if (now.do === 'claim') {
            const wish = {
              owner: 'o',
              limit: now.limit,
              uploads: now.limit,
              inFlight: new Set<string>(),
              takesOver: true,
              senders: {},
            };
            claims.push(...(await claim(trx, wish, at)).claims);
          } else if (now.do === 'finish') {
            const [claimed] = claims.splice(now.pick % Math.max(1, claims.length), 1);
            const by = { owner: 'o', senders: {}, encryptor, random: () => 0 };
            if (claimed) {
              const outcome = outcomeOf(STATUSES[now.status] as number);
              await finish(trx, by, [{ claim: claimed, kind: 'attempt', outcome, ms: 0 }], at);
            }
          } else if (now.do === 'wait') clock.advance(now.seconds * 1_000);
          else if (ids.length > 0) {
            const id = ids[now.pick % ids.length] as string;
            if (now.do === 'cancel') await cancelManually(trx, id, { reason: 'x', ...acting(iso) });
            if (now.do === 'release') await releaseManually(trx, id, ACTING);
            if (now.do === 'retry') await retryManually(trx, id, { force: true, ...acting(iso) });
          }
        });
        await assertFronts(db);
      }
    }),
    { numRuns: 60 },
  );
  t.pass('held for all');
});

async function assertFronts(db: Db): Promise<void> {
  const rows = await db.selectFrom('outbox').selectAll().orderBy('seq').execute();
  for (const subject of SUBJECTS) {
    const own = rows.filter((row) => row.subject_id === subject);
    const unfinished = own.filter((row) => row.state === 'pending' || row.state === 'sending');
    const sending = own.filter((row) => row.state === 'sending');
    const fronts = own.filter((row) => row.is_next === 1).map((row) => row.seq);
    const held = own.some((row) => row.holds_later === 1);
    const first = sending[0] ?? (held ? undefined : unfinished[0]);
    const expected = first === undefined ? [] : [first.seq];
    if (sending.length > 1 || fronts.join() !== expected.join()) {
      throw new Error(`${subject}: front ${fronts}, expected ${expected}, ${sending.length} sending`);
    }
  }
}

function outcomeOf(status: number): AttemptOutcome {
  if (status === 0) return { responded: false, code: 'ECONNRESET', sent: true };
  return { responded: true, status, content: 'json-error', retryAfterMs: null, response: Buffer.from('{}') };
}

async function empty(db: Db): Promise<void> {
  await transact(db, async (trx) => {
    await trx.deleteFrom('delivery_attempts').execute();
    await trx.deleteFrom('outbox').execute();
    await trx
      .updateTable('circuit_breaker')
      .set({ state: 'active', next_probe_at: null, probe_count: 0 })
      .execute();
  });
}
