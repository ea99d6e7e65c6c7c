/** A run written as payroll's own file, and payroll's files read through the same format: amounts taken and comparison. */
import { describe } from '../../src/contract/check.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deduct, employ, setCodes } from '../support/payroll.ts';
import { type Payroll, startPayroll } from './payroll-stage.ts';

const test = onEitherEngine.with(startPayroll);

const FORMAT = '/v1/employers/acme/file-formats/payroll';
const TYPE = { 'content-type': 'text/csv' };
const CODES = (['medical', 'dental'] as const).flatMap((line_of_coverage) =>
  (['employee', 'employer'] as const).map((side) => ({
    ...{ line_of_coverage, taxability: null, side, treatment: null },
    code: `${line_of_coverage === 'medical' ? 'MED' : 'DEN'}${side === 'employer' ? '-ER' : ''}`,
  })),
);

const column = (header: string, field: string | null, more: object = {}) => ({ header, field, ...more });
const LONG = [column('File #', 'employee_id'), column('Ded Code', 'payroll_code')];
const BY_SIDE = [...LONG, column('Amount', 'amount', { rules: ['amount'] })];
/** The shapes that payrolls have, each with what a run is written as. */
const SHAPES = {
  'a row for each code, with both sides': {
    columns: [
      ...[
        column('Check Date', 'pay_date', { rules: ['date-month-first'] }),
        ...LONG,
        column('EE', 'member_amount'),
      ],
      ...[column('Batch', null, { value: 'BEN' }), column('ER', 'employer_amount'), column('Name', null)],
    ],
    csv: [
      'Check Date,File #,Ded Code,EE,Batch,ER,Name',
      ...['2026-07-17,1,DEN,10.00,BEN,0.00,', '2026-07-17,1,MED,69.23,BEN,161.53,'],
      '2026-07-17,2,DEN,69.23,BEN,161.53,',
    ],
  },
  'a row for each code of a side': {
    columns: BY_SIDE,
    csv: [
      'File #,Ded Code,Amount',
      ...['1,DEN,10.00', '1,DEN-ER,0.00', '1,MED,69.23', '1,MED-ER,161.53', '2,DEN,69.23', '2,DEN-ER,161.53'],
    ],
  },
  'a column for each code': {
    columns: [
      ...[
        column('Medical ER', 'amount[MED-ER]'),
        column('File #', 'employee_id'),
        column('Dental', 'amount[DEN]'),
      ],
      ...[column('Medical', 'amount[MED]', { rules: ['amount'] }), column('Dental ER', 'amount[DEN-ER]')],
    ],
    csv: [
      'Medical ER,File #,Dental,Medical,Dental ER',
      ...['161.53,1,10.00,69.23,0.00', '0.00,2,69.23,0.00,161.53'],
    ],
  },
};

const put = ({ call }: Payroll, columns: object[], more: object = {}) =>
  call({ method: 'PUT', url: FORMAT, body: { columns, id_prefix: 'emp-', ...more } });
const download = ({ get }: Payroll, query = '') =>
  get(`/r/lines?file_format=payroll${query}`, { headers: { accept: 'text/csv' } });
const audit = ({ post }: Payroll, csv: string) => post('/r/audit', csv, TYPE);
const taken = ({ post }: Payroll, csv: string) => post('/r/taken', csv, TYPE);

/** A final run of two employees, of whom one has two codes. */
async function final(payroll: Payroll): Promise<void> {
  const { db, finalized } = payroll;
  await setCodes(db, CODES);
  const dental = { line_of_coverage: 'dental', period: 'biweekly', member_contribution: '10.00' };
  await deduct(db, 'evt-den', { id: 'ded-den', employee_id: 'emp-1', employer_contribution: '0', ...dental });
  await finalized('r');
}

for (const [shape, { columns, csv }] of Object.entries(SHAPES)) {
  test(`a run is written for payroll, and is read as it was written: ${shape}`, async (t, payroll) => {
    await final(payroll);
    t.match(await put(payroll, columns), { status: 200 });
    const { text, headers } = await download(payroll, '&download=true');
    t.strictSame(text.trimEnd().split('\r\n'), csv);
    t.ok(headers.etag);
    const same = { count: 0 };
    t.match((await audit(payroll, text)).json, {
      ...{ only_here: same, only_in_payroll: same, amount_differs: same, employee_unknown: same },
      matched: {
        member_amount: '148.46',
        payroll_member_amount: '148.46',
        payroll_employer_amount: '323.06',
      },
      repairs: { changes: [] },
    });
    t.match((await taken(payroll, text)).json, { owed: '0.00', lines: 3, difference_count: 0 });
    const less = text.replaceAll('10.00', '4.00');
    t.match((await audit(payroll, less)).json, {
      amount_differs: { count: 1, payroll_member_amount: '4.00' },
    });
    t.match((await taken(payroll, less)).json, { owed: '6.00', differences: [{ taken: '4.00' }] });
  });
}

test("payroll's own file is proposed by its headers and the employer's codes", async (t, payroll) => {
  const { call } = payroll;
  await final(payroll);
  const propose = async (...lines: string[]) => {
    const request = { method: 'POST', url: `${FORMAT}/propose`, headers: TYPE } as const;
    return (await call({ ...request, body: lines.join('\r\n') })).json;
  };
  const fields = ({ format }: { format: { columns: { field: string }[] } }) =>
    format.columns.map(({ field }) => field);
  const long = await propose(
    'Emp ID,Deduction Code,EE Amt,ER Amt',
    '1,med,"$69.23",161.54',
    '1,401K,50.00,',
    'Total,,119.23,161.54',
  );
  t.strictSame(fields(long), ['employee_id', 'payroll_code', 'member_amount', 'employer_amount']);
  t.match(long, {
    valid: true,
    format: {
      leave_out: [{ values: ['Total'] }, { values: ['401K'], reason: 'Codes outside the integration' }],
    },
    repairs: {
      changes: [{ rule: 'word' }, { rule: 'amount' }],
      left_out: [
        { reason: 'Codes outside the integration', rows: 1 },
        { reason: 'Totals', rows: 1 },
      ],
    },
  });
  const both = await propose('Emp ID,Deduction Code,Amount,ER Amount', '1,MED,69.23,161.54');
  t.strictSame(fields(both), fields(long), 'an amount next to that of the employer is the employee’s');
  t.equal(both.valid, true);
  const current = await propose('Emp ID,Ded Code,EE Current,ER Current', '1,MED,69.23,161.54');
  t.strictSame(fields(current), fields(long));
  const sides = await propose('Emp ID,Ded Code,EE Deduction,ER Deduction', '1,MED,69.23,161.54');
  t.strictSame(fields(sides), fields(long));
  const empty = await propose('Emp ID,Deduction Code,Amount', '1,MED,');
  t.match(empty, { valid: false, problems: [{ path: 'lines[0].member_amount', rule: /^is required/ }] });
  const wide = await propose('Emp ID,Name,Med,DEN,MED-ER,401K', '1,Ana,69.23,(10.00),161.54,50');
  t.strictSame(fields(wide), ['employee_id', null, 'amount[MED]', 'amount[DEN]', 'amount[MED-ER]', null]);
  t.match(wide, { valid: true, unread: ['Name', '401K'] });
  t.strictSame(fields(await propose('Emp ID,MED - Medical', '1,69.23')), ['employee_id', 'amount[MED]']);
  const without = await propose('Emp ID,Medical EE', '1,69.23');
  t.match(without, { valid: false, problems: [{ path: 'columns', rule: /^must have a column for one of/ }] });
});

test('one amount of a code is that of all its lines, or of none', async (t, payroll) => {
  const { db } = payroll;
  await deduct(db, 'evt-b', { id: 'ded-1b', employee_id: 'emp-1', description: 'a second one' });
  await employ(db, 'emp-3');
  await setCodes(db, CODES);
  await payroll.put('r');
  t.match(await payroll.accept('r'), { status: 200 });
  await put(payroll, BY_SIDE);
  const file = (...rows: string[]) => ['File #,Ded Code,Amount', ...rows].join('\n');
  t.match((await taken(payroll, file('1,MED,138.46', '3,MED,0.00', '2,MED,0'))).json, {
    lines: 2,
    owed: '0.00',
  });
  t.match((await taken(payroll, file('1,MED,-'))).status, 422);
  t.match((await taken(payroll, file('1,MED,0.00', '1,MED-ER,0.00'))).json, { lines: 2, owed: '138.46' });
  const part = await taken(payroll, file('1,MED,100.00'));
  t.match(
    part.json.errors.map(describe),
    [/^lines\[0\]: matches several lines.*\(line 2\)$/],
    'it is not guessed',
  );
});

test('a code of the run that a report lacks is named', async (t, payroll) => {
  await final(payroll);
  await put(payroll, BY_SIDE);
  const report = async (...rows: string[]) =>
    (await taken(payroll, ['File #,Ded Code,Amount', ...rows].join('\n'))).json.unnamed_codes;
  t.strictSame(await report('1,MED,69.23'), [{ payroll_code: 'DEN', lines: 2, member_amount: '79.23' }]);
  t.strictSame(await report('1,MED,69.23', '2,DEN,69.23'), []);
  const strict = 'employee_id,payroll_code,amount\nemp-1,MED,0.00';
  t.strictSame((await taken(payroll, strict)).json.unnamed_codes, [], 'a strict file lists only exceptions');
});

test('a payroll file that is not as its format is refused, and nothing is stored', async (t, payroll) => {
  await final(payroll);
  await put(payroll, [column('Check Date', 'pay_date'), ...BY_SIDE]);
  const file = (row: string, header = 'Check Date,File #,Ded Code,Amount') => `${header}\n${row}`;
  const cases: readonly (readonly [file: string, problem: RegExp])[] = [
    [file('2026-07-17,1,MED,1.00', 'Check Date,File #,Ded Code,Amt'), /^column 4: is not in the file format/],
    [file('2026-07-17,1,MED', 'Check Date,File #,Ded Code'), /^Amount: is missing from the header/],
    [file('7/17/2026,1,MED,1.00'), /^pay_date: has 1 value .* rule date-month-first would change/],
    [file('2026-07-03,1,MED,1.00'), /^lines\[0\]\.pay_date: must be that of the run, 2026-07-17 \(line 2\)/],
    [file('2026-07-17,1,MED,1.005'), /amount: must be an amount such as/],
  ];
  for (const [content, problem] of cases) {
    for (const send of [audit, taken]) {
      const { status, json } = await send(payroll, content);
      t.equal(status, 422);
      t.match(json.errors.map(describe).join('\n'), problem);
    }
  }
  t.strictSame((await payroll.get('/r')).json.taken_reports, []);
  const unknown = file('2026-07-17,9,MED,1.00');
  t.match((await audit(payroll, unknown)).json, { employee_unknown: { rows: [{ employee_id: 'emp-9' }] } });
  t.match((await taken(payroll, unknown)).status, 422);
  const strict = 'employee_id,payroll_code,amount\nemp-1,MED,69.23';
  t.match((await taken(payroll, strict)).json, { lines: 1, owed: '0.00', repairs: { rows: 1, changes: [] } });
  t.match(await put(payroll, BY_SIDE, { id_prefix: null }), { status: 200 }, 'a strict file fixes no prefix');
  await taken(payroll, 'File #,Ded Code,Amount\nemp-1,MED,69.23');
  t.match(await put(payroll, BY_SIDE), { status: 409 });
});

test('a file that payroll would load a part of is not written', async (t, payroll) => {
  await final(payroll);
  t.match(await download(payroll), {
    status: 409,
    json: { detail: /has no file format of the kind payroll/ },
  });
  const refusals: readonly (readonly [columns: object[], more: object, why: RegExp])[] = [
    [
      BY_SIDE,
      { id_prefix: 'acme-' },
      /Employees whose ID payroll's file cannot have with the prefix acme-: 2/,
    ],
    [
      [column('#', 'employee_id'), column('Med', 'amount[MED]')],
      {},
      /Lines of the code DEN, which has no column: 2/,
    ],
  ];
  for (const [columns, more, why] of refusals) {
    t.equal((await put(payroll, columns, more)).status, 200);
    t.match(await download(payroll), { status: 409, json: { detail: why } });
  }
  await put(payroll, BY_SIDE);
  t.match(await download(payroll, '&kind=regular'), { status: 400, json: { errors: [{ path: 'kind' }] } });
  t.match(await payroll.get('/r/lines?file_format=payroll'), { status: 400 }, 'JSON has no columns');
  await setCodes(payroll.db, CODES.slice(0, 2));
  await payroll.put('next', { pay_date: '2026-07-31', period_start: '2026-07-13', period_end: '2026-07-26' });
  const open = await payroll.get('/next/lines?file_format=payroll', { headers: { accept: 'text/csv' } });
  t.match(open, {
    status: 409,
    json: { detail: /Lines of dental \(pre_tax\) without a payroll code of the employee's side: 2/ },
  });
});

test('a payroll format whose columns make no amounts is refused by field', async (t, payroll) => {
  const [id, code, amount] = BY_SIDE as [object, object, object];
  const cases: readonly (readonly [columns: object[], problem: RegExp])[] = [
    [[code, amount], /^columns: must have a column for the field employee_id/],
    [[id, code], /^columns: must have a column for one of member_amount, amount or amount\[CODE\]/],
    [[id, amount], /^columns: must have a column for payroll_code/],
    [[id, code, amount, column('EE', 'member_amount')], /^columns: must have columns for only one of/],
    [[id, code, column('ER', 'employer_amount')], /^columns: must have a column for member_amount/],
    [[id, code, column('M', 'amount[MED]')], /^columns: must have no column for payroll_code/],
    [[id, code, amount, column('Amt', 'amount')], /^columns\[3\]\.field: is the same as columns\[2\]\.field/],
    [
      [id, code, column('Amt', 'amounts')],
      /^columns\[2\]\.field: is not a field of a payroll file; did you mean/,
    ],
    [[id, code, { ...amount, value: '1' }], /^columns\[2\]\.value: must not be given/],
  ];
  for (const [columns, problem] of cases) {
    const { status, json } = await put(payroll, columns);
    t.equal(status, 422);
    t.match(json.errors.map(describe).join('\n'), problem);
  }
});
