import { type CensusChanges, compareCensus, LISTED_MAX } from '../../src/census/diff.ts';
import { EMPLOYEE_FIELDS, ORGANIZATION_FIELDS } from '../../src/census/fingerprints.ts';
import { currentCensus, lastUpload, recordUpload } from '../../src/census/staged.ts';
import { tidyCensuses } from '../../src/census/staging.ts';
import { Organization } from '../../src/contract/census.ts';
import { Employee } from '../../src/contract/employee.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { address } from '../contract/samples.ts';
import { scratch } from '../database/scratch.ts';
import { encryptor, type SetClock, setClock } from '../outbox/parts.ts';
import { onEitherEngine, rawBytes } from '../support/engine.ts';
import {
  age,
  censusOf,
  contentOf,
  type Fields,
  HOUR_MS,
  organization,
  person,
  sharedNow,
  stage,
} from './parts.ts';

const test = onEitherEngine.with(scratch);

/** Stages a census and marks it as accepted by the service. */
async function upload(db: Db, clock: SetClock, text: string, employerId = 'a'): Promise<string> {
  const staged = await stage(db, clock, text, { employerId });
  if (!staged.ok) throw new Error('it was refused');
  await transact(db, (trx) => recordUpload(trx, employerId, staged.censusId, clock().toISOString()));
  return staged.censusId;
}

const compare = (db: Db, text: string, employerId = 'a') =>
  compareCensus({ db, encryptor }, employerId, contentOf(text), '2026-07-01');

async function changesOf(db: Db, text: string): Promise<CensusChanges> {
  const { changes } = await compare(db, text);
  if (changes === null) throw new Error('nothing was compared');
  return changes;
}

const count = async (db: Db, censusId: string): Promise<number> =>
  (
    await db
      .selectFrom('census_fingerprints')
      .select('employee_id')
      .where('census_id', '=', censusId)
      .execute()
  ).length;

onEitherEngine('every field in the interface is compared', async (t) => {
  t.strictSame(
    [...EMPLOYEE_FIELDS].sort(),
    Object.keys(Employee.properties)
      .filter((name) => name !== 'employee_id')
      .sort(),
  );
  t.strictSame([...ORGANIZATION_FIELDS].sort(), Object.keys(Organization.properties).sort());
});

test('added, absent, changed and unchanged employees are distinguished', async (t, { db }) => {
  const clock = setClock();
  const before = ['e-1', 'e-2', 'e-3', 'e-4'].map((id) => person(id, { ssn: '078-05-1120' }));
  const censusId = await upload(db, clock, censusOf(before));
  const { ssn: _, ...withoutSsn } = before[2] as Fields;
  const now = [
    before[1],
    person('e-5'),
    { ...withoutSsn, address: { ...address, line2: 'Apt 9' } },
    { ...before[0], pay_rate: [{ amount: '26.00', period: 'hourly', effective_start: '2025-01-01' }] },
  ];
  const other = censusOf(now, { organization: { ...organization, fein: '99-9999999' } });
  const compared = await compare(db, other);
  t.match(compared, { valid: true, employees: 4, problem_count: 0 });
  t.match(compared.last_upload, { census_id: censusId, uploaded_at: clock().toISOString(), employees: 4 });
  t.strictSame(compared.changes, {
    added: { count: 1, employee_ids: ['e-5'] },
    changed: {
      count: 2,
      employees: [
        { employee_id: 'e-3', fields: ['address', 'ssn'] },
        { employee_id: 'e-1', fields: ['pay_rate'] },
      ],
    },
    absent: { count: 1, employee_ids: ['e-4'] },
    unchanged: 1,
    organization: ['fein'],
  });
});

test('the same census in another order of rows and fields changes nothing', async (t, { db }) => {
  const reversed = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value)
            .reverse()
            .map(([name, part]) => [name, reversed(part)]),
        )
      : value;
  const people = ['e-1', 'e-2'].map((id) => person(id));
  await upload(db, setClock(), censusOf(people));
  const reordered = censusOf(people.map(reversed).reverse(), { organization: reversed(organization) });
  const changes = await changesOf(db, reordered);
  t.match(changes, { added: { count: 0 }, changed: { count: 0 }, absent: { count: 0 }, unchanged: 2 });
  t.strictSame(changes.organization, []);
  const grouped = people.map((fields) => ({ ...fields, pay_group: 'north' }));
  t.equal((await changesOf(db, censusOf(grouped))).unchanged, 2, 'a pay group is never uploaded');
});

test('before the first upload there is nothing to compare with', async (t, { db }) => {
  const first = { employees: 1, problem_count: 0, last_upload: null, changes: null };
  t.match(await compare(db, censusOf([person('e-1')])), first);
  t.strictSame(await db.selectFrom('hash_keys').selectAll().execute(), [], 'comparing creates no key');
  await stage(db, setClock(), censusOf([person('e-1')]));
  await upload(db, setClock(), censusOf([person('e-1')]), 'another employer');
  t.match(await compare(db, censusOf([person('e-1')])), { last_upload: null, changes: null });
});

test('a census that breaks the contract is not compared', async (t, { db }) => {
  await upload(db, setClock(), censusOf([person('e-1')]));
  const compared = await compare(db, censusOf([person('e-1', { dob: 'never' })]));
  t.match(compared, { valid: false, problem_count: 1, last_upload: { employees: 1 }, changes: null });
});

test('the first of many changes are listed and all are counted', async (t, { db }) => {
  const many = (from: number, fields: Fields = {}) =>
    Array.from({ length: LISTED_MAX + 100 }, (_, n) =>
      person(`e-${String(from + n).padStart(5, '0')}`, fields),
    );
  await upload(db, setClock(), censusOf([...many(0), ...many(10_000)]));
  const changes = await changesOf(db, censusOf([...many(0, { last_name: 'New' }), ...many(20_000)]));
  for (const [name, some] of Object.entries({
    added: changes.added.employee_ids,
    changed: changes.changed.employees,
    absent: changes.absent.employee_ids,
  })) {
    t.equal(some.length, LISTED_MAX, name);
    t.equal(changes[name as 'added'].count, LISTED_MAX + 100, name);
  }
  t.equal(changes.absent.employee_ids[0], 'e-10000');
  t.equal(changes.unchanged, 0);
});

test('the last upload is kept for comparison until it is replaced', async (t, { db }) => {
  const clock = setClock();
  const first = await upload(db, clock, censusOf([person('e-1'), person('e-2')]));
  await stage(db, clock, censusOf([person('e-1')]));
  await age(db, HOUR_MS);
  t.equal(await tidyCensuses(db, sharedNow), 1);
  t.equal(await tidyCensuses(db, sharedNow), 0, 'the kept part is not tidied again');
  const chunks = db.selectFrom('census_chunks').select('chunk').where('census_id', '=', first);
  t.strictSame(await chunks.execute(), [], 'its personal data is removed');
  t.equal(await count(db, first), 3);
  t.match(await changesOf(db, censusOf([person('e-1')])), { absent: { count: 1, employee_ids: ['e-2'] } });

  const second = await upload(db, clock, censusOf([person('e-1')]));
  t.equal((await lastUpload(db, 'a'))?.census_id, second);
  await tidyCensuses(db, sharedNow);
  t.equal(await count(db, first), 0);
  t.match(await changesOf(db, censusOf([person('e-1')])), { absent: { count: 0 }, unchanged: 1 });
  await age(db, HOUR_MS);
  await tidyCensuses(db, sharedNow);
  t.equal((await db.selectFrom('staged_censuses').select('census_id').execute()).length, 1);
});

test('a rejected or removed census leaves no fingerprints and is no upload', async (t, { db }) => {
  const clock = setClock();
  const many = Array.from({ length: 1_500 }, (_, n) => person(`e-${n}`));
  await stage(db, clock, censusOf([...many, person('e-x', { dob: 'never' })]));
  t.strictSame(await db.selectFrom('census_fingerprints').select('census_id').execute(), []);
  await stage(db, clock, censusOf(many));
  const replaced = (await currentCensus(db, 'a'))!.census_id;
  await stage(db, clock, censusOf([person('e-1')]));
  await transact(db, async (trx) => {
    await trx
      .updateTable('staged_censuses')
      .set({ state: 'abandoned' })
      .where('census_id', '=', replaced)
      .execute();
  });
  await transact(db, (trx) => recordUpload(trx, 'a', replaced, clock().toISOString()));
  t.equal(await lastUpload(db, 'a'), null);
  await tidyCensuses(db, sharedNow);
  t.equal(await count(db, replaced), 0);
});

test('a fingerprint reveals neither the value nor that two employees share it', async (t, { db, url }) => {
  await upload(
    db,
    setClock(),
    censusOf([person('e-1', { last_name: 'Canaryname' }), person('e-2', { last_name: 'Canaryname' })]),
  );
  t.notOk((await rawBytes(db, url)).includes('Canaryname'));
  const rows = await db.selectFrom('census_fingerprints').selectAll().execute();
  const slots = rows
    .flatMap(({ field_hashes }) =>
      Array.from({ length: field_hashes.length / 8 }, (_, at) =>
        field_hashes.toString('hex', at * 8, at * 8 + 8),
      ),
    )
    .filter((slot) => !/^0+$/.test(slot));
  t.ok(slots.length > 20);
  t.equal(new Set(slots).size, slots.length);
});
