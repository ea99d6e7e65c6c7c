/** The list of audit records and the head of their chain. */
import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import type { AuditRecord } from '../../src/security/audit-list.ts';
import { CENSUS_FORMAT } from '../census/parts.ts';
import { organization } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { BIWEEKLY, bodyOn, EMPLOYER, schedule } from '../support/payroll.ts';
import { startPayroll } from './payroll-stage.ts';

/** Recomputes the head from a file, as docs/security.md#audit-records describes it for auditors. */
function headOf(ndjson: string): string {
  let head = '0:';
  for (const line of ndjson.split('\n').filter((text) => text !== '')) {
    const { id, actor, hash, ...record }: AuditRecord = JSON.parse(line);
    const { kind, issuer, id: actorId, name, acting_user } = actor;
    const { action, resource_type, resource_id, employer_id, employee_id } = record;
    const text = JSON.stringify([
      ...[Number(id), record.recorded_at, kind, issuer, actorId, name, acting_user],
      ...[action, resource_type, resource_id, employer_id, employee_id],
      ...[JSON.stringify(record.details), record.reason_hash],
    ]);
    const preceding = head.slice(head.indexOf(':') + 1);
    if (createHash('sha256').update(`${preceding}\n${text}`).digest('hex') !== hash) throw new Error(line);
    head = `${id}:${hash}`;
  }
  return head;
}

onEitherEngine('a finalized run shows the head, which a file of all records leads to', async (t: Test) => {
  let isKept = false;
  const keepHead = async () => {
    isKept = true;
  };
  const { call, finalized } = await startPayroll(t, { keepHead });
  const run = await finalized('r');
  t.ok(isKept, 'the signed head is kept before the response');
  const head = run.headers['audit-head'];
  t.match(head, /^\d+:[0-9a-f]{64}$/);
  t.strictSame((await call({ url: '/v1/audit/head' })).json, { head });
  t.equal(run.json.audit_head, head);
  const file = await call({
    url: '/v1/audit?order=oldest_first',
    headers: { accept: 'application/x-ndjson' },
  });
  t.equal(headOf(file.text), head);
  await call({ method: 'POST', url: '/v1/payroll-runs/r/void', body: { reason: 'x' } });
  for (const accept of ['application/json', 'text/csv', 'application/x-ndjson']) {
    const { headers } = await call({ url: '/v1/payroll-runs/r/lines', headers: { accept } });
    t.equal(headers['audit-head'], head, accept);
  }
  const later = await call({ url: '/v1/audit/head' });
  t.not(later.json.head, head);
});

onEitherEngine('records are listed in pages, or streamed as CSV and NDJSON', async (t: Test) => {
  const { call, finalized } = await startPayroll(t);
  await finalized('r');
  const { json } = await call({ url: `/v1/audit?employer_id=${EMPLOYER}&resource_type=run&limit=1` });
  t.match(json, { data: [{ action: 'run.finalize', resource_id: 'r' }], has_more: true });
  const more = `/v1/audit?employer_id=${EMPLOYER}&resource_type=run&limit=1&cursor=${json.next_cursor}`;
  t.match((await call({ url: more })).json, { data: [{ action: 'run.create' }], has_more: false });
  const csv = await call({ url: '/v1/audit?action=run.create', headers: { accept: 'text/csv' } });
  const [header, row] = csv.text.split('\r\n');
  t.match(csv.headers['content-type'], 'text/csv');
  t.match(header, /^id,recorded_at,actor_kind,/);
  t.match(row, /,run\.create,run,r,/);
  const refused = await call({ url: '/v1/audit?limit=1', headers: { accept: 'text/csv' } });
  t.match(refused, { status: 400, json: { errors: [{ path: 'limit' }] } });
  const unknown = { status: 400, json: { errors: [{ path: 'action' }] } };
  t.match(await call({ url: '/v1/audit?action=nothing' }), unknown);
  t.equal((await call({ url: '/v1/audit', headers: { accept: 'image/png' } })).status, 406);
  for (const accept of ['application/json', 'text/csv']) {
    t.equal((await call({ url: '/v1/audit?employer_id=typo', headers: { accept } })).status, 404);
  }
});

onEitherEngine('a record of a setting has each old and new value', async (t: Test) => {
  const { call, tokenFor } = await startPayroll(t);
  const set = async (path: string, body: object) => {
    const url = `/v1/employers/${EMPLOYER}/${path}`;
    const { status, text } = await call({ method: 'PUT', url, body });
    if (status !== 200) throw new Error(text);
  };
  const last = async (action: string, token?: string) => {
    const { id } = (await call({ url: `/v1/audit?action=${action}&limit=1` })).json.data[0];
    return call({ url: `/v1/audit/${id}`, ...(token && { token }) });
  };
  const differences = async (action: string) => (await last(action)).json.differences;

  const moved = BIWEEKLY.map((date) =>
    date.pay_date === '2026-12-18' ? { ...date, pay_date: '2026-12-17' } : date,
  );
  await set('pay-schedules/2026', { schedules: [schedule({ pay_dates: moved })] });
  const ofSchedule = { pay_frequency: 'biweekly', pay_group: null };
  const period = { period_start: '2026-11-30', period_end: '2026-12-13', takes: 'all' };
  t.strictSame(await differences('schedule.put'), [
    { of: { ...ofSchedule, pay_date: '2026-12-17' }, before: null, after: period },
    { of: { ...ofSchedule, pay_date: '2026-12-18' }, before: period, after: null },
  ]);
  await set('pay-schedules/2026', { schedules: [] });
  const year = { pay_dates: 26, first: '2026-01-02', last: '2026-12-17', year_in_fewer_checks: false };
  t.strictSame(await differences('schedule.put'), [
    { of: { ...ofSchedule, year: '2026' }, before: year, after: null },
  ]);

  const code = { line_of_coverage: 'medical', side: 'employee' };
  await set('payroll-codes', { codes: [{ ...code, code: 'MED1' }] });
  await set('payroll-codes', {
    codes: [
      { ...code, code: 'MED2' },
      { ...code, side: 'employer', code: 'ER' },
    ],
  });
  const ofCode = { line_of_coverage: 'medical', taxability: null, coverage_type: null };
  t.strictSame(await differences('codes.put'), [
    {
      of: { ...ofCode, side: 'employee' },
      before: { code: 'MED1', treatment: null },
      after: { code: 'MED2', treatment: null },
    },
    { of: { ...ofCode, side: 'employer' }, before: null, after: { code: 'ER', treatment: null } },
  ]);

  await set('payroll-policy', { effective_from: '2026-08-01', open_items: 'include' });
  t.strictSame(await differences('policy.put'), [
    { of: { option: 'open_items' }, before: { value: 'decided' }, after: { value: 'include' } },
  ]);

  const { columns } = CENSUS_FORMAT;
  await set('file-formats/census', { columns, organization });
  const [id, ...others] = columns;
  const leave_out = [{ header: 'employee_id', values: ['Total*'], reason: 'totals' }];
  const changed = [{ ...id, rules: ['blanks'] }, ...others];
  await set('file-formats/census', { columns: changed, id_prefix: 'a-', leave_out, organization: null });
  t.strictSame(await differences('file-format.put'), [
    {
      of: { header: 'employee_id' },
      before: { field: 'employee_id', rules: [] },
      after: { field: 'employee_id', rules: ['blanks'] },
    },
    {
      of: { left_out: { header: 'employee_id', reason: 'totals' } },
      before: null,
      after: { values: ['Total*'] },
    },
    { of: { part: 'id_prefix' }, before: null, after: { value: 'a-' } },
    { of: { part: 'organization' }, before: null, after: { value: 'changed' } },
  ]);

  await set('second-approval', { required: true, reason: 'two persons' });
  t.strictSame(await differences('approval-setting.put'), [
    {
      of: {},
      before: { required: false, stop_requested: false },
      after: { required: true, stop_requested: false },
    },
  ]);

  t.equal((await last('policy.put', await tokenFor([EMPLOYER], 'all'))).status, 200);
  t.equal((await last('policy.put', await tokenFor(['globex'], 'all'))).status, 404);
  await call({ method: 'PUT', url: '/v1/payroll-runs/r', body: bodyOn('2026-07-17') });
  t.match((await last('run.create')).json, { resource_id: 'r', difference_count: 0, differences: [] });
  t.equal((await call({ url: '/v1/audit/999' })).status, 404);
});
