/** Shared by the tests of sending: a settable clock, an encryptor, and a send loop on a real database. */
import type { Test } from 'tap';
import type { Db, OutboxTable, RequestKind } from '../../src/database/tables.ts';
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
import { type Answer, stubService } from './stub-service.ts';

export const START = new Date('2026-01-31T09:30:00.000Z');

export type SetClock = { (): Date; advance(ms: number): void };

export function setClock(start = START): SetClock {
  let at = start.getTime();
  const clock = () => new Date(at);
  return Object.assign(clock, {
    advance(ms: number) {
      at += ms;
    },
  });
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

/** Options with which an owner claims what is due. */
export const claimAs = (owner: string, fields: Partial<ClaimOptions> = {}): ClaimOptions => ({
  ...{ owner, limit: 9, uploads: 9, inFlight: new Set(), takesOver: true, senders: {} },
  ...fields,
});

/** Sends until nothing more is due. */
export async function sendAll(loop: SendLoop): Promise<void> {
  for (;;) {
    const counts = await loop.runOnce();
    if (Object.values(counts).every((count) => count === 0)) return;
  }
}

type Row = Omit<OutboxTable, 'seq' | 'holds_later' | 'attempts' | 'unknown_outcome'> & {
  seq: number;
  holds_later: number;
  attempts: number;
  unknown_outcome: number;
  may_have_been_applied: number;
};

export async function request(db: Db, requestId: string): Promise<Row> {
  const row = await db
    .selectFrom('outbox')
    .selectAll()
    .where('request_id', '=', requestId)
    .executeTakeFirstOrThrow();
  return row as unknown as Row;
}
