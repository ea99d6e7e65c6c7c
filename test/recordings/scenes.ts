/**
 * The scenes of the recordings: each shape of response once, if no other test asserts its values. Each scene writes one
 * golden file and builds on the scenes before it.
 */
import { census, codes, deductionEvent, hire, medical, monthlyRun, monthlySchedule, plain } from './data.ts';
import type { Recorder } from './recorder.ts';

const MB = '/v1/employers/maple-bakery';
const RUNS = '/v1/payroll-runs';
const CHANGES = '/v1/employee-changes';
const CSV = { 'content-type': 'text/csv' };

type Check = { id: string; result: string; count: number };

const noEventPending = (r: Recorder) =>
  r.until('/v1/events?state=pending&limit=1', ({ data }) => data.length === 0);

/** Shows each check in one line, and the failed ones whole. */
function checksOf(text: string): string {
  const { checks } = JSON.parse(text) as { checks: Check[] };
  return checks
    .map((check) => (check.result === 'fail' ? JSON.stringify(check) : `${check.id}: ${check.result}`))
    .join('\n');
}

async function events(r: Recorder): Promise<void> {
  const medicalOf = (member: string, createdAt: string) =>
    deductionEvent(createdAt, 'ded_medical', medical(member, '412.50'));
  await r.event('msg_medical_1', medicalOf('150.00', '2024-06-12T15:04:05Z'));
  await r.event('msg_medical_3', medicalOf('165.00', '2024-06-20T10:00:00Z'));
  await r.event('msg_medical_2', medicalOf('162.00', '2024-06-15T10:00:00Z'));
  const dental = plain('maple-bakery-001', 'dental', '18.25', '18.25');
  await r.event('msg_dental_1', deductionEvent('2024-06-12T15:04:05Z', 'ded_dental', dental));
  const conflicting = { ...dental, member_contribution: '19.00' };
  await r.event('msg_dental_1', deductionEvent('2024-06-12T15:04:05Z', 'ded_dental', conflicting));
  const life = { ...plain('maple-bakery-002', 'life', '8.00'), taxability: 'post_tax' };
  await r.event('msg_life', deductionEvent('2024-06-13T09:00:00Z', 'ded_life', life));
  const moved = plain('maple-bakery-004', 'dental', '21.00');
  await r.event('msg_moved_1', deductionEvent('2024-06-01T08:00:00Z', 'ded_moved', moved));
  const later = { ...moved, effective_start: '2024-09-01' };
  await r.event('msg_moved_2', deductionEvent('2024-06-20T08:00:00Z', 'ded_moved', later));
  const unmatched = plain('nobody-knows-me', 'dental', '18.25');
  await r.event('msg_unmatched', deductionEvent('2024-06-12T16:00:00Z', 'ded_unmatched', unmatched));
  const number = { ...medical('1', '2'), member_contribution: 150.5 };
  await r.event('msg_number', deductionEvent('2024-06-12T16:00:00Z', 'ded_number', number));
  await r.event('msg_other_type', { id: 'evt_x', event_type: 'employee.enrollment-started', data: {} });
  await noEventPending(r);

  await r.http('GET', '/v1/events?limit=2');
  for (const id of ['msg_medical_2', 'msg_number']) await r.http('GET', `/v1/events/${id}`);
  await r.http('GET', '/v1/events/msg_dental_1/conflicts');
  await r.http('POST', '/v1/events/reprocess', { body: { state: 'ignored' } });
  await noEventPending(r);
  await r.http('POST', '/v1/events/msg_number/dismiss', { body: { reason: 'a sample' } });
  await r.http('GET', '/v1/readiness', { show: checksOf });
}

async function censuses(r: Recorder): Promise<void> {
  const sync = (kind: 'request' | 'complete', employer_id: string) => {
    const event_type = `employee-census.sync-${kind}`;
    return r.event(`msg_sync_${kind}`, { id: `evt_${kind}`, event_type, data: { employer_id } });
  };
  await sync('request', 'maple-bakery');
  const inState = (state: string) => r.until('/v1/census-syncs', ({ data }) => data[0]?.state === state);
  await inState('waiting');
  const wrong = { organization: {}, employees: [{ employee_id: 'e-1', hire_date: '2024-02-30', ssn: '1' }] };
  await r.http('POST', `${MB}/census/validate`, { body: wrong });
  await r.http('PUT', `${MB}/census`, { body: census('maple-bakery'), sent: 'the fixture' });
  await inState('uploaded');
  await sync('complete', 'maple-bakery');
  await inState('completed');
  await r.http('GET', '/v1/census-syncs');
  const { employees, ...rest } = census('maple-bakery');
  const fewer = { ...rest, employees: employees.slice(0, 4) };
  await r.http('POST', `${MB}/census/validate`, { body: fewer, sent: 'without the last employee' });
  await r.http('GET', '/v1/censuses');
}

async function deductions(r: Recorder): Promise<void> {
  await r.http('GET', '/v1/deductions?employer_id=maple-bakery&line_of_coverage=medical&on=2024-07-31');
  await r.http('GET', '/v1/deduction-versions?cursor=0&limit=1');
  await r.http('GET', '/v1/deductions/ded_moved/versions');
}

async function changes(r: Recorder): Promise<void> {
  const post = (kind: string, body: unknown) => r.http('POST', `${CHANGES}/${kind}`, { body });
  const delivered = () => r.until(`${CHANGES}?limit=100`, ({ data }) => data.every(hasEnded));
  await post('new-hire', hire('maple-bakery-101'));
  const unknown = { employee_id: 'nobody-knows-me', termination_date: '2024-08-15' };
  await r.call('POST', `${CHANGES}/termination`, { body: unknown });
  await delivered();
  const rejected = (await r.until(`${CHANGES}?state=rejected`, ({ data }) => data.length === 1)).data[0].id;
  await r.http('GET', `${CHANGES}/${rejected}?body=true`);
  await r.http('POST', `${CHANGES}/${rejected}/cancel`, { body: { reason: 'never worked here' } });
  const leaving = { kind: 'termination', idempotency_key: 'left-5', employee_id: 'maple-bakery-005' };
  const leaves = (termination_date: string) => ({ ...leaving, termination_date });
  await post('batch', ['2024-12-31', '2024-12-31', '2024-11-30', '2024-02-30'].map(leaves));
  await delivered();
  await r.http('GET', `${CHANGES}?limit=1`);
}

function hasEnded({ state }: { state: string }): boolean {
  return !['pending', 'sending'].includes(state);
}

async function settings(r: Recorder): Promise<void> {
  const policy = { effective_from: '2024-01-01', open_items: 'decided' };
  const bodies = { 'pay-schedules/2024': monthlySchedule, 'payroll-codes': codes, 'payroll-policy': policy };
  for (const [name, body] of Object.entries(bodies)) {
    await r.call('PUT', `${MB}/${name}`, { body });
    await r.http('GET', `${MB}/${name}`);
  }
}

async function runs(r: Recorder): Promise<void> {
  const july = `${RUNS}/mb-07`;
  const one = { ...monthlyRun('07'), employee_ids: ['maple-bakery-001'] };
  await r.http('POST', `${RUNS}/preview`, { body: one });
  await r.call('PUT', july, { body: monthlyRun('07') });
  const readiness = await r.http('GET', `${july}/readiness`, { show: checksOf });
  const failed = readiness.json.checks.filter(({ result }: Check) => result === 'fail');
  const accept = failed.map(({ id }: Check) => id);
  await r.call('POST', `${july}/finalize`, {
    body: { accept, reason: 'recorded on purpose' },
    headers: { 'if-match': readiness.headers.get('etag') as string },
  });
  await r.http('GET', `${july}/outline`);
  await r.http('GET', `${july}/lines`, { note: 'CSV', headers: { accept: 'text/csv' } });
  await r.http('GET', `${july}/verify`);
  const audited =
    'employee_id,line_of_coverage,member_amount\nmaple-bakery-001,medical,165.00\nmaple-bakery-001,dental,18.26\n' +
    'maple-bakery-002,hsa,1.00\nstranger,dental,2.00\n';
  await r.http('POST', `${july}/audit`, { body: audited, headers: CSV });
  const taken = 'employee_id,line_of_coverage,amount\nmaple-bakery-001,medical,100.00\n';
  await r.http('POST', `${july}/taken`, { body: taken, headers: CSV });
  await r.http('GET', `${july}/taken`);
  await r.http('GET', '/v1/employees/maple-bakery-001');

  const raised = deductionEvent('2024-08-10T10:00:00Z', 'ded_medical', medical('171.00', '412.50'));
  await r.event('msg_medical_4', raised);
  await noEventPending(r);
  const settling = { effective_from: '2024-08-01', open_items: 'include' };
  await r.call('PUT', `${MB}/payroll-policy`, { body: settling });
  await r.http('PUT', `${RUNS}/mb-08`, { body: monthlyRun('08') });
  await r.http('GET', `${RUNS}/mb-08/lines`);
  await r.http('GET', `${RUNS}?limit=1`);
}

/** The texts that commands print for people. Their JSON is the response of the API, unless it is recorded here. */
async function commands(r: Recorder): Promise<void> {
  const one = (...argv: string[]) => r.commands(argv);
  const employer = ['--employer', 'maple-bakery'];
  const path = (name: string, content: string | object) => r.file(name, content);
  await one('codes', 'put', path('no-codes.json', { codes: [{ side: 'x' }] }), ...employer);
  const leavers = 'employee_id,termination_date\nmaple-bakery-101,2024-09-30\nmaple-bakery-003,2024-10-31\n';
  await one('change', 'termination', path('leavers.csv', leavers), '--json');
  await one('change', 'termination', path('leavers.csv', leavers));
  const { data } = await r.until(`${CHANGES}?limit=100`, ({ data }) => data.every(hasEnded));
  const september = ['--frequency', 'monthly', '--period-start', '2024-09-01', '--period-end', '2024-09-30'];
  await one('run', 'create', 'mb-09', ...employer, ...september, '--pay-date', '2024-09-30');
  const { json: run } = await r.call('GET', `${RUNS}/mb-09`);
  await one('run', 'finalize', 'mb-09', '--etag', run.etag);
  const name = ['--name', 'payroll'];
  await one('token', 'create', ...name, '--scope', 'ledger:read', 'runs:read', '--expires', '90d');
  const audited =
    'employee_id,line_of_coverage,member_amount\nmaple-bakery-001,medical,165.00\nstranger,dental,2.00\n';
  await r.commands(
    ['readiness'],
    ['events', 'list', '--limit', '5'],
    ['events', 'show', 'msg_dental_1'],
    ['deductions', 'list', ...employer, '--on', '2024-07-31'],
    ['deductions', 'versions', 'ded_medical'],
    ['census', 'show', ...employer],
    ['census', 'validate', path('wrong.json', { organization: {}, employees: [{}] })],
    ['change', 'list'],
    ['change', 'show', data.at(-1).id],
    ['schedule', 'show', ...employer],
    ['codes', 'show', ...employer],
    ['policy', 'show', ...employer],
    ['run', 'list'],
    ['run', 'lines', 'mb-07'],
    ['run', 'readiness', 'mb-09'],
    ['run', 'verify', 'mb-07'],
    ['run', 'audit', 'mb-09', path('audit.csv', audited)],
    ['run', 'taken-lines', 'mb-07'],
    ['token', 'list'],
    ['token', 'list', '--json'],
    ['retention', '--dry-run'],
    ['keys', 'rotate'],
  );
  const ofEngine = /^(integrity_check|data_checksums|foreign_keys|amcheck) .*\n( .*\n)*/gm;
  const verified = await r.run('verify');
  r.record('benefits-sidecar verify', `exit ${verified.code}`, verified.stdout.replace(ofEngine, ''));
}

/** The scenes in order, by the name of their golden file. */
export const SCENES = { events, censuses, deductions, changes, settings, runs, commands };
