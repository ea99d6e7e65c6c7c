import { sql } from 'kysely';
import { isOneOf } from '../database/bulk.ts';
import { forUpdate } from '../database/engine.ts';
import type { Trx } from '../database/tables.ts';

/**
 * The order of a subject. Of its unfinished requests the one being sent, else the oldest, is its head; no other
 * may be claimed. While the subject is held by a rejected new hire, no request of it is. Whoever changes a subject's
 * requests has locked its name first (engine.ts): one at a time decides which is the head.
 *
 * Conditions that a partial index stands for are written as SQL text: with bound values SQLite would not use it.
 */

/** Makes the right request of the subject its head. Whoever adds, finishes or revives a request ends with this. */
export function settleHead(trx: Trx, subject: string): Promise<void> {
  return settleHeads(trx, [subject]);
}

/**
 * The same for several subjects, with as many statements as for one. `headless`: those whose head the caller has
 * just ended; of them there is none to look for.
 */
export async function settleHeads(
  trx: Trx,
  subjects: readonly string[],
  headless: ReadonlySet<string> = new Set(),
): Promise<void> {
  const heads = await headsOf(
    trx,
    subjects.filter((subject) => !headless.has(subject)),
  );
  const sending = new Set(heads.filter(({ state }) => state === 'sending').map(({ subject }) => subject));
  const next = await nextHeads(
    trx,
    [...new Set(subjects)].filter((subject) => !sending.has(subject)),
  );
  const before = heads.filter(({ subject }) => !sending.has(subject)).map(({ seq }) => seq);
  // Never two of a subject at once: the one before goes first.
  await mark(
    trx,
    before.filter((seq) => !next.includes(seq)),
    0,
  );
  await mark(
    trx,
    next.filter((seq) => !before.includes(seq)),
    1,
  );
}

/** Locked: a send loop may be claiming one just now, and takes no other lock for that. */
async function headsOf(trx: Trx, subjects: readonly string[]) {
  if (subjects.length === 0) return [];
  return forUpdate(
    trx,
    trx
      .selectFrom('outbox')
      .select(['seq', 'state', 'subject'])
      .where(isOneOf(trx, 'subject', subjects))
      .where(sql<boolean>`head = 1`),
  ).execute();
}

async function mark(trx: Trx, seqs: readonly number[], head: 0 | 1): Promise<void> {
  if (seqs.length === 0) return;
  await trx
    .updateTable('outbox')
    .set({ head })
    .where(isOneOf(trx, 'seq', seqs))
    .execute();
}

async function nextHeads(trx: Trx, subjects: readonly string[]): Promise<number[]> {
  if (subjects.length === 0) return [];
  const { rows } = await nextHeadsOf(subjects).execute(trx);
  return rows.flatMap(({ next }) => next ?? []);
}

/**
 * Asks for the oldest unfinished request of each subject that has one and is not held by a rejected new hire.
 *
 * It is looked up as the first one from the subject on, which only the index can answer. Asked for the subject's own
 * in their order, PostgreSQL may read the whole table in that order instead: quick while a subject's requests are the
 * oldest, and with thousands of one employee, of which most are delivered, slower with each.
 */
export function nextHeadsOf(subjects: readonly string[]) {
  const given = sql.join(subjects.map((subject) => sql`(cast(${subject} as text))`));
  return sql<{ next: number | null }>`
    with given (subject) as (values ${given})
    select (
      select case when outbox.subject = given.subject then seq end from outbox
      where outbox.subject >= given.subject and finished_at is null order by outbox.subject, seq limit 1
    ) as next
    from given
    where not exists (select 1 from outbox where outbox.subject = given.subject and holding = 1)`;
}
