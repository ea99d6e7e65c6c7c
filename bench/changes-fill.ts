/**
 * Pending employment changes, enqueued through the outbox itself, with unencrypted bodies. For `--changes`.
 */
import { openDatabase } from '../src/database/open.ts';
import type { Db } from '../src/database/tables.ts';
import { transact } from '../src/database/transaction.ts';
import { claim } from '../src/outbox/claims.ts';
import { employeeSubject, encryptBody, enqueue } from '../src/outbox/queue.ts';
import { createEncryptor } from '../src/security/encryption.ts';
import { openHasher } from '../src/security/hashing.ts';
import { environment } from './server.ts';

/** Pending changes per employee. */
export const CHANGES_EACH = 4;
const AT_ONCE = 1_000;

const key = Buffer.from((environment('').DATA_KEYS ?? '').split(':')[1] ?? '', 'base64');
const encryptor = createEncryptor([{ id: 'bench', key }]);

/** Returns the name of the nth change, counted from 0, and its employee. */
export function nthOf(requestId: string): number {
  return Number(requestId.slice('owed-'.length));
}

/** Enqueues changes, `CHANGES_EACH` per employee, which are far apart from each other. */
export async function owe(databaseUrl: string, count: number): Promise<void> {
  const employees = count / CHANGES_EACH;
  const db = openDatabase(databaseUrl);
  try {
    const hasher = await openHasher(db, encryptor);
    for (let from = 0; from < count; from += AT_ONCE) {
      const requests = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) => {
        const nth = from + index;
        const requestId = `owed-${nth}`;
        const employeeId = `owed-${nth % employees}`;
        const encrypted = encryptBody(
          encryptor,
          hasher,
          requestId,
          Buffer.from(JSON.stringify(bodyOf(employeeId, nth))),
        );
        return { requestId, kind: 'demographic' as const, ...employeeSubject(employeeId), encrypted };
      });
      await transact(db, (trx) => enqueue(trx, requests, new Date().toISOString()));
    }
  } finally {
    await db.destroy();
  }
}

/** A demographic change of an employee. */
export function bodyOf(employeeId: string, nth: number) {
  const address = {
    line1: `${nth} Harbor Street`,
    line2: 'Apt 4',
    city: 'Portland',
    state: 'OR',
    zip_code: '97201',
  };
  return { employee_id: employeeId, address };
}

/** Returns the time to claim eight due requests, in milliseconds. Each claim is rolled back. */
export async function timeClaims(databaseUrl: string, times: number): Promise<number[]> {
  const db = openDatabase(databaseUrl);
  try {
    const took: number[] = [];
    for (let time = 0; time < times; time += 1) took.push(await timeClaim(db));
    return took;
  } finally {
    await db.destroy();
  }
}

class Undone extends Error {}

async function timeClaim(db: Db): Promise<number> {
  let ms = 0;
  const wish = {
    owner: 'bench',
    limit: 8,
    uploads: 8,
    inFlight: new Set<string>(),
    hasKey: true,
    takesOver: true,
    senders: {},
  };
  await transact(db, async (trx) => {
    const began = performance.now();
    const { claims } = await claim(trx, wish, new Date());
    ms = performance.now() - began;
    if (claims.length !== 8) throw new Error(`${claims.length} requests were claimed instead of 8`);
    throw new Undone();
  }).catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error;
  });
  return ms;
}
