/** When silence is worth a look, on the rhythms of payrolls of every size. */
import fc from 'fast-check';
import t from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { isTooLong, PAUSE_MIN_MS, silenceOf } from '../../src/inbox/silence.ts';
import { createSilence, readRhythm } from '../../src/inbox/staleness.ts';
import { scratch } from '../database/scratch.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A Wednesday. */
const NOW = new Date('2026-03-25T12:00:00.000Z');

/** Puts events of these instants into the inbox, in order. */
async function came(db: Db, times: readonly number[], source: 'webhook' | 'import' = 'webhook') {
  const rows = times.map((at, index) => ({
    event_id: `${source}-${at}-${index}`,
    source,
    received_at: new Date(at).toISOString(),
    body: Buffer.from('{}'),
    state: 'ignored' as const,
    finished_at: NOW.toISOString(),
  }));
  for (let from = 0; from < rows.length; from += 500) {
    await transact(db, (trx) =>
      trx
        .insertInto('inbox')
        .values(rows.slice(from, from + 500))
        .execute(),
    );
  }
}

async function silence(db: Db, now = NOW) {
  const { since, allowedMs } = silenceOf(await readRhythm(db, now));
  return {
    hours: Math.round((now.getTime() - since) / HOUR),
    allowed: Math.round(allowedMs / HOUR),
    tooLong: isTooLong({ since, allowedMs }, now),
  };
}

/** One an hour between 9 and 17 on work days, until this long before now. */
function officeHours(untilHours: number): number[] {
  return Array.from({ length: 28 * 24 }, (_, index) => NOW.getTime() - (28 * 24 - index) * HOUR).filter(
    (at) => {
      const day = new Date(at);
      const atWork = day.getUTCHours() >= 9 && day.getUTCHours() <= 17 && day.getUTCDay() % 6 !== 0;
      return atWork && at <= NOW.getTime() - untilHours * HOUR;
    },
  );
}

t.test('a large payroll, with events at all hours, is silent after a day', async (t) => {
  const { db } = await scratch(t);
  const often = Array.from({ length: 2_000 }, (_, index) => NOW.getTime() - 23 * HOUR - index * 20 * 60_000);
  await came(db, often.reverse());
  t.strictSame(await silence(db), { hours: 23, allowed: 24, tooLong: false });
  t.match(await silence(db, new Date(NOW.getTime() + 2 * HOUR)), { hours: 25, tooLong: true });
});

t.test('weekends, and one with a holiday, are no silence where they are usual', async (t) => {
  const { db } = await scratch(t);
  await came(db, officeHours(67));
  // From Friday at 17 until Monday at 9 nobody works.
  t.match(await silence(db), { allowed: 128, tooLong: false });
  const last = (await readRhythm(db, NOW)).lastAt ?? 0;
  t.equal((await silence(db, new Date(last + 64 * HOUR))).tooLong, false, 'a weekend');
  t.equal((await silence(db, new Date(last + 112 * HOUR))).tooLong, false, 'Easter');
  t.equal((await silence(db, new Date(last + 6 * DAY))).tooLong, true, 'a week');
});

t.test('an outage of last week does not become what is usual', async (t) => {
  const { db } = await scratch(t);
  const every = Array.from({ length: 28 * 24 }, (_, index) => NOW.getTime() - (28 * 24 - index) * HOUR);
  await came(
    db,
    every.filter((at) => at < NOW.getTime() - 12 * DAY || at > NOW.getTime() - 6 * DAY),
  );
  t.match(await silence(db), { allowed: 24 });
});

t.test('a small employer, with an event a week, is left in peace for two weeks', async (t) => {
  const { db } = await scratch(t);
  await came(
    db,
    [40, 33, 26, 19, 12].map((days) => NOW.getTime() - days * DAY),
  );
  t.match(await silence(db), { hours: 12 * 24, allowed: 14 * 24, tooLong: false });
  t.match(await silence(db, new Date(NOW.getTime() + 3 * DAY)), { tooLong: true });
});

t.test('a new sidecar that never got an event is asked about after a day', async (t) => {
  const { db } = await scratch(t);
  const made = Date.parse('2026-01-31T09:30:00.000Z');
  t.match(await silence(db, new Date(made + 20 * HOUR)), { hours: 20, allowed: 24, tooLong: false });
  t.match(await silence(db, new Date(made + 25 * HOUR)), { tooLong: true });
  await came(db, [made + HOUR]);
  t.match(await silence(db, new Date(made + 25 * HOUR)), { hours: 24, tooLong: false }, 'one came');
});

t.test('an import neither ends a silence nor makes a rhythm', async (t) => {
  const { db } = await scratch(t);
  await came(db, [NOW.getTime() - 20 * DAY]);
  await came(db, new Array(1_200).fill(NOW.getTime() - 2 * DAY), 'import');
  t.match(await silence(db), { hours: 480, allowed: 336, tooLong: true });
});

t.test('pauses are found as if every event was looked at', async (t) => {
  const { db } = await scratch(t);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.integer({ min: 1, max: HOUR }), fc.integer({ min: 1, max: 3 * DAY })), {
        minLength: 1,
        maxLength: 60,
      }),
      fc.array(fc.nat(59), { maxLength: 20 }),
      async (gaps, removed) => {
        await transact(db, (trx) => trx.deleteFrom('inbox').execute());
        const times: number[] = [];
        for (const gap of gaps) times.unshift((times[0] ?? NOW.getTime()) - gap);
        await came(db, times);
        // Numbers that nobody has.
        const rows = await db.selectFrom('inbox').select(['seq', 'received_at']).orderBy('seq').execute();
        const gone = new Set(removed.map((index) => rows[index]?.seq));
        await transact(db, async (trx) => {
          for (const seq of gone) if (seq) await trx.deleteFrom('inbox').where('seq', '=', seq).execute();
        });
        const left = rows.filter(({ seq }) => !gone.has(seq)).map((row) => Date.parse(row.received_at));
        const lately = left.filter((at) => at >= NOW.getTime() - 28 * DAY);
        const expected = lately
          .slice(1)
          .map((at, index) => at - (lately[index] as number))
          .filter((pause) => pause > PAUSE_MIN_MS);
        const { pauses, lastAt, events } = await readRhythm(db, NOW);
        t.strictSame(pauses.toSorted(), expected.toSorted());
        t.equal(lastAt, left.at(-1) ?? null);
        t.equal(events, Math.min(10, lately.length));
      },
    ),
    { numRuns: 40 },
  );
});

t.test(
  'for metrics the rhythm is learned now and then, and the last event is looked at each time',
  async (t) => {
    const { db } = await scratch(t);
    let now = NOW;
    const read = createSilence(db, () => now);
    await came(db, officeHours(1));
    const first = await read();
    t.equal(first.allowedMs, 128 * HOUR);
    await came(db, [NOW.getTime() + 1]);
    t.strictSame(await read(), { since: NOW.getTime() + 1, allowedMs: 128 * HOUR });
    await transact(db, (trx) => trx.deleteFrom('inbox').execute());
    await came(db, [NOW.getTime() + 2]);
    t.equal((await read()).allowedMs, 128 * HOUR, 'not learned anew');
    now = new Date(NOW.getTime() + 11 * 60_000);
    t.equal((await read()).allowedMs, 14 * DAY, 'learned anew');
  },
);
