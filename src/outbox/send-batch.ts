import { lockName, tryLockNames } from '../database/engine.ts';
import { codeOf, isFatal } from '../database/errors.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import type { Log } from '../telemetry/log.ts';
import type { Attempted } from './attempt.ts';
import { claim, type Room } from './claims.ts';
import { type Finished, type Finishing, finish } from './finish.ts';
import type { Verdict } from './retry.ts';
import type { Claim, Settlement } from './sender.ts';
import { idOf } from './subject.ts';

/** `lost`: the claim was taken over, or left to expire. */
export type Ended = Verdict | Settlement['outcome'] | 'lost';

export type TurnParts = Finishing & {
  db: Db;
  /** The instant that leases and due times are compared by, inside a transaction. */
  sharedNow: (trx: Trx) => Promise<Date>;
  log: Log;
};

export type Turn = {
  /** How each attempt ended, in the order given. */
  ended: Ended[];
  claims: Claim[];
  gateClosed: boolean;
};

export type TurnWish = {
  /** What is to be written down. */
  attempted: readonly Attempted[];
  /** The most to claim, once it is known how those ended. */
  room: (ended: readonly Ended[]) => Room;
  /** What this loop is sending now. */
  inFlight: ReadonlySet<string>;
  /** Whether to look for claims whose owner is gone, too. */
  takesOver: boolean;
};

/**
 * One transaction of the send loop: what was attempted is written down, and what may go next is claimed. They share a
 * sync to the disk, and under load several of each do: that is most of what sending costs. When it fails, each attempt
 * is written down alone, so that one that can't be harms no other. Throws what the database throws when there was
 * nothing to write down, or it must not be used further.
 */
export function createTurn(parts: TurnParts): (wish: TurnWish) => Promise<Turn> {
  const { db, sharedNow, log } = parts;

  return async (wish) => {
    const { attempted } = wish;
    if (attempted.length === 0) return together(wish);
    try {
      return await together(wish);
    } catch (error) {
      if (isFatal(error)) throw error;
      const ended: Ended[] = [];
      for (const one of attempted) ended.push(await alone(one));
      return { ended, claims: [], gateClosed: false };
    }
  };

  async function together({ attempted, room, inFlight, takesOver }: TurnWish): Promise<Turn> {
    const subjects = attempted.map(({ end }) => end.claim.subject);
    const { finished, ...turn } = await transact(db, async (trx) => {
      const free = await tryLockNames(trx, subjects);
      const now = await sharedNow(trx);
      const mine = attempted.filter(({ end }) => free.has(end.claim.subject));
      const finished = await finishAll(trx, mine, now);
      const left = room(mine.map((one) => endedOf(finished.get(one))));
      if (left.limit <= 0) return { finished, claims: [], gateClosed: false };
      const wish = { owner: parts.owner, ...left, inFlight, takesOver, senders: parts.senders };
      return { finished, ...(await claim(trx, wish, now)) };
    });
    const ended: Ended[] = [];
    for (const one of attempted) {
      const written = finished.get(one);
      // Somebody else had its subject.
      ended.push(written === undefined ? await alone(one) : report(one, written));
    }
    return { ended, ...turn };
  }

  /** Waits for the subject. Throws only what must end the process. */
  async function alone(one: Attempted): Promise<Ended> {
    const { claim: claimed } = one.end;
    try {
      const finished = await transact(db, async (trx) => {
        await lockName(trx, claimed.subject);
        return finishAll(trx, [one], await sharedNow(trx));
      });
      return report(one, finished.get(one) ?? null);
    } catch (error) {
      if (isFatal(error)) throw error;
      log.error(
        { request_id: claimed.requestId, code: codeOf(error) || 'INTERNAL' },
        'attempt not written down',
      );
      return 'lost';
    }
  }

  async function finishAll(
    trx: Trx,
    attempted: readonly Attempted[],
    now: Date,
  ): Promise<Map<Attempted, Finished | null>> {
    if (attempted.length === 0) return new Map();
    const ends = attempted.map(({ end }) => end);
    const finished = await finish(trx, parts, ends, now);
    return new Map(attempted.map((one, index) => [one, finished[index] ?? null]));
  }

  function report({ end, ms }: Attempted, finished: Finished | null): Ended {
    const { requestId: request_id, kind, subject } = end.claim;
    const fields = { request_id, kind, ...('outcome' in end && { ms: Math.round(ms) }) };
    if (finished === null) {
      log.warn(fields, 'claim was taken over: its outcome is not written down');
      return 'lost';
    }
    const { how: state, reason, gate } = finished;
    if ('settle' in end) {
      const whose = kind === 'census' ? { employer_id: idOf(subject) } : {};
      log.warn({ ...fields, ...whose, state, reason }, 'request not sent');
      return state;
    }
    log[state === 'delivered' ? 'info' : 'warn']({ ...fields, state, reason }, 'attempt');
    if (gate !== null) log.warn({ state: gate, reason }, 'gate');
    return state;
  }
}

function endedOf(finished: Finished | null | undefined): Ended {
  return finished?.how ?? 'lost';
}
