import type { Test } from 'tap';
import { CENSUS_HELD } from '../../src/census/checks.ts';
import type { CensusHold } from '../../src/census/holds.ts';
import { releaseSync } from '../../src/census/release.ts';
import { resumeRosterUpdates } from '../../src/census/roster-update.ts';
import { dismissSync } from '../../src/census/syncs.ts';
import { findingOf } from '../../src/checks.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { cancelManually } from '../../src/outbox/manual.ts';
import { report } from '../employment/stage.ts';
import { encryptor, type SetClock } from '../outbox/parts.ts';
import { json } from '../outbox/stub-service.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { censusOf, contentOf, type Fields, HOUR_MS, person, stage } from './parts.ts';
import { sendingCensuses } from './sending.ts';

const MINUTE_MS = 60_000;

/** `emp-1` to `emp-N`, each with these fields. */
const people = (count: number, fields: Fields = {}): Fields[] =>
  Array.from({ length: count }, (_, index) => person(`emp-${index + 1}`, fields));

type Sending = Awaited<ReturnType<typeof sendingCensuses>>;

/** Uploads a census. Returns a function that stages another one and requests its upload. */
async function uploaded({ put, ask, send, clock }: Sending, employees: readonly Fields[]) {
  let asked = 0;
  const sync = async (next: readonly Fields[]): Promise<void> => {
    clock.advance(MINUTE_MS);
    await put(censusOf(next));
    asked += 1;
    await ask(`event-${asked}`);
    await send();
  };
  await sync(employees);
  return sync;
}

const release = (
  db: Db,
  clock: SetClock,
  syncId: string,
  fields: { reviewed?: string; limit?: string[] } = {},
) => {
  const freshSince = new Date(clock().getTime() - 24 * HOUR_MS).toISOString();
  const why = { reason: 'they sold a branch', freshSince, ...fields };
  const parts = { db, openKeys: () => encryptor, sharedNow: async () => clock() };
  return releaseSync(parts, syncId, { ...why, ...acting(clock()) });
};

const findings = async (db: Db, clock: SetClock) => {
  const question = { now: clock(), clockWarning: null, overdueMs: HOUR_MS, silentAfterMs: null };
  return (await CENSUS_HELD.find(db, question)).map((found) => findingOf(CENSUS_HELD, found));
};

/** By how many of the last upload's employees stay of how many, whether the next census is held. */
const SHRINKS: readonly (readonly [last: number, kept: number, isHeld: boolean])[] = [
  [40, 40, false],
  [40, 36, false],
  [40, 35, true],
  [40, 0, true],
  [20, 18, false],
  [20, 17, true],
  [4, 2, false],
  [4, 1, true],
  [2, 1, false],
  [2, 0, true],
  [1, 0, true],
];

onEitherEngine('a census that lacks many employees of the last upload is held', async (t) => {
  for (const [last, kept, isHeld] of SHRINKS) {
    const sending = await sendingCensuses(t);
    const { received, syncs, requests } = sending;
    const sync = await uploaded(sending, people(last));
    await sync([...people(kept), person('hired')]);
    const what = `${kept} of ${last}`;
    t.equal(received.length, isHeld ? 1 : 2, what);
    const newest = (await syncs()).at(-1);
    t.equal(newest?.state, isHeld ? 'held' : 'uploaded', what);
    if (!isHeld) continue;
    const [hold, ...others] = JSON.parse(newest?.held_for ?? '') as CensusHold[];
    t.equal(others.length, 0);
    t.match(hold, { cause: 'employees-missing', count: last - kept });
    t.strictSame(
      hold?.employee_ids.toSorted(),
      people(last)
        .slice(kept)
        .map((row) => row.employee_id)
        .toSorted(),
    );
    t.match((await requests()).at(-1), { state: 'canceled', reason: /missing: release the census/ });
  }
});

onEitherEngine('employees whose termination was reported, or was uploaded, do not count', async (t) => {
  const left = { termination_date: '2026-01-15' };
  /** Of 20 employees, `emp-1` to `emp-10` stay. */
  const cases: readonly [string, Fields[], (db: Db, clock: SetClock) => Promise<unknown>, state: string][] = [
    ['none', people(20), async () => {}, 'held'],
    ['uploaded', [...people(10), ...people(20, left).slice(10)], async () => {}, 'uploaded'],
    ['reported', people(20), (db, clock) => reportAll(db, clock, 11, 20), 'uploaded'],
    ['all but two reported', people(20), (db, clock) => reportAll(db, clock, 11, 18), 'uploaded'],
    ['all but three reported', people(20), (db, clock) => reportAll(db, clock, 11, 17), 'held'],
    ['canceled', people(20), cancelAll, 'held'],
    ['hired again', people(20), rehireAll, 'held'],
  ];
  for (const [what, employees, act, state] of cases) {
    const sending = await sendingCensuses(t);
    const sync = await uploaded(sending, employees);
    await act(sending.db, sending.clock);
    await sync(people(10));
    t.equal((await sending.syncs()).at(-1)?.state, state, what);
  }

  async function reportAll(db: Db, clock: SetClock, from: number, to: number): Promise<string[]> {
    const changes: string[] = [];
    for (let n = from; n <= to; n += 1)
      changes.push(await report(db, 'termination', `emp-${n}`, { fields: left, clock }));
    return changes;
  }
  async function cancelAll(db: Db, clock: SetClock): Promise<void> {
    const canceling = { reason: 'a mistake', ...acting(clock()) };
    for (const change of await reportAll(db, clock, 11, 20))
      await transact(db, (trx) => cancelManually(trx, change, canceling));
  }
  async function rehireAll(db: Db, clock: SetClock): Promise<void> {
    await reportAll(db, clock, 11, 20);
    const fields = { employer_id: 'a', hire_date: '2026-01-20' };
    for (let n = 11; n <= 20; n += 1) await report(db, 'new-hire', `emp-${n}`, { fields, clock });
  }
});

onEitherEngine('a release uploads the held census for all its syncs, and no other', async (t) => {
  const sending = await sendingCensuses(t);
  const { db, clock, ask, send, syncs, received } = sending;
  const sync = await uploaded(sending, people(40));
  await sync(people(2));
  await ask('another request');
  await send();
  t.match(await syncs(), [{ state: 'uploaded' }, { state: 'held' }, { state: 'held' }]);
  const [, first] = await syncs();
  t.match(await findings(db, clock), [
    { check: 'census-held', employer_id: 'a', text: /^a: 38 employees .*emp-40, / },
  ]);
  await t.rejects(release(db, clock, 'unknown'), { code: 'NOT_FOUND' });
  await t.rejects(release(db, clock, first!.sync_id, { reviewed: 'older' }), {
    code: 'CONFLICT',
    message: /Another census/,
  });
  await release(db, clock, first!.sync_id, { reviewed: first!.held_census_id! });
  t.strictSame(await findings(db, clock), []);
  await send();
  t.equal(received.length, 2);
  const done = { state: 'uploaded', held_census_id: null, held_for: null, reason: null };
  t.match(await syncs(), [{ state: 'uploaded' }, done, done]);
  await t.rejects(release(db, clock, first!.sync_id), { code: 'CONFLICT', message: /not held/ });
  t.match(
    await db
      .selectFrom('audit_records')
      .select(['resource_id', 'reason', 'details'])
      .where('action', '=', 'census-sync.release')
      .execute(),
    [{ resource_id: first?.sync_id, reason: 'they sold a branch', details: /"count":38/ }],
  );
  await sync(people(40));
  await sync(people(2));
  t.match((await syncs()).at(-1), { state: 'held' }, 'a later census is checked again');
});

onEitherEngine('a held sync continues with another census, and can be dismissed', async (t) => {
  const sending = await sendingCensuses(t);
  const { db, clock, put, send, syncs, received } = sending;
  const sync = await uploaded(sending, people(40));
  await sync(people(2));
  await put(censusOf(people(3)));
  await send();
  t.match((await syncs()).at(-1), { state: 'held', held_for: /"count":37/ });
  await put(censusOf(people(39)));
  await send();
  t.match((await syncs()).at(-1), { state: 'uploaded', held_for: null });
  t.equal(received.length, 2);
  await sync(people(2));
  const { sync_id } = (await syncs()).at(-1)!;
  const overdueBefore = new Date(0).toISOString();
  const dismissal = { reason: 'the employer left', overdueBefore, ...acting(clock()) };
  t.equal(await transact(db, (trx) => dismissSync(trx, sync_id, dismissal)), true);
  t.strictSame(await findings(db, clock), []);
});

onEitherEngine('a held census is not released when it is older than CENSUS_MAX_AGE', async (t) => {
  const sending = await sendingCensuses(t);
  const { db, clock, syncs } = sending;
  const sync = await uploaded(sending, people(40));
  await sync(people(2));
  clock.advance(25 * HOUR_MS);
  await t.rejects(release(db, clock, (await syncs()).at(-1)!.sync_id), {
    code: 'CONFLICT',
    message: /older than CENSUS_MAX_AGE/,
  });
});

onEitherEngine('a source that shrinks is fetched again only by a new request', async (t) => {
  const texts = [people(40), people(2), people(3), people(40)].map((employees) => censusOf(employees));
  const sending = await sendingCensuses(t, { fetch: (n) => contentOf(texts[n] ?? '') });
  const { db, clock, ask, send, syncs, received, fetches } = sending;
  await ask('first');
  await send();
  const asked = async (eventId: string): Promise<void> => {
    clock.advance(MINUTE_MS);
    await ask(eventId);
    await send();
  };
  await asked('second');
  for (let n = 0; n < 8; n += 1) {
    clock.advance(HOUR_MS);
    await send();
  }
  t.equal(fetches(), 2);
  await asked('third');
  t.equal(fetches(), 3);
  t.match(await syncs(), [{ state: 'uploaded' }, { state: 'held' }, { state: 'held' }]);
  await release(db, clock, (await syncs())[1]!.sync_id);
  await send();
  t.equal(fetches(), 3, 'the fetched census was uploaded');
  t.equal(received.length, 2);
  t.match(await syncs(), [{ state: 'uploaded' }, { state: 'uploaded' }, { state: 'uploaded' }]);
});

onEitherEngine('a census staged or released while it is being held is not missed', async (t) => {
  const sending = await sendingCensuses(t);
  const { db, put, ask, syncs } = sending;
  await uploaded(sending, people(40));
  await put(censusOf(people(2)));
  await ask('held');
  const decide = await sending.decide();
  await put(censusOf(people(40)));
  t.match(await transact(db, decide), { outcome: 'later', delayMs: 0 });
  t.match((await syncs()).at(-1), { state: 'requested' });
});

/** The source of `a` names `emp-1`, whom `b` employs, and `emp-2`; at the next fetch, `next`. */
async function fetchedElsewhere(t: Test, next: readonly Fields[] = people(2), fields: Fields = {}) {
  const sending = await sendingCensuses(t, { fetch: (n) => contentOf(censusOf(n === 0 ? people(2) : next)) });
  const { db, clock, ask, send } = sending;
  await stage(db, clock, censusOf([person('emp-1', fields)]), { employerId: 'b' });
  const sync = async (eventId: string) => {
    clock.advance(MINUTE_MS);
    await ask(eventId);
    await send();
  };
  await sync('first');
  const employees = async () => {
    const rows = await db.selectFrom('roster').select('employee_id').where('employer_id', '=', 'a').execute();
    return rows.map(({ employee_id }) => employee_id).sort();
  };
  return { ...sending, sync, employees };
}

onEitherEngine(
  'a fetched census with employees of another employer is held, and counts for nothing',
  async (t) => {
    const { db, clock, sync, syncs, received, employees } = await fetchedElsewhere(t, people(2).slice(1));
    const [held] = await syncs();
    t.match(held, {
      state: 'held',
      reason: /^1 employee belongs to another employer: .*a token that sees both/,
    });
    const holds = [{ cause: 'employees-elsewhere', count: 1, employee_ids: ['emp-1'] }];
    t.strictSame(JSON.parse(held?.held_for ?? ''), holds);
    t.match(await findings(db, clock), [
      { check: 'census-held', sync_id: String, text: /^a: 1 employee .*: emp-1$/ },
    ]);
    t.equal(await resumeRosterUpdates({ db, encryptor, sharedNow: async () => clock() }), 0);
    t.strictSame([received.length, await employees()], [0, []]);
    await t.rejects(release(db, clock, held!.sync_id, { limit: ['a'] }), { code: 'EMPLOYEE_ELSEWHERE' });
    await t.rejects(release(db, clock, held!.sync_id, { limit: ['a', 'c'] }), { code: 'EMPLOYEE_ELSEWHERE' });
    t.strictSame(await employees(), []);
    await sync('corrected');
    t.match(await syncs(), [{ state: 'uploaded' }, { state: 'uploaded' }]);
    t.strictSame([received.length, await employees()], [1, ['emp-2']]);
  },
);

onEitherEngine('a caller who sees both employers releases it, and later fetches may name them', async (t) => {
  for (const limit of [undefined, ['a', 'b']]) {
    const { db, clock, sync, send, syncs, received, employees } = await fetchedElsewhere(t);
    const { sync_id } = (await syncs())[0]!;
    await release(db, clock, sync_id, { ...(limit && { limit }) });
    t.strictSame(await employees(), ['emp-1', 'emp-2'], 'both count from then on');
    await send();
    t.match(await syncs(), [{ state: 'uploaded' }]);
    t.equal(received.length, 1);
    await sync('later');
    t.match(await syncs(), [{ state: 'uploaded' }, { state: 'uploaded' }]);
  }
});

onEitherEngine('a held census with the id of another person is not released', async (t) => {
  const { db, clock, syncs, employees } = await fetchedElsewhere(t, [], { dob: '1971-02-03' });
  const { sync_id } = (await syncs())[0]!;
  await t.rejects(
    release(db, clock, sync_id, { limit: ['a'] }),
    { code: 'EMPLOYEE_ELSEWHERE' },
    'no comparison',
  );
  await t.rejects(release(db, clock, sync_id), { code: 'CENSUS_REFUSED', message: /other persons/ });
  t.match([(await syncs())[0]?.state, await employees()], ['held', []]);
});

onEitherEngine('a census whose employee went to another employer since is held', async (t) => {
  const sending = await sendingCensuses(t, {
    fetch: () => contentOf(censusOf([...people(1), person('left', { termination_date: '2026-01-15' })])),
    answer: (response, _, index) => json(response, index === 0 ? 503 : 200),
  });
  const { db, clock, ask, send, syncs, received, fetches } = sending;
  await ask('first');
  await send();
  clock.advance(MINUTE_MS);
  await report(db, 'termination', 'emp-1', { fields: { termination_date: '2026-01-20' }, clock });
  for (const id of ['emp-1', 'left']) {
    const fields = { employer_id: 'b', hire_date: '2026-01-21' };
    await report(db, 'new-hire', id, { fields, clock });
  }
  clock.advance(HOUR_MS);
  await send();
  t.equal(fetches(), 1);
  t.equal(received.length, 1, 'the retry is not sent');
  t.match((await syncs())[0], { state: 'held', held_for: /"count":1,"employee_ids":\["emp-1"\]/ });
});
