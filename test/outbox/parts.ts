/** Shared by the tests of sending: a settable clock, an encryptor, and a send loop on a real database. */
import type { Test } from 'tap';
import type { Db, RequestKind } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import type { ClaimOptions } from '../../src/outbox/claims.ts';
import { type BenefitsClient, createClient } from '../../src/outbox/client.ts';
import { employeeSubject, employerSubject, encryptBody, enqueue } from '../../src/outbox/queue.ts';
import { createSendLoop, type SendLoop, type SendLoopParts } from '../../src/outbox/send-loop.ts';
import type { Timeouts } from '../../src/outbox/sender.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { openHasher } from '../../src/security/hashing.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { scratch } from '../database/scratch.ts';
import { type Answer, type Received, stubService } from './stub-service.ts';

export const START = new Date('2026-01-31T09:30:00.000Z');

export type SetClock = { (): Date; advance(ms: number): void };

export function setClock(start = START): SetClock {
  let at = start.getTime();
  const advance = (ms: number) => {
    at += ms;
  };
  return Object.assign(() => new Date(at), { advance });
}

export const encryptor = createEncryptor([{ id: 'k1', key: Buffer.alloc(32, 7) }]);

/** Far longer than a stub takes on a busy machine. */
export const PATIENT: Timeouts = { idleMs: 120_000, totalMs: 120_000 };

export function client(t: Test, url: string, apiKeyFile: string | null = null): BenefitsClient {
  const made = createClient({ baseUrl: url, apiKey: 'key-1', apiKeyFile }, '9.9.9', () => START);
  t.teardown(() => made.close());
  return made;
}

type LoopOptions = Partial<Pick<SendLoopParts, 'senders' | 'concurrency' | 'client' | 'sharedNow' | 'log'>>;

/** A send loop with maximal jitter. */
export function sendLoop(t: Test, db: Db, url: string, clock: SetClock, options: LoopOptions = {}): SendLoop {
  return createSendLoop({
    db,
    client: options.client ?? client(t, url),
    encryptor,
    senders: createChangeSenders(encryptor),
    sharedNow: async () => clock(),
    elapsedMs: () => clock().getTime(),
    random: () => 0.999,
    log: silentLog,
    onEnded: () => {},
    ...options,
  });
}

/** Enqueues an employment change of an employee. The body names the request. */
export async function owe(
  db: Db,
  requestId: string,
  employeeId: string,
  kind: RequestKind = 'demographic',
  now = START,
): Promise<void> {
  const body = Buffer.from(JSON.stringify({ request: requestId }));
  const encrypted = encryptBody(encryptor, await openHasher(db, encryptor), requestId, body);
  const subject = kind === 'census' ? employerSubject(employeeId) : employeeSubject(employeeId);
  return transact(db, (trx) => enqueue(trx, [{ requestId, kind, ...subject, encrypted }], now.toISOString()));
}

/** A database, a service that responds as the test defines, and a send loop between them. */
export async function sending(t: Test, answer: Answer, options: LoopOptions = {}) {
  const { db, url: databaseUrl } = await scratch(t);
  const clock = setClock();
  const { url, received } = await stubService(t, answer);
  return { db, databaseUrl, clock, url, received, loop: sendLoop(t, db, url, clock, options) };
}

/** The same, with a request `r-1` of the employee `e-1`. */
export async function owing(t: Test, answer: Answer, options: LoopOptions = {}) {
  const world = await sending(t, answer, options);
  await owe(world.db, 'r-1', 'e-1');
  return world;
}

/** Returns the ids of requests in the order in which the service received them. */
export const idsOf = (received: readonly Received[]) =>
  received.map(({ headers }) => String(headers['idempotency-key']));

/** Options with which an owner claims what is due. */
export const claimAs = (owner: string, fields: Partial<ClaimOptions> = {}): ClaimOptions => ({
  ...{ owner, limit: 9, uploads: 9, inFlight: new Set(), hasKey: true, takesOver: true, senders: {} },
  ...fields,
});

/** Sends until nothing more is due. */
export async function sendAll(loop: SendLoop): Promise<void> {
  for (;;) {
    const counts = await loop.runOnce();
    if (Object.values(counts).every((count) => count === 0)) return;
  }
}

export const request = (db: Db, requestId: string) =>
  db.selectFrom('outbox').selectAll().where('request_id', '=', requestId).executeTakeFirstOrThrow();
