/** What the inbox shows of the rhythm in which the service sends: read by number, a few hundred rows at most. */
import type { Clock } from '../clock.ts';
import type { Db } from '../database/tables.ts';
import { type Arrived, lastArrival, lastBefore, newestUpTo } from './arrivals.ts';
import {
  FEW_EVENTS,
  LEARNED_FROM_MS,
  PAUSE_MIN_MS,
  type Rhythm,
  type Silence,
  silenceOf,
} from './silence.ts';

/** Newest events among which some of the service are looked for; an import may have pushed them further back. */
const LOOKED_AT = 1_000;

export async function readRhythm(db: Db, now: Date): Promise<Rhythm> {
  const { created_at } = await db.selectFrom('instance').select('created_at').executeTakeFirstOrThrow();
  const madeAt = Date.parse(created_at);
  const last = await lastArrival(db);
  if (last === null) return { lastAt: null, madeAt, events: 0, pauses: [] };
  const from = new Date(now.getTime() - LEARNED_FROM_MS).toISOString();
  const lastAt = timeOf(last);
  if (last.received_at < from) return { lastAt, madeAt, events: 0, pauses: [] };
  const before = await lastBefore(db, from, last);
  const first = await firstBehind(db, before?.seq ?? 0);
  return {
    lastAt,
    madeAt,
    events: await countEvents(db, before?.seq ?? 0),
    pauses: first === null ? [] : await pausesBetween(db, first, last),
  };
}

/** Events of the service behind this number, at most `FEW_EVENTS`. */
async function countEvents(db: Db, behind: number): Promise<number> {
  const events = await db
    .selectFrom((newest) =>
      newest
        .selectFrom('inbox')
        .select('source')
        .where('seq', '>', behind)
        .orderBy('seq', 'desc')
        .limit(LOOKED_AT)
        .as('newest'),
    )
    .select('source')
    .where('source', '=', 'webhook')
    .limit(FEW_EVENTS)
    .execute();
  return events.length;
}

/**
 * The pauses between two events that are longer than `PAUSE_MIN_MS`. Halves that took less altogether are not looked
 * into, so that a million events cost no more than the few hundred rows around the pauses. An import between them ends
 * a pause, too: it takes part of one from the rhythm, no more.
 */
async function pausesBetween(db: Db, first: Arrived, last: Arrived): Promise<number[]> {
  const pauses: number[] = [];
  const spans: { from: number; fromAt: number; to: number; toAt: number }[] = [
    { from: first.seq, fromAt: timeOf(first), to: last.seq, toAt: timeOf(last) },
  ];
  for (let span = spans.pop(); span !== undefined; span = spans.pop()) {
    const { from, fromAt, to, toAt } = span;
    if (toAt - fromAt <= PAUSE_MIN_MS) continue;
    if (to - from <= 1) {
      pauses.push(toAt - fromAt);
      continue;
    }
    const middle = from + Math.floor((to - from) / 2);
    const row = await newestUpTo(db, middle);
    // Numbers may be missing: then nothing came between `from` and the middle.
    const atMiddle = row === null || row.seq <= from ? fromAt : timeOf(row);
    const below = row === null || row.seq <= from ? from : row.seq;
    if (below > from) spans.push({ from, fromAt, to: below, toAt: atMiddle });
    spans.push({ from: middle, fromAt: atMiddle, to, toAt });
  }
  return pauses;
}

async function firstBehind(db: Db, seq: number): Promise<Arrived | null> {
  const row = await db
    .selectFrom('inbox')
    .select(['seq', 'received_at', 'source'])
    .where('seq', '>', seq)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

function timeOf({ received_at }: Arrived): number {
  return Date.parse(received_at);
}

/** What is usual changes in days; a scrape comes each 15 seconds. */
const LEARNED_FOR_MS = 10 * 60_000;

/** The silence as of each call; what is usual is learned again every 10 minutes. */
export function createSilence(db: Db, now: Clock): () => Promise<Silence> {
  let learnedAt = Number.NEGATIVE_INFINITY;
  let rhythm: Rhythm | null = null;
  return async () => {
    const at = now();
    const age = at.getTime() - learnedAt;
    if (rhythm === null || age < 0 || age > LEARNED_FOR_MS) {
      rhythm = await readRhythm(db, at);
      learnedAt = at.getTime();
      return silenceOf(rhythm);
    }
    const last = await lastArrival(db);
    return silenceOf({ ...rhythm, lastAt: last === null ? null : timeOf(last) });
  };
}
