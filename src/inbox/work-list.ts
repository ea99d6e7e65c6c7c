import { sql } from 'kysely';
import { engineOf } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { newestSeq } from './inbox.ts';

/** How often the start moves, and so how long a receiver may take to commit an event without it being passed over. */
const MOVE_MS = 1_000;
/** Looking back may take this share of the time: it steps over every entry that an old snapshot keeps in the index. */
const LOOK_BACK_SHARE = 1 / 50;
/** Seqs that one statement looks through: even if each has an entry in the index, that takes seconds at most. */
const SEQS_AT_ONCE = 1_000_000;

/**
 * Remembers where the pending events begin, so that the apply loop does not read their index from the beginning:
 * PostgreSQL keeps the index entries of events that are no longer pending while any older transaction is open
 * (`pg_dump`, a forgotten session). On SQLite there is nothing to skip, and the start is always 0.
 *
 * The start moves up to a seq only if no event up to it is pending a second after that seq was the newest. Looking back,
 * once a second while that is cheap, finds events below it: one whose transaction took longer to commit, or one that
 * another process set back to pending.
 */
export function createWorkListStart(db: Db) {
  if (engineOf(db) === 'sqlite') return { find: async () => 0, lookBack: () => {} };
  let start = 0;
  let newest: number | null = null;
  let moveAt = 0;
  let lookBackAt = 0;

  const move = async (): Promise<void> => {
    newest ??= await newestSeq(db);
    start = await beforePending(db, start, newest);
    newest = await newestSeq(db);
    moveAt = performance.now() + MOVE_MS;
  };
  const look = async (): Promise<void> => {
    const began = performance.now();
    start = await beforePending(db, 0, start);
    const now = performance.now();
    lookBackAt = now + Math.max(MOVE_MS, (now - began) / LOOK_BACK_SHARE);
  };

  return {
    /** Returns a seq such that reading the pending events after it misses none for long. */
    async find(): Promise<number> {
      if (performance.now() >= lookBackAt) await look();
      if (performance.now() >= moveAt) await move();
      return start;
    },
    /** Looks back at the next `find`: an older event may be pending again. */
    lookBack(): void {
      lookBackAt = 0;
    },
  };
}

/** Returns the seq before the lowest pending one of those after `from` up to `to`; `to` if there is none. */
async function beforePending(db: Db, from: number, to: number): Promise<number> {
  for (let after = from; after < to; after += SEQS_AT_ONCE) {
    const lowest = await db
      .selectFrom('inbox')
      .select('seq')
      .where('state', '=', sql.lit('pending'))
      .where('seq', '>', after)
      .where('seq', '<=', Math.min(after + SEQS_AT_ONCE, to))
      .orderBy('seq')
      .limit(1)
      .executeTakeFirst();
    if (lowest !== undefined) return lowest.seq - 1;
  }
  return to;
}
