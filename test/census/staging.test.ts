import { resumeRosterUpdates, updateRoster } from '../../src/census/roster-update.ts';
import { CHUNK_BYTES, currentCensus } from '../../src/census/staged.ts';
import { stageCensus, tidyCensuses } from '../../src/census/staging.ts';
import { systemClock } from '../../src/clock.ts';
import { census } from '../../src/contract/census.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { rosterOf } from '../../src/ledger/roster.ts';
import { open, scratch } from '../database/scratch.ts';
import { encryptor, setClock } from '../outbox/parts.ts';
import { onEachEngine, onEitherEngine, rawBytes } from '../support/engine.ts';
import { afterReads } from '../support/reads.ts';
import { age, censusOf, HOUR_MS, organization, person, sharedNow, stage, uploadText } from './parts.ts';

const test = onEitherEngine.with(scratch);

async function count(db: Db, table: 'census_chunks' | 'staged_censuses' | 'roster_facts'): Promise<number> {
  return (
    await db
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
  ).n;
}

const roster = async (db: Db, id: string) => (await rosterOf(db, [id])).get(id) ?? [];

test('the upload is the staged census without the pay group', async (t, { db }) => {
  const people = [person('e-1', { pay_group: 'north' }), person('e-2', { first_name: 'Zoë 😀 "]}\n' })];
  const staged = await stage(db, setClock(), censusOf(people));
  t.match(staged, { ok: true, employees: 2 });
  const uploaded: unknown = JSON.parse((await uploadText(t, db)) as string);
  t.ok(census.accepts(uploaded));
  t.strictSame(uploaded, { organization, employees: [person('e-1'), people[1]] });
  t.match(await currentCensus(db, 'a'), { employees: 2 });
  t.equal(await uploadText(t, db, 'nobody'), null);
});

test('a census that breaks the contract keeps the previous one', async (t, { db }) => {
  const clock = setClock();
  const good = censusOf([person('e-1')]);
  await stage(db, clock, good);
  const many = Array.from({ length: 3_000 }, (_, n) => person(`e-${n}`));
  const staged = await stage(db, clock, censusOf([...many, person('e-x', { dob: '2026-02-30' })]));
  t.match(staged, {
    ok: false,
    employees: 3_001,
    problemCount: 1,
    problems: [{ path: 'employees[3000].dob' }],
  });
  t.equal(await uploadText(t, db), good);
  t.equal(await count(db, 'staged_censuses'), 1);
  t.equal(await count(db, 'census_chunks'), 2);
  t.strictSame(await roster(db, 'e-5'), []);
});

test('no personal data is readable in the database or its log', async (t, { db, url }) => {
  await stage(db, setClock(), censusOf([person('e-1', { ssn: '078-05-1120', last_name: 'Canaryname' })]));
  const bytes = await rawBytes(db, url);
  t.ok(bytes.includes((await currentCensus(db, 'a'))!.census_id), 'the census is in the database');
  t.notOk(bytes.includes('078-05-1120') || bytes.includes('Canaryname'));
});

test('a replaced census is deleted when no upload can be reading it', async (t, { db }) => {
  await stage(db, systemClock, censusOf([person('e-1')]));
  await stage(db, systemClock, censusOf([person('e-2')]));
  await stage(db, systemClock, censusOf([person('e-9')]), { employerId: 'b' });
  t.match(JSON.parse((await uploadText(t, db)) as string), { employees: [{ employee_id: 'e-2' }] });
  t.equal(await tidyCensuses(db, sharedNow), 0);
  t.equal(await count(db, 'staged_censuses'), 3);
  await age(db, HOUR_MS);
  t.equal(await tidyCensuses(db, sharedNow), 1);
  t.equal(await count(db, 'staged_censuses'), 2);
  t.equal(await count(db, 'census_chunks'), 4);
});

/** Returns the rows of a census as they arrive, with a pause after the first ones. */
async function* paused(text: string, pause: () => Promise<unknown>): AsyncGenerator<Uint8Array> {
  const half = text.length >> 1;
  yield Buffer.from(text.slice(0, half));
  await pause();
  yield Buffer.from(text.slice(half));
}

const large = () => censusOf(Array.from({ length: 3_000 }, (_, n) => person(`e-${n}`)));

test('a staging whose process died is deleted after hours', async (t, { db }) => {
  const pause = async () => {
    await age(db, 5 * HOUR_MS);
    t.equal(await tidyCensuses(db, sharedNow), 0);
    await age(db, 7 * HOUR_MS);
    t.equal(await tidyCensuses(db, sharedNow), 1);
    t.equal(await count(db, 'staged_censuses'), 0);
    t.equal(await count(db, 'census_chunks'), 0);
  };
  const content = { format: 'json', content: paused(large(), pause) } as const;
  await t.rejects(stageCensus({ db, encryptor, sharedNow }, 'a', content), { code: 'ABANDONED' });
});

test('a census that a clean-up took for abandoned leaves the previous one current', async (t, { db }) => {
  const good = censusOf([person('e-1')]);
  await stage(db, systemClock, good);
  // All rows are written: only the step that makes the census current is left.
  async function* late(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(censusOf([person('e-2')]));
    await age(db, 7 * HOUR_MS);
    await tidyCensuses(db, sharedNow);
  }
  const staging = stageCensus({ db, encryptor, sharedNow }, 'a', { format: 'json', content: late() });
  await t.rejects(staging, { code: 'ABANDONED' });
  t.equal(await uploadText(t, db), good);
  t.equal(await count(db, 'staged_censuses'), 1);
  await stage(db, systemClock, large());
  t.ok((await count(db, 'census_chunks')) > large().length / CHUNK_BYTES);
  t.equal(await uploadText(t, db), large(), 'another attempt succeeds, with all chunks in order');
});

test('a clean-up removes nothing of a census that became current after it looked', async (t, { db, url }) => {
  const looked = Promise.withResolvers<void>();
  const isCurrent = Promise.withResolvers<void>();
  const other = afterReads(open(t, url), () => {
    looked.resolve();
    return isCurrent.promise;
  });
  let cleanUp: Promise<number> | undefined;
  const pause = async () => {
    await age(db, 7 * HOUR_MS);
    cleanUp = tidyCensuses(other, sharedNow);
    await looked.promise;
  };
  const content = { format: 'json', content: paused(large(), pause) } as const;
  t.match(await stageCensus({ db, encryptor, sharedNow }, 'a', content), { ok: true });
  isCurrent.resolve();
  t.equal(await cleanUp, 0);
  t.equal(await uploadText(t, db), large());
});

onEachEngine('the database refuses to remove chunks of a census that is not abandoned', async (t) => {
  const { db } = await scratch(t);
  await stage(db, systemClock, censusOf([person('e-1')]));
  const remove = () => transact(db, (trx) => trx.deleteFrom('census_chunks').execute());
  await t.rejects(remove(), { message: /abandoned/ });
  await transact(db, (trx) => trx.updateTable('staged_censuses').set({ state: 'abandoned' }).execute());
  await t.resolves(remove());
});

test('a census updates the roster, and the next one marks missing employees', async (t, { db }) => {
  const clock = setClock();
  const listed = censusOf([person('e-1', { pay_group: 'north', pay_frequency: 'weekly' }), person('e-2')]);
  await stage(db, clock, listed);
  t.match(await roster(db, 'e-1'), [
    { employer_id: 'a', hire_date: '2020-02-29', pay_group: 'north', pay_frequency: 'weekly', absent: 0 },
  ]);
  clock.advance(HOUR_MS);
  await stage(db, clock, censusOf([person('e-1', { pay_group: 'north', pay_frequency: 'weekly' })]));
  t.match(await roster(db, 'e-2'), [
    { absent: 0, hire_date: '2020-02-29' },
    { absent: 1, hire_date: null },
  ]);
  t.equal(await count(db, 'roster_facts'), 3, 'no fact for unchanged values');
  clock.advance(HOUR_MS);
  await stage(db, clock, censusOf([person('e-1'), person('e-2')]));
  t.match(await roster(db, 'e-2'), [{ absent: 0 }, { absent: 1 }, { absent: 0 }]);
});

test('an interrupted roster update is repeated and writes nothing twice', async (t, { db }) => {
  const clock = setClock();
  const people = Array.from({ length: 900 }, (_, n) => person(`e-${n}`));
  await stage(db, clock, censusOf(people));
  t.equal(await resumeRosterUpdates({ db, encryptor, sharedNow: async () => clock() }), 0);
  await transact(db, (trx) => trx.updateTable('staged_censuses').set({ roster_updated_at: null }).execute());
  t.equal(await resumeRosterUpdates({ db, encryptor, sharedNow: async () => clock() }), 1);
  t.equal(await count(db, 'roster_facts'), 900);
  const { roster_updated_at } = await db
    .selectFrom('staged_censuses')
    .select('roster_updated_at')
    .executeTakeFirstOrThrow();
  t.ok(roster_updated_at);
});

test('a roster update stops if its census is replaced', async (t, { db, url }) => {
  const clock = setClock();
  await stage(db, clock, censusOf([person('e-1')]));
  const censusId = (await currentCensus(db, 'a'))!.census_id;
  await transact(db, (trx) => trx.updateTable('staged_censuses').set({ roster_updated_at: null }).execute());
  const other = open(t, url);
  const replaced = { state: 'replaced', replaced_at: 'now' } as const;
  let raced = false;
  // Another process writes after the update has read that the census is current.
  const racing = afterReads(db, async () => {
    if (!raced) await transact(other, (trx) => trx.updateTable('staged_censuses').set(replaced).execute());
    raced = true;
  });
  await updateRoster({ db: racing, encryptor, sharedNow: async () => clock() }, censusId);
  t.match(await db.selectFrom('staged_censuses').selectAll().execute(), [{ roster_updated_at: null }]);
});
