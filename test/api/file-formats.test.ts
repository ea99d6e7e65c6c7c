/** An employer's file formats: proposed, confirmed by setting them, and used for its censuses. */
import { requestSync } from '../../src/census/syncs.ts';
import { describe } from '../../src/contract/check.ts';
import { transact } from '../../src/database/transaction.ts';
import { WORKBOOK_TYPE } from '../../src/formats/workbook/bounds.ts';
import { organization } from '../contract/samples.ts';
import { type Cell, type SheetParts, styled, workbookOf } from '../formats/workbook-file.ts';
import { onEitherEngine } from '../support/engine.ts';
import { NOW, type Running, start } from './start.ts';

const test = onEitherEngine.with(start);

const EMPLOYER = '/v1/employers/acme';
const FORMAT = `${EMPLOYER}/file-formats/census`;
const TYPE = { 'content-type': 'text/csv' };

const csv = (
  dob: string,
  id = '1001',
) => `Emp #,First Name,Last Name,DOB,Street Address,City,State,ZIP,Hire Date,Email,Hours/Week,Annual Salary,Effective Date,Status
${id},Ana,Ruiz,${dob},1 Main St,Boston,MA,02108,2020-02-03,ana@example.org,40,52000.00,2026-01-01,FT
`;

/** Proposes the format of a file, and sets it with an organization. */
async function confirm({ call }: Running, body: string | Buffer, more: object = {}) {
  const { json } = await call({ method: 'POST', url: `${FORMAT}/propose`, headers: TYPE, body });
  return call({ method: 'PUT', url: FORMAT, body: { ...json.format, organization, ...more } });
}

const stage = ({ call }: Running, body: string | Buffer) =>
  call({ method: 'PUT', url: `${EMPLOYER}/census`, headers: TYPE, body });

test("a vendor's file is proposed, confirmed and staged without editing it", async (t, running) => {
  const { call } = running;
  t.equal((await stage(running, csv('4/5/1980'))).status, 422);
  const proposed = await call({
    method: 'POST',
    url: `${FORMAT}/propose`,
    headers: TYPE,
    body: csv('4/5/1980'),
  });
  t.match(proposed, { status: 200, json: { valid: true, repairs: { rows: 1, separator: ',' } } });
  t.match(await call({ url: FORMAT }), { status: 404 }, 'proposing stores nothing');
  t.match(await confirm(running, csv('4/5/1980')), { json: { version: 1, has_organization: true } });
  const changes = [
    { field: 'dob', header: 'DOB', rule: 'date-month-first', cells: 1, confirmed: true },
    { field: 'employment_status', rule: 'word', cells: 1 },
  ];
  const validated = await call({
    ...{ method: 'POST', url: `${EMPLOYER}/census/validate`, headers: TYPE },
    body: csv('4/5/1980'),
  });
  t.match(validated.json, { valid: true, repairs: { changes } });
  t.match(await stage(running, csv('4/5/1980')), {
    status: 200,
    json: { employees: 1, repairs: { changes } },
  });
  const census = await call({ url: `${EMPLOYER}/census` });
  t.match(census.json, { organization, employees: [{ employee_id: '1001', dob: '1980-04-05' }] });
  const converted = await call({
    ...{ method: 'POST', url: `${EMPLOYER}/census/convert`, headers: TYPE },
    body: csv('4/5/1980'),
  });
  t.match(converted.text, /^employee_id,first_name.*\r\n1001,Ana,Ruiz,1980-04-05,/s);
});

test('only a caller with pii:read is shown values, and no value is stored', async (t, running) => {
  const { call, tokenWith, db, logged } = running;
  const request = { method: 'POST', url: `${FORMAT}/propose`, headers: TYPE, body: csv('4/5/1980') } as const;
  const [limited, full] = [await tokenWith('runs:write'), await tokenWith('runs:write', 'pii:read')];
  t.match((await call({ ...request, token: limited })).json.repairs.changes[0], { examples: null });
  const example = { line: 2, before: '4/5/1980', after: '1980-04-05' };
  t.strictSame((await call({ ...request, token: full })).json.repairs.changes[0].examples, [example]);
  await confirm(running, csv('4/5/1980'));
  const { json } = await call({ url: FORMAT });
  t.match(json, { format: { columns: { length: 14 } }, has_organization: true });
  t.strictSame(json.format.columns[0], { header: 'Emp #', field: 'employee_id', rules: [] });
  const records = await db.selectFrom('audit_records').selectAll().execute();
  const stored = await db.selectFrom('file_formats').selectAll().execute();
  const texts = JSON.stringify([records, stored, logged]);
  for (const value of ['4/5/1980', '1980-04-05', organization.contact.email, organization.fein])
    t.notMatch(texts, value);
});

test('an unconfirmed change refuses the census until the format confirms it', async (t, running) => {
  await confirm(running, csv('1980-04-05'));
  const refused = await stage(running, csv('4/5/1980'));
  t.match(refused, { status: 422, json: { title: 'The census is refused' } });
  t.match(refused.json.errors.map(describe), [
    /rule date-month-first would change, which the file format does not/,
  ]);
  t.match(await confirm(running, csv('4/5/1980')), { json: { version: 2 } });
  t.equal((await stage(running, csv('4/5/1980'))).status, 200);
  t.match(
    await confirm(running, csv('4/5/1980')),
    { json: { version: 2 } },
    'the same again changes nothing',
  );
});

test('the prefix of ids is fixed once a file was read', async (t, running) => {
  t.equal((await confirm(running, csv('1980-04-05'), { id_prefix: 'acme-' })).status, 200);
  t.equal((await confirm(running, csv('1980-04-05'), { id_prefix: 'a-' })).status, 200);
  t.equal((await stage(running, csv('1980-04-05'))).status, 200);
  const census = await running.call({ url: `${EMPLOYER}/census` });
  t.match(census.json, { employees: [{ employee_id: 'a-1001' }] });
  const other = await confirm(running, csv('1980-04-05'), { id_prefix: null });
  t.match(other, { status: 409, json: { detail: /a file was read with the prefix a-/ } });
});

test('a format is refused by field, with its organization', async (t, running) => {
  const { status, json } = await confirm(running, csv('1980-04-05'), {
    ...{ columns: [{ header: 'Emp #', field: 'employe_id' }], organization: { ...organization, fein: 1 } },
  });
  t.equal(status, 422);
  const paths = json.errors.map(({ path }: { path: string }) => path);
  t.ok(['columns[0].field', 'columns', 'organization.fein'].every((path) => paths.includes(path)));
});

test('a sync that waits for a format names what it refuses, and is requested again once it is set', async (t, running) => {
  const { db, woken } = running;
  await confirm(running, csv('1980-04-05'));
  await transact(db, (trx) => requestSync(trx, { employerId: 'acme', eventId: 'e', now: NOW.toISOString() }));
  await transact(db, (trx) => trx.updateTable('census_syncs').set({ state: 'waiting' }).execute());
  t.equal((await stage(running, csv('4/5/1980'))).status, 422);
  const sync = () => db.selectFrom('census_syncs').select(['state', 'reason']).executeTakeFirstOrThrow();
  const reason = /^the census is not as its file format: dob: has 1 value/;
  t.match(await sync(), { state: 'waiting', reason });
  t.notMatch((await sync()).reason, '4/5/1980');
  await confirm(running, csv('4/5/1980'));
  t.strictSame(await sync(), { state: 'requested', reason: null });
  t.equal(woken.send, 2);
});

/** A workbook of the same header and row, with values as a spreadsheet has them. */
function bookOf(
  more: Partial<SheetParts> = {},
  values: Readonly<Record<string, Cell>> = {},
  others: SheetParts[] = [],
) {
  const [names = [], texts = []] = csv('x')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  const typed: Record<string, Cell> = {
    'Emp #': 1001,
    DOB: styled(1, 29_316),
    ZIP: 2108,
    'Hours/Week': 40,
    ...values,
  };
  const cells = names.map((name, index): Cell => typed[name] ?? (texts[index] as string));
  return workbookOf({ sheets: [{ name: 'Census', rows: [['Acme'], names, cells], ...more }, ...others] });
}

test('a workbook is proposed, confirmed and staged, whatever its content type', async (t, running) => {
  const { call } = running;
  t.match(await stage(running, bookOf()), {
    status: 422,
    json: { errors: [{ path: 'the file', rule: /propose a file format/ }, { rule: /is a workbook/ }] },
  });
  const proposed = await call({ method: 'POST', url: `${FORMAT}/propose`, headers: TYPE, body: bookOf() });
  const repairs = { sheet: 'Census', encoding: null, header_line: 2, rows: 1, hidden_rows: 0 };
  t.match(proposed, { status: 200, json: { valid: true, format: { sheet: null }, repairs } });
  t.match(await confirm(running, bookOf()), { status: 200, json: { version: 1 } });
  const headers = { 'content-type': WORKBOOK_TYPE };
  const staged = await call({ method: 'PUT', url: `${EMPLOYER}/census`, headers, body: bookOf() });
  t.match(staged, { status: 200, json: { employees: 1, repairs } });
  const census = await call({ url: `${EMPLOYER}/census` });
  const address = { zip_code: '02108' };
  t.match(census.json.employees, [{ employee_id: '1001', dob: '1980-04-05', hours_worked: '40', address }]);
  const converted = await call({
    method: 'POST',
    url: `${EMPLOYER}/census/convert`,
    headers,
    body: bookOf(),
  });
  t.match(converted.text, /^employee_id,.*\r\n1001,Ana,Ruiz,1980-04-05,/s);
});

test('a value that a spreadsheet lost refuses the census where it is read, with a prefix too', async (t, running) => {
  await confirm(running, csv('1980-04-05'), { id_prefix: 'acme-' });
  const good = csv('1980-04-05');
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      csv('1980-04-05', '1.00123E+08'),
      /^employees\[0\]\.employee_id: is a number that a spreadsheet shortened/,
    ],
    [good.replace('02108', '2.11E+08'), /^employees\[0\]\.address\.zip_code: is a number that a spreadsheet/],
    [good.replace('Ana', '#REF!'), /^employees\[0\]\.first_name: has the error #REF!: correct it/],
    [good.replace('1001', '######'), /^employees\[0\]\.employee_id: was wider than its column: widen/],
  ];
  for (const [body, problem] of cases) {
    const { status, json } = await stage(running, body);
    t.equal(status, 422, body);
    t.match(describe(json.errors[0]), problem);
  }
});

test('two columns of one name are a problem of a proposal already', async (t, { call }) => {
  const body = csv('1980-04-05').replace('Annual Salary', 'Email');
  const { json } = await call({ method: 'POST', url: `${FORMAT}/propose`, headers: TYPE, body });
  t.match(json, { valid: false, problems: [{ path: 'Email', rule: 'is a duplicate column' }] });
});

test('what a cell of a workbook lacks refuses the census where it is read', async (t, running) => {
  await confirm(running, bookOf());
  const missing = { xml: ' t="e"><v>#N/A</v></c>' };
  const cases: readonly (readonly [Buffer, RegExp | null])[] = [
    [
      bookOf({}, { City: missing }),
      /^employees\[0\]\.address\.city: has the error #N\/A in the cell F3: correct it/,
    ],
    [
      bookOf({}, { 'Annual Salary': { xml: '><f>1+1</f></c>' } }),
      /formula without a value in the cell L3: open/,
    ],
    [
      bookOf({ after: '<mergeCells><mergeCell ref="A3:A4"/></mergeCells>' }),
      /merged cells, .*: unmerge A3:A4/,
    ],
    [bookOf({ after: '<mergeCells><mergeCell ref="A1:A2"/></mergeCells>' }), null],
    [bookOf({}, { 'Emp #': { xml: '><v>1.23456789012345E+18</v></c>' } }), /a spreadsheet shortened/],
    [bookOf({}, {}, [{ name: 'Rates', rows: [['x']] }]), /several sheets with data.*"Census", "Rates"/],
    [
      Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 1]),
      /with a password or in an old format \(\.xls\): save it as \.xlsx or CSV/,
    ],
  ];
  for (const [file, problem] of cases) {
    const { status, json } = await stage(running, file);
    t.equal(status, problem === null ? 200 : 422);
    if (problem !== null) t.match(describe(json.errors[0]), problem);
  }
  t.equal((await confirm(running, bookOf(), { sheet: 'Census' })).status, 200);
  t.equal((await stage(running, bookOf({}, {}, [{ name: 'Rates', rows: [['x']] }]))).status, 200);
});

test('a serial number without a date format counts from the first day of its workbook', async (t, running) => {
  const rows = [...csv('27854').trim().split('\n')].map((line) => line.split(','));
  const file = workbookOf({ sheets: [{ rows }], is1904: true });
  const { json } = await running.call({
    method: 'POST',
    url: `${FORMAT}/propose`,
    headers: TYPE,
    body: file,
  });
  t.match(json.repairs.changes[0], { rule: 'date-serial', examples: [{ after: '1980-04-05' }] });
});
