/** A payroll's list of deductions, imported through the employer's file format. */
import { describe } from '../../src/contract/check.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employment, learn, setCodes } from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { type Running, start } from './start.ts';

const test = onEitherEngine.with(start);

const EMPLOYER = '/v1/employers/acme';
const FORMAT = `${EMPLOYER}/file-formats/deductions`;
const TYPE = { 'content-type': 'text/csv' };

const MEDICAL = { line_of_coverage: 'medical', taxability: 'pre_tax' } as const;
const DENTAL = { line_of_coverage: 'dental', taxability: 'post_tax' } as const;
const CODES = [
  { ...MEDICAL, side: 'employee', code: 'MED', treatment: null },
  { ...DENTAL, side: 'employee', code: 'DEN', treatment: null },
] as const;

const HEADER = 'Deduction ID,Employee ID,Deduction Code,Rate,Stop Date';
const list = (...rows: string[]) => [HEADER, ...rows].join('\r\n');
const ROWS = [
  'd-1,1001,MED,"$1,008.07",12/31/26',
  'd-2,1002,den,(12.00),',
  'd-3,1002,DEN,12.0055-,',
  'd-4,1001,401K,50.00,',
  'Totals:,,,1058.07,',
];
const CONSTANTS = { period: 'monthly', employer_contribution: '0' };

const post = ({ call }: Running, url: string, body: string) =>
  call({ method: 'POST', url, headers: TYPE, body });
const importing = (running: Running, body: string) =>
  post(running, '/v1/deductions/import?employer_id=acme', body);

async function propose(running: Running, body: string) {
  await setCodes(running.db, CODES);
  return (await post(running, `${FORMAT}/propose`, body)).json;
}

test("a file with payroll's own headers is refused with the way to a file format", async (t, running) => {
  const { status, json } = await post(running, '/v1/deductions/import', list(...ROWS));
  t.equal(status, 422);
  t.match(
    describe(json.errors[0]),
    /^the file: needs corrections, or a file format.*format propose FILE --employer ID --kind deductions"$/,
  );
});

test('a strict file with values as payroll writes them is refused with the way to a file format', async (t, running) => {
  const file = (amount: string) =>
    `id,employee_id,line_of_coverage,member_contribution,employer_contribution,period,taxability\nd-1,e-1,medical,${amount},0.00,monthly,pre_tax\n`;
  const { json } = await post(running, '/v1/deductions/import', file('$150.00'));
  t.match(json.errors, [{ path: 'the file', rule: /--kind deductions"$/ }, { hint: 'did you mean 150.00?' }]);
  const unclear = await post(running, '/v1/deductions/import', file('much'));
  t.match(
    unclear.json.errors.map(describe),
    [/^deductions\[0\]\.member_contribution: /],
    'no format reads it',
  );
});

/** Proposes the format of a file, and sets it with what the file lacks. */
async function confirm(running: Running, body = list(...ROWS), more: object = {}) {
  const { format } = await propose(running, body);
  return running.call({ method: 'PUT', url: FORMAT, body: { ...format, constants: CONSTANTS, ...more } });
}

test("payroll's list of deductions is proposed, confirmed and imported without editing it", async (t, running) => {
  const { format, problems, repairs } = await propose(running, list(...ROWS));
  t.strictSame(
    format.columns.map(({ field }: { field: string }) => field),
    ['id', 'employee_id', 'payroll_code', 'member_contribution', 'effective_end'],
  );
  t.strictSame(format.leave_out, [
    { header: 'Deduction ID', values: ['Totals:*'], reason: 'Totals' },
    { header: 'Deduction Code', values: ['401K'], reason: 'Codes outside the integration' },
  ]);
  const replaced = /is a missing column, which a constant of the file format can replace$/;
  t.match(problems.map(describe), [replaced, replaced], 'what the file lacks');
  t.match(repairs, { rows: 3 });
  t.match(await confirm(running, list(...ROWS), { id_prefix: 'acme-' }), { status: 200 });
  const read = await importing(running, list(...ROWS));
  t.match(read, {
    status: 200,
    json: {
      ...{ rows: 3, imported: 3 },
      repairs: {
        left_out: [{ rows: 1 }, { rows: 1 }],
        changes: [{ rule: 'amount' }, { rule: 'date-short-year' }, { field: 'payroll_code', rule: 'word' }],
      },
    },
  });
  const bodies = await running.db.selectFrom('inbox').select('body').orderBy('seq').execute();
  t.strictSame(
    bodies.map(({ body }) => JSON.parse(Buffer.from(body as Uint8Array).toString()).data),
    [
      {
        id: 'd-1',
        employee_id: 'acme-1001',
        ...MEDICAL,
        member_contribution: '1008.07',
        effective_end: '2026-12-31',
      },
      { id: 'd-2', employee_id: 'acme-1002', ...DENTAL, member_contribution: '-12.00' },
      // A contribution is never rounded.
      { id: 'd-3', employee_id: 'acme-1002', ...DENTAL, member_contribution: '-12.0055' },
    ].map((data) => ({ ...data, employer_contribution: '0', period: 'monthly' })),
  );
  t.match(
    await importing(running, list(...ROWS)),
    { json: { imported: 0 } },
    'the same again changes nothing',
  );
  const other = await confirm(running, list(...ROWS), { id_prefix: null });
  t.match(other, { status: 409 }, 'the prefix is fixed once a file was read');
});

test('a proposal names the questions that only a person can decide', async (t, running) => {
  const monthly = await propose(
    running,
    'Employee ID,Coverage,Monthly Employee Cost,Monthly Employer Cost,Frequency,Tax\n1,Medical,150,350,Biweekly,Pre-Tax\n',
  );
  t.match(monthly, { valid: true, unread: ['Frequency'], format: { constants: { period: 'monthly' } } });
  const sides = 'Employee ID,Coverage,Employee Deduction,Employer Deduction,Frequency,Tax';
  t.match(await propose(running, `${sides}\n1,Medical,150,350,Biweekly,Pre-Tax\n`), {
    valid: true,
    unread: [],
  });
  for (const headers of [
    'Employee Number,Plan Type,EE Per Pay,ER Per Pay,Effective Date,Term Date,Pre/Post Tax,Frequency',
    'EEID,Benefit,Employee Monthly Premium,Employer Monthly Premium,Coverage Start Date,Coverage End Date,Tax Type',
  ]) {
    const row = headers.includes('Monthly') ? '1,Medical,1,2,,,Pre' : '1,Medical,1,2,,,Pre,Weekly';
    t.match(await propose(running, `${headers}\n${row}\n`), { valid: true, unread: [] }, headers);
  }
  const whole = (...rows: string[]) =>
    ['Deduction ID,Employee ID,Deduction Code,EE Cost,ER Cost,Frequency', ...rows].join('\n');
  const cases: readonly (readonly [file: string, problem: RegExp])[] = [
    [
      whole('d-1,1001,MED,1,0,weekly', 'd-1,1001,MED,2,0,weekly'),
      /^deductions\[1\]\.id: is the same as .* need created_at/,
    ],
    [
      whole('d-1,1001,Medical,1,0,weekly'),
      /^deductions: .* all rows are left out, because "Deduction Code" has none/,
    ],
    [
      'Employee,Coverage,EE Cost,ER Cost,Frequency,Tax\nAna Peña,Medical,1,2,Weekly,Pre-Tax\n',
      /^employee_id: is a missing column: if "Employee" has IDs, and no names, give it this field$/,
    ],
  ];
  for (const [file, problem] of cases) {
    const { valid, problems } = await propose(running, file);
    t.notOk(valid);
    t.ok(
      problems.map(describe).some((text: string) => problem.test(text)),
      JSON.stringify(problems),
    );
  }
});

test('a file that does not match its format is refused, and nothing is imported', async (t, running) => {
  await confirm(running);
  const cases: readonly (readonly [file: string, problem: RegExp])[] = [
    [list(...ROWS).replace('Stop Date', 'End'), /^column 5: is not in the file format: propose/],
    [list(...ROWS).replace('Rate', 'EE'), /^Rate: is missing from the header/],
    [list('d-1,1001,MED,150.00,31-Dec-2026'), /^effective_end: has 1 value .* rule date-name would change/],
    [
      list('d-1,1001,VIS,150.00,'),
      /^deductions\[0\]\.payroll_code: is not a payroll code .*; its code is "VIS"/,
    ],
    [
      list('d-1,1001,MED,many,'),
      /^deductions\[0\]\.member_contribution: must be a plain decimal .* \(line 2\)/,
    ],
    [list('d-1,1001,MED,1.23E+07,'), /member_contribution: must be a plain decimal/],
    [list('1.23E+07,1001,MED,1.00,'), /^deductions\[0\]\.id: is a number that a spreadsheet shortened/],
  ];
  for (const [file, problem] of cases) {
    const { status, json } = await importing(running, file);
    t.equal(status, 422);
    t.ok(
      json.errors.map(describe).some((text: string) => problem.test(text)),
      JSON.stringify(json.errors),
    );
  }
  t.strictSame(await running.db.selectFrom('inbox').selectAll().execute(), []);
});

test('a file with a row that cannot be read is not converted', async (t, running) => {
  await confirm(running);
  const files = [
    [list('d-1,1001,MED,1.00,', 'd-2,1002,DEN,1.00,,more'), /^deductions\[1\].*\(line 3\)$/],
    [list('d-1,1001,MED,1.00,', '1.23E+07,1001,MED,1.00,'), /^deductions\[1\]\.id: .*\(line 3\)$/],
    [list('d-1,1001,"MED,1.00,'), /^body: is not valid CSV at line 2 .*QUOTE_NOT_CLOSED/],
  ] as const;
  for (const [file, problem] of files) {
    const { status, json } = await post(running, `${FORMAT}/convert`, file);
    t.equal(status, 422);
    t.match(json.errors.map(describe), [problem]);
  }
});

test('a strict file is imported whatever the format, and converted as it', async (t, running) => {
  await confirm(running);
  const converted = await post(running, `${FORMAT}/convert`, list(...ROWS));
  t.equal(converted.status, 200, converted.text);
  t.match(converted.text, /^id,employee_id,.*\r\nd-1,1001,1008\.07,2026-12-31,/s);
  t.match(await post(running, '/v1/deductions/import', converted.text), { json: { rows: 3, repairs: null } });
  t.match(await importing(running, converted.text), {
    json: { rows: 3, imported: 0, repairs: { changes: [] } },
  });
});

test('only a caller with pii:read is shown values, and an unknown employer has no format', async (t, running) => {
  await confirm(running);
  const { call, tokenWith } = running;
  const request = { method: 'POST', url: '/v1/deductions/import?employer_id=acme', headers: TYPE } as const;
  const token = await tokenWith('events:write');
  const { json } = await call({ ...request, body: list(...ROWS), token });
  t.match(json.repairs.changes[0], { examples: null });
  t.match(await post(running, '/v1/deductions/import?employer_id=other', list()), { status: 404 });
});

test('a format of another kind is refused by field', async (t, running) => {
  const { json } = await confirm(running, list(...ROWS), {
    columns: [{ header: 'Emp', field: 'emploee_id' }],
    constants: { pay_frequency: 'monthly', period: 'often' },
    leave_out: [],
    organization: {},
  });
  t.strictSame(json.errors.map(describe).slice(0, 2), [
    'columns[0].field: is not a field of an import of deductions; did you mean employee_id?',
    'columns: must have a column for the field employee_id',
  ]);
  t.match(json.errors.map(({ path }: { path: string }) => path).slice(-3), [
    'constants.pay_frequency',
    'constants.period',
    'organization',
  ]);
});

test('without events:write, an import is for employees of one employer and repeats no deduction of the service', async (t, running) => {
  const { call, db, tokenWith, tokenFor } = running;
  await learn(db, employment('1001', { employer_id: 'acme' }), employment('2001', { employer_id: 'other' }));
  await deliver(db, [deductionOf('evt-1', { id: 'sent', employee_id: '1001' })]);
  const header =
    'id,employee_id,line_of_coverage,member_contribution,employer_contribution,period,taxability';
  const file = (...rows: string[]) =>
    [header, ...rows.map((row) => `${row},dental,1.00,0,monthly,pre_tax`)].join('\n');
  const url = '/v1/deductions/import?employer_id=acme';
  for (const token of [
    await tokenWith('runs:write'),
    await tokenFor(['acme'], 'runs:write', 'events:write'),
  ]) {
    const send = (path: string, ...rows: string[]) =>
      call({ method: 'POST', url: path, headers: TYPE, body: file(...rows), token });
    t.match(await send('/v1/deductions/import', ',1001'), { status: 400 });
    const { status, json } = await send(url, ',1001', ',2001', ',3001', 'sent,1001');
    t.equal(status, 422);
    t.match(json.errors.map(describe), [
      /^deductions\[1\]\.employee_id: must be an employee of this employer/,
      /^deductions\[2\]\.employee_id: must be an employee of this employer/,
      /^deductions\[3\]\.id: is the ID of a deduction that the service has sent/,
    ]);
    t.match(await send(`${url}&preview=true`, ',1001'), { json: { rows: 1, placeholders: 1, imported: 1 } });
  }
  t.equal((await db.selectFrom('inbox').selectAll().where('source', '=', 'import').execute()).length, 0);
  const token = await tokenWith('runs:write');
  const request = { method: 'POST', url, headers: TYPE, body: file(',1001') } as const;
  t.match(await call({ ...request, token }), { json: { imported: 1 } });
  t.match(await call({ ...request, url: `${url}&preview=true` }), { json: { rows: 1, imported: 0 } });
  const recorded = await db
    .selectFrom('audit_records')
    .select('employer_id')
    .where('action', '=', 'deduction.import')
    .execute();
  t.match(recorded, [{ employer_id: 'acme' }, { employer_id: 'acme' }], 'the employer can see its record');
});
