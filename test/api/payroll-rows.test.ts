import { onEitherEngine } from '../support/engine.ts';
import { bodyOn, employ } from '../support/payroll.ts';
import { type Payroll, startPayroll } from './payroll-stage.ts';

const CSV = { 'content-type': 'text/csv; charset=utf-8' };
const NDJSON = { 'content-type': 'application/x-ndjson' };

/** The same rows in each content type. */
const TAKEN = {
  json: [{ lines: [{ employee_id: 'emp-1', amount: '60.00' }] }, {}],
  csv: ['employee_id,amount\r\nemp-1,60.00\r\n', CSV],
  ndjson: ['{"employee_id":"emp-1","amount":"60.00"}\n', NDJSON],
} as const;

for (const [type, [body, headers]] of Object.entries(TAKEN)) {
  onEitherEngine(
    `deductions taken are reported as ${type}, and the next run collects the rest`,
    async (t) => {
      const { finalized, post, get, put, logged } = await startPayroll(t);
      await finalized('r');
      const { status, json } = await post('/r/taken', body, headers);
      t.equal(status, 200);
      const differing = { employee_id: 'emp-1', member_amount: '69.23', taken: '60.00', owed: '9.23' };
      t.match(json, { id: '1', lines: 1, owed: '9.23', difference_count: 1, differences: [differing] });
      t.match(logged.at(-1), {
        fields: { run_id: 'r', employer_id: 'acme', count: 1, token: 'API_TOKEN' },
        message: 'deductions taken were recorded',
      });
      t.match((await get('/r')).json.taken_reports, [{ id: '1', lines: 1 }]);
      await put('next', bodyOn('2026-07-31', { arrears: 'include' }));
      const { data } = (await get('/next/lines?employee_id=emp-1')).json;
      t.match(data, [{ kind: 'regular' }, { kind: 'arrears', adjustment_for: 'r', member_amount: '9.23' }]);
    },
  );
}

onEitherEngine('a later report replaces the lines it names, and the earlier one is kept', async (t) => {
  const { finalized, post, get } = await startPayroll(t);
  await finalized('r');
  await post('/r/taken', ...TAKEN.json);
  const again = await post('/r/taken', { lines: [{ employee_id: 'emp-1', amount: '69.23' }] });
  t.strictSame(again.json, { id: '2', lines: 1, owed: '0.00', difference_count: 0, differences: [] });
  const { taken_reports } = (await get('/r')).json;
  t.match(taken_reports, [{ id: '1' }, { id: '2' }]);
  t.equal(taken_reports.length, 2);
  const [replaced, latest] = (await get('/r/taken')).json.data;
  t.strictSame(replaced, {
    report_id: '1',
    employee_id: 'emp-1',
    deduction_id: 'ded-1',
    line_of_coverage: 'medical',
    taxability: 'pre_tax',
    kind: 'regular',
    adjustment_for: null,
    member_amount: '69.23',
    taken: '60.00',
    owed: '9.23',
    replaced_by: '2',
  });
  t.match(latest, { report_id: '2', taken: '69.23', owed: '0.00', replaced_by: null });
});

onEitherEngine('the lines of reports are listed in pages, and by report or employee', async (t) => {
  const { finalized, put, post, get } = await startPayroll(t);
  await finalized('r');
  await put('open', bodyOn('2026-07-31'));
  const two = ['emp-1', 'emp-2'].map((employee_id) => ({ employee_id, amount: '1.00' }));
  await post('/r/taken', { lines: two });
  await post('/r/taken', { lines: two.slice(1) });
  const listed = async (query: string) => {
    const { json } = await get(`/r/taken?${query}`);
    const data = json.data as { report_id: string; employee_id: string }[];
    return { rows: data.map((row) => `${row.report_id} ${row.employee_id}`), next: json.next_cursor };
  };
  const first = await listed('limit=2');
  t.strictSame(first.rows, ['1 emp-1', '1 emp-2']);
  t.strictSame(await listed(`limit=2&cursor=${first.next}`), { rows: ['2 emp-2'], next: null });
  t.strictSame((await listed('report_id=2')).rows, ['2 emp-2']);
  t.strictSame((await listed('employee_id=emp-1')).rows, ['1 emp-1']);
  t.strictSame((await get('/open/taken')).json.data, []);
  t.equal((await get('/nobody/taken')).status, 404);
  t.equal((await get('/r/taken?report_id=first')).status, 400);
});

onEitherEngine('deductions taken are reported for finalized runs only', async (t) => {
  const { put, post } = await startPayroll(t);
  await put('r');
  const open = await post('/r/taken', ...TAKEN.json);
  t.equal(open.status, 409);
  t.match(open.json.detail, 'The run is open. Finalize it first.');
  await post('/r/finalize');
  await post('/r/void', { reason: 'x' });
  const voided = await post('/r/taken', ...TAKEN.csv);
  t.equal(voided.status, 409);
  t.match(voided.json.detail, /^The run is voided/);
});

onEitherEngine('wrong rows are named, and the report is not recorded', async (t) => {
  const { finalized, post, get, db } = await startPayroll(t);
  await finalized('r');
  const lines = [
    { employee_id: 'emp-1', amount: '60.00' },
    { employee_id: 'emp-9', amount: '1.00' },
    { employee_id: 'emp-2', deduction_id: 'ded-1', amount: '1.00' },
    { employee_id: 'emp-2', amount: '1,00' },
  ];
  const { status, json } = await post('/r/taken', { lines });
  t.equal(status, 422);
  t.equal(json.type, 'urn:benefits-sidecar:problem:rows-refused');
  t.strictSame(
    json.errors.map((error: { path: string }) => error.path),
    ['lines[1].employee_id', 'lines[2]', 'lines[3].amount'],
  );
  t.strictSame((await get('/r')).json.taken_reports, []);
  t.strictSame(await db.selectFrom('taken_lines').selectAll().execute(), []);
});

onEitherEngine('the first 1,000 wrong rows are named and all are counted', async (t) => {
  const { finalized, post } = await startPayroll(t);
  await finalized('r');
  const lines = Array.from({ length: 1_500 }, () => ({ employee_id: 'nobody', amount: '1.00' }));
  const { status, json } = await post('/r/taken', { lines });
  t.equal(status, 422);
  t.equal(json.errors.length, 1_000);
  t.equal(json.error_count, 1_500);
  t.match(json.detail, /and 1497 more$/);
});

/** An audit of three rows: one equal, one with another amount, one unknown. */
const AUDIT = {
  json: [
    {
      lines: [
        { employee_id: 'emp-1', deduction_id: 'ded-1', member_amount: '69.23' },
        { employee_id: 'emp-2', deduction_id: 'ded-2', member_amount: '70.00' },
        { employee_id: 'emp-9', deduction_id: 'ded-9', member_amount: '5.00' },
      ],
    },
    {},
  ],
  csv: ['employee_id,deduction_id,member_amount\nemp-1,ded-1,69.23\nemp-2,ded-2,70\nemp-9,ded-9,5\n', CSV],
  ndjson: [
    [
      '{"employee_id":"emp-1","deduction_id":"ded-1","member_amount":"69.23"}',
      '{"employee_id":"emp-2","deduction_id":"ded-2","member_amount":"70.00"}',
      '{"employee_id":"emp-9","deduction_id":"ded-9","member_amount":"5.00"}',
    ].join('\n'),
    NDJSON,
  ],
} as const;

async function audited({ post }: Payroll, type: keyof typeof AUDIT) {
  const [body, headers] = AUDIT[type];
  return post('/r/audit', body, headers);
}

onEitherEngine(
  'a payroll file is compared by category, with an open and a finalized run, in every type',
  async (t) => {
    const payroll = await startPayroll(t);
    const { put, post, db, logged } = payroll;
    await employ(db, 'emp-3');
    await put('r');
    for (const state of ['open', 'finalized']) {
      for (const type of ['json', 'csv', 'ndjson'] as const) {
        const { status, json } = await audited(payroll, type);
        t.equal(status, 200, `${state} ${type}`);
        t.match(json, {
          compared_by: ['deduction_id'],
          matched: { count: 1, member_amount: '69.23', payroll_member_amount: '69.23' },
          only_here: { count: 0, rows: [] },
          only_in_payroll: { count: 0 },
          amount_differs: {
            count: 1,
            rows: [{ employee_id: 'emp-2', member_amount: '69.23', payroll_member_amount: '70.00' }],
          },
          employee_unknown: { count: 1, payroll_member_amount: '5.00', rows: [{ employee_id: 'emp-9' }] },
        });
      }
      await post('/r/finalize');
    }
    t.notMatch(JSON.stringify(logged), /audit/, 'an audit is not logged');
  },
);

onEitherEngine('an audit names its wrong rows', async (t) => {
  const { put, post } = await startPayroll(t);
  await put('r');
  const { status, json } = await post('/r/audit', { lines: [{ employee_id: 'emp-1', member_amount: '1' }] });
  t.equal(status, 422);
  t.match(json.errors, [{ path: 'lines[0]', rule: /must name its deduction or code/ }]);
});

onEitherEngine('another content type is 415, and an empty body is 400', async (t) => {
  const { finalized, post } = await startPayroll(t);
  await finalized('r');
  for (const path of ['/r/taken', '/r/audit']) {
    t.equal((await post(path, 'x', { 'content-type': 'text/plain' })).status, 415);
    const none = await post(path);
    t.equal(none.status, 400);
    t.match(none.json.errors, [{ path: 'body', rule: 'is required' }]);
  }
});
