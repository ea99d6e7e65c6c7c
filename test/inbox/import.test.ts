import type { Db } from '../../src/database/tables.ts';
import { type RowFormat, type RowResult, type Rows, readRows } from '../../src/formats/rows.ts';
import { IMPORT_COLUMNS, importDeductions } from '../../src/inbox/import.ts';
import { getDeduction, versionsOf } from '../../src/ledger/deductions.ts';
import { apply, deductionOf, deliver } from '../api/deliver.ts';
import { deduction as sample } from '../contract/samples.ts';
import { scratch } from '../database/scratch.ts';
import { parts, refusedFor } from '../formats/read.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employment, learn } from '../support/payroll.ts';

const test = onEitherEngine.with(scratch);

const BEFORE = '2026-03-01T08:00:00.000Z';
const NOW = '2026-03-01T12:00:00.000Z';
const LATER = '2026-03-02T12:00:00.000Z';
const TODAY = '2026-03-01';

type Fields = Record<string, string | null | undefined>;

/** The sample deduction with another id and the given fields. */
const row = (id: string, fields: Fields = {}): Fields => ({ ...sample, id, ...fields });

const ndjson = (rows: readonly Fields[]): string => rows.map((one) => `${JSON.stringify(one)}\n`).join('');

const opening =
  (text: string, format: RowFormat = 'ndjson') =>
  (): Rows =>
    readRows(parts(text), format, IMPORT_COLUMNS);

const importing = (db: Db, rows: readonly Fields[], now = NOW) =>
  importDeductions(db, opening(ndjson(rows)), acting(now));

const problemsOf = (db: Db, ...rows: Fields[]) => refusedFor(() => importing(db, rows));

const inbox = (db: Db) => db.selectFrom('inbox').selectAll().orderBy('seq').execute();

/** The amount of a deduction's latest state. */
async function amount(db: Db, id: string): Promise<string | undefined> {
  return (await getDeduction(db, id, TODAY))?.version.member_contribution;
}

test('a file becomes pending events, which the apply loop applies', async (t, { db }) => {
  const rows = [
    row('ded-1', { description: 'Plan A', effective_start: '2026-01-01T05:31:56Z', coverage_type: null }),
    row('ded-2', { created_at: '2026-02-01T00:00:00Z' }),
  ];
  t.strictSame(await importing(db, rows), { rows: 2, placeholders: 0, stored: 2, warnings: [] });
  t.match(await inbox(db), [
    { event_id: /^import_[0-9a-f]{64}$/, source: 'import', received_at: NOW, state: 'pending' },
    { source: 'import', state: 'pending' },
  ]);
  await apply(db, LATER);
  t.match(await inbox(db), [
    { state: 'applied', event_type: 'employee.deduction-updated' },
    { state: 'applied' },
  ]);
  const [first, second] = [await getDeduction(db, 'ded-1', TODAY), await getDeduction(db, 'ded-2', TODAY)];
  t.match(first?.version, {
    description: 'Plan A',
    effective_start: '2026-01-01T05:31:56Z',
    starts_on: '2026-01-01',
    member_contribution: '150.00',
    event_time: '2026-03-01T12:00:00.000000000Z',
    ordered_by: 'receipt',
    future_dated: 0,
  });
  t.match(second?.version, { created_at: '2026-02-01T00:00:00Z', ordered_by: 'created_at', late: 0 });
});

test('a row that ends before it starts has a warning', async (t, { db }) => {
  const window = (id: string, effective_end: string) =>
    row(id, { effective_start: '2026-01-01T05:31:56Z', effective_end });
  const { warnings } = await importing(db, [window('ded-1', '2026-01-01'), window('ded-2', '1999-12-31')]);
  t.strictSame(warnings, [
    { path: 'deductions[1].effective_end', rule: 'is before effective_start: no run takes the deduction' },
  ]);
});

test('importing a file again changes nothing, in any format and column order', async (t, { db }) => {
  const rows = [
    row('ded-1', { description: 'a, "b"' }),
    row('ded-2', { created_at: '2026-02-01T00:00:00Z' }),
  ];
  t.match(await importing(db, rows), { stored: 2 });
  await apply(db);
  const before = await inbox(db);
  t.strictSame(await importing(db, rows, LATER), { rows: 2, placeholders: 0, stored: 0, warnings: [] });
  const names = [...IMPORT_COLUMNS.required, ...IMPORT_COLUMNS.optional].toReversed();
  const csv = [
    names.join(),
    ...rows.map((one) => names.map((name) => `"${(one[name] ?? '').replaceAll('"', '""')}"`).join()),
  ].join('\r\n');
  const known = { rows: 2, placeholders: 0, stored: 0, warnings: [] };
  t.strictSame(await importDeductions(db, opening(csv, 'csv'), acting(LATER)), known);
  const json = JSON.stringify({ deductions: rows });
  const same = { rows: 2, placeholders: 0, stored: 0, warnings: [] };
  t.strictSame(await importDeductions(db, opening(json, 'json'), acting(LATER)), same);
  t.strictSame(await inbox(db), before);
  const again = await importing(db, [...rows, row('ded-3')], LATER);
  t.match(again, { rows: 3, stored: 1 }, 'one more row adds one event');
});

test('a corrected row is a newer state', async (t, { db }) => {
  await importing(db, [row('ded-1', { member_contribution: '15' })]);
  await apply(db);
  t.match(await importing(db, [row('ded-1')], LATER), { stored: 1 });
  await apply(db, LATER);
  t.equal(await amount(db, 'ded-1'), '150.00');
  const { versions } = await versionsOf(db, 'ded-1', { limit: 10 }, TODAY);
  t.equal(versions.length, 2);
});

test('a row overwrites an event from the service only if its time is later', async (t, { db }) => {
  await deliver(db, [deductionOf('evt-1', { id: 'ded-1', member_contribution: '99' }, BEFORE)], BEFORE);
  t.strictSame(await problemsOf(db, row('ded-2'), row('ded-1')), [
    'deductions[1].created_at: is required: the service has sent this deduction, and only a time shows which state is newer',
  ]);
  t.equal((await inbox(db)).length, 1, 'no row of the file is stored');
  await importing(db, [row('ded-1', { created_at: '2026-03-01T07:59:59Z' })]);
  await apply(db, LATER);
  t.equal(await amount(db, 'ded-1'), '99', 'an older state is kept as a late version');
  await importing(db, [row('ded-1', { created_at: '2026-03-01T08:00:01Z' })]);
  await apply(db, LATER);
  t.equal(await amount(db, 'ded-1'), '150.00');
});

test('a field that breaks the contract is named and rejects the whole file', async (t, { db }) => {
  const problems = await problemsOf(
    db,
    row('ded-1'),
    row('ded-2', { employee_id: null }),
    row('ded-3', { member_contribution: '1,5', line_of_coverage: 'Medical', effective_start: '2026-02-30' }),
    row('ded-4', { created_at: 'yesterday' }),
    row('ded-5', { created_at: '2026-03-01T12:00:01Z' }),
    row('ded-7', { created_at: '1970-01-01T00:00:00Z' }),
    row('x'.repeat(300)),
    { ...row('ded-6'), nickname: 'x' },
  );
  t.strictSame(problems, [
    'deductions[1].employee_id: is required',
    'deductions[2].line_of_coverage: must be one of accident, accidental_death, cancer, commuter_transit, dental, dependent_care_fsa, healthcare_fsa, hospital_indemnity, hsa, life, limited_purpose_fsa, long_term_disability, medical, short_term_disability, supplemental, vision, voluntary_critical_illness, voluntary_life, voluntary_accidental_death, voluntary_short_term_disability; did you mean medical?',
    'deductions[2].member_contribution: must be a plain decimal number as a string, at most 40 digits on each side of the point',
    'deductions[2].effective_start: must be a date or an ISO 8601 timestamp, of a real day',
    'deductions[3].created_at: must be an ISO 8601 date and time',
    'deductions[4].created_at: must not be later than now',
    'deductions[5].created_at: must be in 2000 or later',
    'deductions[6].id: must be at most 255 characters',
    'deductions[7].nickname: is not a field of this file',
  ]);
  t.strictSame(await problemsOf(db), ['deductions: must have at least 1 element']);
  t.strictSame(await inbox(db), [], 'nothing is half-done');
});

test('rows of one deduction need times, which decide their order', async (t, { db }) => {
  const at = (created_at: string | null, member_contribution: string) =>
    row('ded-1', { created_at, member_contribution });
  const rule = 'is the same as deductions[0].id: rows of one deduction need created_at';
  t.strictSame(await problemsOf(db, at(null, '1'), at(null, '1')), [`deductions[1].id: ${rule}`]);
  t.strictSame(await problemsOf(db, at('2026-01-01T00:00:00Z', '1'), at(null, '2')), [
    `deductions[1].id: ${rule}`,
  ]);
  t.strictSame(await problemsOf(db, at(null, '1'), at('2026-01-01T00:00:00Z', '2')), [
    `deductions[1].id: ${rule}`,
  ]);
  await importing(db, [
    at('2026-02-01T00:00:00Z', '2'),
    at('2026-01-01T00:00:00Z', '1'),
    at('2026-02-03T00:00:00+05:00', '3'),
  ]);
  await apply(db);
  t.equal(await amount(db, 'ded-1'), '3');
});

test('a file that changes between the two passes is rejected', async (t, { db }) => {
  const reading = (...texts: string[]) => {
    const left = [...texts];
    return () => opening(left.shift() ?? '')();
  };
  const one = ndjson([row('ded-1')]);
  const others = [ndjson([row('ded-1'), row('ded-2')]), ndjson([row('ded-2')]), '', '{}\n'];
  for (const other of others)
    await t.rejects(importDeductions(db, reading(one, other), acting(NOW)), { code: 'FILE_CHANGED' });
  async function* breaking(): AsyncGenerator<RowResult> {
    yield { path: 'deductions[0]', fields: {} };
    throw new Error('reset');
  }
  await t.rejects(importDeductions(db, breaking, acting(NOW)), { message: 'reset' });
});

/** A row without an id of the service, and with the given fields. */
const unnamed = (employee_id: string, fields: Fields = {}): Fields => ({
  ...row('', { employee_id, ...fields }),
  id: undefined,
});

test('a row without an ID becomes a placeholder, which a corrected row of the same replaces', async (t, {
  db,
}) => {
  const rows = [unnamed('emp-1'), row('ded-2')];
  t.strictSame(await importing(db, rows), { rows: 2, placeholders: 1, stored: 2, warnings: [] });
  await apply(db);
  t.match(await importing(db, rows, LATER), { stored: 0 });
  t.match(await importing(db, [unnamed('emp-1', { member_contribution: '9' })], LATER), { stored: 1 });
  await apply(db, LATER);
  t.equal(await amount(db, 'placeholder:emp-1:medical:pre_tax'), '9');
  const exported = row('placeholder:emp-1:medical:pre_tax', { employee_id: 'emp-1' });
  t.match(await importing(db, [exported], LATER), { stored: 0 }, 'its own ID means the same');
});

test('a row without an ID must be the only one of its employee, line of coverage and taxability', async (t, {
  db,
}) => {
  const rows = [
    unnamed('emp-1'),
    unnamed('emp-1', { taxability: 'post_tax' }),
    unnamed('emp-1', { member_contribution: '9' }),
    row('placeholder:emp-2:medical:pre_tax', { employee_id: 'emp-1' }),
    unnamed('emp-1', { employee_id: undefined }),
  ];
  t.strictSame(await problemsOf(db, ...rows), [
    'deductions[2].id: is required: deductions[0] is of the same employee, line of coverage and taxability. Without IDs, make one row of both',
    'deductions[3].id: must be an ID of the benefits service: leave it out if it is unknown',
    'deductions[4].employee_id: is required',
  ]);
});

test('a row without an ID is refused for an employee of two employers, and warned about once it is replaced', async (t, {
  db,
}) => {
  await learn(db, employment('emp-1'), employment('emp-2'));
  await learn(db, employment('emp-2', { employer_id: 'globex' }));
  t.strictSame(await problemsOf(db, unnamed('emp-1'), unnamed('emp-2')), [
    'deductions[1].id: is required: this employee works for two employers',
  ]);
  const sent = { id: 'ded-1', employee_id: 'emp-1', effective_start: '2026-07-01' };
  await deliver(db, [deductionOf('evt-1', sent, BEFORE)], BEFORE);
  const { warnings } = await importing(db, [unnamed('emp-1')]);
  t.strictSame(warnings, [
    { path: 'deductions[0].id', rule: 'is missing: ded-1 replaces this row from 2026-07-01' },
  ]);
});
