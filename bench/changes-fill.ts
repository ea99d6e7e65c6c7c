/** Employment changes that wait to be sent, owed through the outbox itself: their bodies open. For `--changes`. */
import { openDatabase } from '../src/database/open.ts';
import type { Db } from '../src/database/tables.ts';
import { transact } from '../src/database/transaction.ts';
import { claim } from '../src/outbox/claims.ts';
import { employeeSubject, encryptBody, enqueueMany } from '../src/outbox/queue.ts';
import { createEncryptor } from '../src/security/encryption.ts';
import { openHasher } from '../src/security/hashing.ts';
import { environment } from './server.ts';

/** Changes an employee has waiting. */
export const CHANGES_EACH = 4;
const AT_ONCE = 1_000;

const key = Buffer.from((environment('').DATA_KEYS ?? '').split(':')[1] ?? '', 'base64');
const encryptor = createEncryptor([{ id: 'bench', key }]);

/** The name of the nth that was owed, counted from 0, and whose it is. */
export function nthOf(requestId: string): number {
  return Number(requestId.slice('owed-'.length));
}

/** Owes so many, `CHANGES_EACH` to an employee, which lie far from each other. */
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
      await transact(db, (trx) => enqueueMany(trx, requests, new Date().toISOString()));
    }
  } finally {
    await db.destroy();
  }
}

/** A move of an employee. */
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

/** How long it takes to claim eight that are due, in milliseconds; undone each time. */
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
