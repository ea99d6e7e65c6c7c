import { onEitherEngine } from '../support/engine.ts';
import { startPayroll } from './payroll-stage.ts';

const CSV = { 'content-type': 'text/csv; charset=utf-8' };
const NDJSON = { 'content-type': 'application/x-ndjson' };

/** The same rows in each content type. */
const TAKEN = {
  json: [{ lines: [{ employee_id: 'emp-1', amount: '60.00' }] }, {}],
  csv: ['employee_id,amount\r\nemp-1,60.00\r\n', CSV],
  ndjson: ['{"employee_id":"emp-1","amount":"60.00"}\n', NDJSON],
} as const;

onEitherEngine('deductions taken are reported as JSON, CSV or NDJSON, and each report is kept', async (t) => {
  const { finalized, post, get, logged } = await startPayroll(t);
  await finalized('r');
  const differing = { employee_id: 'emp-1', member_amount: '69.23', taken: '60.00', owed: '9.23' };
  for (const [type, [body, headers]] of Object.entries(TAKEN)) {
    const { status, json } = await post('/r/taken', body, headers);
    t.equal(status, 200, type);
    t.match(json, { lines: 1, owed: '9.23', difference_count: 1, differences: [differing] }, type);
  }
  t.match(logged.at(-1), {
    fields: { run_id: 'r', employer_id: 'acme', count: 1, token: 'API_TOKEN' },
    message: 'deductions taken were recorded',
  });
  const again = await post('/r/taken', '\uFEFFemployee_id,amount\nemp-1,69.23', CSV);
  t.strictSame(again.json, { id: '4', lines: 1, owed: '0.00', difference_count: 0, differences: [] });
  t.match((await get('/r')).json.taken_reports, [{ id: '1' }, { id: '2' }, { id: '3' }, { id: '4' }]);
  const { data } = (await get('/r/taken')).json;
  t.match(data[2], { report_id: '3', taken: '60.00', owed: '9.23', replaced_by: '4' });
  t.match(data[3], { report_id: '4', taken: '69.23', owed: '0.00', replaced_by: null });
});

onEitherEngine('the first 1,000 wrong rows are named and all are counted', async (t) => {
  const { finalized, post } = await startPayroll(t);
  await finalized('r');
  const lines = Array.from({ length: 1_500 }, () => ({ employee_id: 'nobody', amount: '1.00' }));
  const { status, json } = await post('/r/taken', { lines });
  t.match([status, json.type], [422, 'urn:benefits-sidecar:problem:rows-refused']);
  t.strictSame([json.errors.length, json.error_count], [1_000, 1_500]);
  t.match(json.detail, /and 1497 more$/);
});

/** An audit of three rows: one equal, one with another amount, one unknown. */
const AUDITED = [
  ['emp-1', 'ded-1', '69.23'],
  ['emp-2', 'ded-2', '70.00'],
  ['emp-9', 'ded-9', '5.00'],
].map(([employee_id, deduction_id, member_amount]) => ({ employee_id, deduction_id, member_amount }));
const AUDIT = [
  [{ lines: AUDITED }, {}],
  [['employee_id,deduction_id,member_amount', ...AUDITED.map((row) => Object.values(row))].join('\n'), CSV],
  [AUDITED.map((row) => JSON.stringify(row)).join('\n'), NDJSON],
] as const;

onEitherEngine(
  'a payroll file is compared by category in every type, and the audit is not logged',
  async (t) => {
    const { put, post, logged } = await startPayroll(t);
    await put('r');
    for (const [body, headers] of AUDIT) {
      t.match(await post('/r/audit', body, headers), {
        status: 200,
        json: {
          compared_by: ['deduction_id'],
          matched: { count: 1, member_amount: '69.23', payroll_member_amount: '69.23' },
          only_here: { count: 0, rows: [] },
          only_in_payroll: { count: 0 },
          amount_differs: { count: 1, rows: [{ employee_id: 'emp-2', payroll_member_amount: '70.00' }] },
          employee_unknown: { count: 1, payroll_member_amount: '5.00', rows: [{ employee_id: 'emp-9' }] },
        },
      });
    }
    t.notMatch(JSON.stringify(logged), /audit/);
  },
);

onEitherEngine('another content type is 415, and an empty body is 400', async (t) => {
  const { finalized, post } = await startPayroll(t);
  await finalized('r');
  for (const path of ['/r/taken', '/r/audit']) {
    t.equal((await post(path, 'x', { 'content-type': 'text/plain' })).status, 415);
    const none = await post(path);
    t.match(none, { status: 400, json: { errors: [{ path: 'body', rule: 'is required' }] } });
  }
});
