/** The scenes of the recordings. Each writes one golden file and builds on the scenes before it. */
import type { Test } from 'tap';
import {
  biweeklyRun,
  census,
  codes,
  deductionEvent,
  hire,
  medical,
  monthlyRun,
  monthlySchedule,
  plain,
  syncEvent,
} from './data.ts';
import { type Recorder, wrongSignature } from './recorder.ts';

const MB = '/v1/employers/maple-bakery';
const HC = '/v1/employers/harbor-clinic';
const RUNS = '/v1/payroll-runs';
const CHANGES = '/v1/employee-changes';
const UNREADABLE = '{"schedules":';

const noEventPending = (r: Recorder) =>
  r.until('/v1/events?state=pending&limit=1', ({ data }) => data.length === 0);

async function service(r: Recorder): Promise<void> {
  for (const path of ['/livez', '/readyz', '/v1/readiness']) await r.http('GET', path);
  await r.http('GET', '/metrics', {
    // Only a SQLite file is known to be on a disk of this machine.
    show: (text) =>
      text
        .split('\n')
        .filter((line) => line.startsWith('# TYPE') && !line.includes('disk_free'))
        .sort()
        .join('\n'),
  });
  await r.http('GET', '/openapi.json', { show: operations });
  for (const [note, authorization] of [
    ['no token', ''],
    ['unknown token', 'Bearer bsc_unknown'],
  ] as const) {
    await r.http('GET', '/v1/deductions', { note, headers: { authorization } });
  }
  await r.http('GET', '/v1/nothing', { note: 'no such route' });
  await r.http('DELETE', '/v1/deductions', { note: 'no such method' });
}

/** One line for each operation of an OpenAPI document: its parameters and statuses. */
function operations(text: string): string {
  const { paths, components } = JSON.parse(text);
  return Object.entries<Record<string, Operation>>(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [], responses }]) => {
        const names = parameters
          .map((one) =>
            one.$ref === undefined ? one : components.parameters[one.$ref.split('/').at(-1) as string],
          )
          .map(({ name, required }) => (required ? name : `${name}?`));
        return `${method.toUpperCase()} ${path} (${names.join(', ')}) ${Object.keys(responses).join(' ')}`;
      }),
    )
    .sort()
    .join('\n');
}

type Parameter = { $ref?: string; name: string; required?: boolean };
type Operation = { parameters?: Parameter[]; responses: object };

async function events(r: Recorder): Promise<void> {
  const medicalOf = (member: string, createdAt: string) =>
    deductionEvent(createdAt, 'ded_medical', medical(member, '412.50'));
  await r.event('msg_medical_1', medicalOf('150.00', '2024-06-12T15:04:05Z'));
  await r.event('msg_medical_1', medicalOf('150.00', '2024-06-12T15:04:05Z'));
  await r.event('msg_medical_3', medicalOf('165.00', '2024-06-20T10:00:00Z'));
  await r.event('msg_medical_2', medicalOf('162.00', '2024-06-15T10:00:00Z'));
  const dental = plain('maple-bakery-001', 'dental', '18.25', '18.25');
  await r.event('msg_dental_1', deductionEvent('2024-06-12T15:04:05Z', 'ded_dental', dental));
  const conflicting = { ...dental, member_contribution: '19.00' };
  await r.event('msg_dental_1', deductionEvent('2024-06-12T15:04:05Z', 'ded_dental', conflicting));
  for (const [id, amount] of [
    ['first', '8.00'],
    ['second', '9.00'],
  ]) {
    const life = { ...plain('maple-bakery-002', 'life', amount as string), taxability: 'post_tax' };
    await r.event(`msg_tie_${id}`, deductionEvent('2024-06-13T09:00:00Z', 'ded_life', life));
  }
  const vision = plain('maple-bakery-002', 'vision', '4.10', '4.10');
  await r.event('msg_vision_1', deductionEvent('2024-06-12T15:00:00Z', 'ded_vision', vision));
  const ended = { ...vision, effective_end: '2024-07-31' };
  await r.event('msg_vision_2', deductionEvent('2024-06-25T15:00:00Z', 'ded_vision', ended));
  const moved = plain('maple-bakery-004', 'dental', '21.00');
  await r.event('msg_moved_1', deductionEvent('2024-06-01T08:00:00Z', 'ded_moved', moved));
  const later = { ...moved, effective_start: '2024-09-01' };
  await r.event('msg_moved_2', deductionEvent('2024-06-20T08:00:00Z', 'ded_moved', later));
  const hsa = { ...plain('harbor-clinic-001', 'hsa', '75.5', '25'), period: 'biweekly' };
  await r.event('msg_hsa', deductionEvent('2024-06-12T16:00:00Z', 'ded_hsa', hsa));
  const accident = { ...plain('harbor-clinic-004', 'accident', '12.40'), taxability: 'post_tax' };
  await r.event('msg_accident', deductionEvent('2024-06-12T16:00:00Z', 'ded_accident', accident));
  const unmatched = plain('nobody-knows-me', 'dental', '18.25');
  await r.event('msg_unmatched', deductionEvent('2024-06-12T16:00:00Z', 'ded_unmatched', unmatched));
  const number = { ...medical('1', '2'), member_contribution: 150.5 };
  await r.event('msg_number', deductionEvent('2024-06-12T16:00:00Z', 'ded_number', number));
  await r.event('msg_other_type', { id: 'evt_x', event_type: 'employee.enrollment-started', data: {} });
  await r.event('msg_no_json', 'not json');
  await noEventPending(r);

  await r.http('GET', '/v1/events');
  await r.http('GET', '/v1/events?limit=2');
  const { next_cursor } = await r.until('/v1/events?limit=2', () => true);
  await r.http('GET', `/v1/events?limit=2&cursor=${next_cursor}`, {
    as: '/v1/events?limit=2&cursor=<cursor>',
  });
  await r.http('GET', '/v1/events?state=quarantined&type=employee.deduction-updated');
  await r.http('GET', '/v1/events?conflict=true');
  await r.http('GET', '/v1/events?state=lost&limit=0&dismissed=maybe');
  for (const id of ['msg_medical_2', 'msg_dental_1', 'msg_number', 'msg_unknown']) {
    await r.http('GET', `/v1/events/${id}`);
  }
  await r.http('GET', '/v1/events/msg_dental_1/conflicts?limit=1');
  await r.http('POST', '/v1/events/msg_number/reprocess');
  await noEventPending(r);
  await r.http('POST', '/v1/events/reprocess', { body: { state: 'ignored' } });
  await noEventPending(r);
  await r.http('POST', '/v1/events/msg_unknown/reprocess');
  const dismissals = [
    ['msg_number', { reason: 'a sample' }],
    ['msg_number', {}],
    ['msg_vision_1', { reason: 'x' }],
  ];
  for (const [id, body] of dismissals) await r.http('POST', `/v1/events/${id}/dismiss`, { body });
  await r.http('GET', '/v1/readiness', { note: 'with failures' });
}

async function censuses(r: Recorder): Promise<void> {
  const upload = (note: string, body: unknown, path = `${MB}/census`) =>
    r.http('PUT', path, { body, note, sent: note });
  await r.event('msg_sync_request', syncEvent('request', 'maple-bakery'));
  await noEventPending(r);
  const inState = (employer: string, state: string) =>
    r.until(`/v1/census-syncs?employer_id=${employer}`, ({ data }) => data[0]?.state === state);
  await inState('maple-bakery', 'waiting');
  await r.http('GET', '/v1/census-syncs');
  await r.http('GET', `${MB}/census`, { note: 'none staged' });
  await r.http('POST', `${MB}/census/validate`, { body: census('maple-bakery'), sent: 'the fixture' });
  const wrong = { organization: {}, employees: [{ employee_id: 'e-1', hire_date: '2024-02-30', ssn: '1' }] };
  await r.http('POST', `${MB}/census/validate`, { body: wrong });
  await upload('wrong rows', wrong);
  await upload('no JSON', UNREADABLE);
  await upload('the fixture', census('maple-bakery'));
  await inState('maple-bakery', 'uploaded');
  await r.event('msg_sync_complete', syncEvent('complete', 'maple-bakery'));
  const { data } = await inState('maple-bakery', 'completed');
  await r.http('GET', `/v1/census-syncs/${data[0].id}`);
  await r.http('GET', '/v1/census-syncs/00000000-0000-4000-8000-000000000000');
  await upload('the other employer', census('harbor-clinic'), `${HC}/census`);
  await r.http('POST', `${HC}/census/sync`);
  await inState('harbor-clinic', 'uploaded');
  await r.event('msg_sync_complete_2', syncEvent('complete', 'harbor-clinic'));
  await inState('harbor-clinic', 'completed');
  const { employees, ...rest } = census('maple-bakery');
  const fewer = { ...rest, employees: employees.slice(0, 4) };
  await r.http('POST', `${MB}/census/validate`, {
    body: fewer,
    note: 'changes',
    sent: 'without the last employee',
  });
  await r.http('POST', '/v1/employers/unknown/census/sync');
  await r.event('msg_sync_request_3', syncEvent('request', 'new-employer'));
  const waiting = await inState('new-employer', 'waiting');
  const dismiss = `/v1/census-syncs/${waiting.data[0].id}/dismiss`;
  for (const body of [{}, { reason: 'requested by mistake' }]) await r.http('POST', dismiss, { body });
  await r.event('msg_sync_request_4', syncEvent('request', 'new-employer'));
  await inState('new-employer', 'waiting');
  for (const path of [
    `${MB}/census`,
    '/v1/censuses',
    '/v1/census-syncs?state=completed',
    '/v1/census-syncs?state=x',
  ]) {
    await r.http('GET', path);
  }
  for (const id of ['maple-bakery-001', 'maple-bakery-003', 'nobody-knows-me', 'never-seen']) {
    await r.http('GET', `/v1/employees/${id}`);
  }
}

async function deductions(r: Recorder): Promise<void> {
  const list = '/v1/deductions';
  const queries = [
    '',
    '?employer_id=maple-bakery&on=2024-07-31',
    '?matched=false',
    '?line_of_coverage=life&limit=1',
  ];
  for (const query of [...queries, '?on=2024-02-30&limit=0&taxability=none&unknown=1']) {
    await r.http('GET', list + query);
  }
  await r.http('GET', `${list}?known_at=2024-06-01T00:00:00Z`);
  for (const id of ['ded_medical', 'ded_unknown']) {
    await r.http('GET', `${list}/${id}`);
    await r.http('GET', `${list}/${id}?on=2024-07-31`);
    await r.http('GET', `${list}/${id}/versions`);
  }
  const feed = await r.http('GET', '/v1/deduction-versions?cursor=0&limit=3');
  const last = feed.json.data.at(-1).position;
  await r.http('GET', `/v1/deduction-versions?cursor=${last}`, {
    as: '/v1/deduction-versions?cursor=<position>',
  });
  await r.http('GET', '/v1/deduction-versions?cursor=x');
  const decide = (body: object, id = 'ded_moved') => r.http('POST', `${list}/${id}/start-decision`, { body });
  await decide({ version: 1, decision: 'maybe' });
  await decide({ version: 9, decision: 'drop', reason: 'x' });
  await decide({ version: 2, decision: 'drop', reason: 'x' });
  await decide({ version: 1, decision: 'keep', reason: 'July and August were covered' });
  await decide({ version: 1, decision: 'drop', reason: 'the employee confirmed September' });
  await r.http('GET', `${list}/ded_moved/versions`);
}

async function changes(r: Recorder): Promise<void> {
  const post = (kind: string, body: unknown, key?: string) =>
    r.http('POST', `${CHANGES}/${kind}`, {
      body,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });
  const delivered = () => r.until(`${CHANGES}?limit=100`, ({ data }) => data.every(hasEnded));
  const leaver = { employee_id: 'maple-bakery-004', termination_date: '2024-08-15' };
  await post('new-hire', hire('maple-bakery-101'), 'hire-101');
  await delivered();
  await post('new-hire', hire('maple-bakery-101'), 'hire-101');
  await post('new-hire', { ...hire('maple-bakery-101'), hire_date: '2024-07-09' }, 'hire-101');
  await post('termination', leaver);
  await delivered();
  const address = { line1: '9 Elm Street', city: 'Trenton', state: 'NJ', zip_code: '08601' };
  await post('demographic', { employee_id: 'maple-bakery-101', address });
  await delivered();
  const payRate = { amount: '27.00', period: 'hourly', effective_start: '2024-09-01' };
  await post('compensation-change', { employee_id: 'maple-bakery-101', pay_rate: payRate });
  await delivered();
  await post('compensation-change', { employee_id: '', pay_frequency: 'daily', pay_rate: {}, extra: 1 });
  await post('termination', UNREADABLE.replace('schedules', 'employee_id'));
  await post('promotion', {});
  await post('termination', { employee_id: 'nobody-knows-me', termination_date: '2024-08-15' });
  await delivered();
  const rejected = (await r.until(`${CHANGES}?state=rejected`, ({ data }) => data.length === 1)).data[0].id;
  await r.http('GET', `${CHANGES}/${rejected}`);
  await r.http('GET', `${CHANGES}/${rejected}?body=true`);
  await r.http('POST', `${CHANGES}/${rejected}/release`);
  await r.http('POST', `${CHANGES}/${rejected}/retry`, { body: {} });
  await delivered();
  await r.http('POST', `${CHANGES}/${rejected}/cancel`, { body: {} });
  await r.http('POST', `${CHANGES}/${rejected}/cancel`, { body: { reason: 'never worked here' } });
  await r.http('POST', `${CHANGES}/${rejected}/cancel`, { body: { reason: 'never worked here' } });
  const batch = [
    {
      kind: 'termination',
      idempotency_key: 'left-5',
      employee_id: 'maple-bakery-005',
      termination_date: '2024-12-31',
    },
    {
      kind: 'termination',
      idempotency_key: 'left-5',
      employee_id: 'maple-bakery-005',
      termination_date: '2024-12-31',
    },
    {
      kind: 'termination',
      idempotency_key: 'left-5',
      employee_id: 'maple-bakery-005',
      termination_date: '2024-11-30',
    },
    { kind: 'termination', employee_id: 'maple-bakery-005', termination_date: '2024-02-30' },
  ];
  const ndjson = batch.map((one) => JSON.stringify(one)).join('\n');
  await post('batch', batch);
  await r.http('POST', `${CHANGES}/batch`, {
    body: ndjson,
    headers: { 'content-type': 'application/x-ndjson' },
  });
  await post('batch', []);
  await delivered();
  for (const query of ['', '?kind=termination&limit=1', '?employee_id=maple-bakery-101', '?state=lost']) {
    await r.http('GET', CHANGES + query);
  }
  await r.http('GET', `${CHANGES}/00000000-0000-4000-8000-000000000000`);
  await r.http('GET', '/v1/employees/maple-bakery-101');
}

function hasEnded({ state }: { state: string }): boolean {
  return !['pending', 'sending'].includes(state);
}

async function settings(r: Recorder): Promise<void> {
  for (const [name, body, wrong] of [
    [
      'pay-schedule',
      monthlySchedule,
      { schedules: [{ pay_frequency: 'daily', pay_dates: [{ pay_date: 'x' }] }] },
    ],
    ['payroll-codes', codes, { codes: [{ line_of_coverage: 'x', side: 'both', code: '' }] }],
    ['payroll-policy', { effective_from: '2024-01-01', adjustments: 'report' }, { scheme: 'x', arrears: 1 }],
  ] as const) {
    await r.http('GET', `${MB}/${name}`, { note: 'none' });
    await r.http('PUT', `${MB}/${name}`, { body: wrong });
    await r.http('PUT', `${MB}/${name}`, { body: UNREADABLE });
    await r.http('PUT', `${MB}/${name}`, { body });
    await r.http('PUT', `${MB}/${name}`, { body, note: 'again' });
    await r.http('GET', `${MB}/${name}`);
  }
}

async function runs(r: Recorder): Promise<void> {
  const july = `${RUNS}/mb-07`;
  const put = (id: string, body: unknown, note?: string) =>
    r.http('PUT', `${RUNS}/${id}`, { body, ...(note !== undefined && { note }) });
  await r.http('POST', `${RUNS}/preview`, { body: monthlyRun('07') });
  await r.http('POST', `${RUNS}/preview`, {
    body: { ...monthlyRun('07'), employee_ids: ['maple-bakery-001'] },
  });
  await r.http('POST', `${RUNS}/preview`, { body: biweeklyRun, note: 'without a schedule' });
  await put('mb-07', {
    ...monthlyRun('07'),
    period_start: '2024-02-30',
    pay_date: 'x',
    kind: 'x',
    employee_ids: 1,
  });
  await put('mb-07', { ...monthlyRun('07'), pay_date: '2024-07-30' }, 'a date that the schedule lacks');
  await put('mb-x', { ...monthlyRun('07'), employer_id: 'corner-shop' });
  await put('mb-07', { ...monthlyRun('07'), adjustments: 'include' }, 'differs from the policy');
  await put('-/x'.replace('/', '%2F'), monthlyRun('07'), 'a wrong id');
  await put('mb-07', monthlyRun('07'));
  await put('mb-07', monthlyRun('07'), 'again');
  await put('mb-07', monthlyRun('08'), 'another body');
  await put('hc-07', biweeklyRun);
  const { json: run } = await r.http('GET', july);
  await r.http('GET', `${july}/outline`);
  await r.http('GET', `${july}/lines`);
  await r.http('GET', `${july}/lines?limit=1&employee_id=maple-bakery-001`);
  await r.http('GET', `${july}/lines?flag=overlap&change=x`);
  await r.http('GET', `${july}/lines`, { note: 'CSV', headers: { accept: 'text/csv' } });
  await r.http('GET', `${july}/lines`, { note: 'NDJSON', headers: { accept: 'application/x-ndjson' } });
  await r.http('GET', `${july}/lines`, { note: 'no such type', headers: { accept: 'image/png' } });
  await r.http('GET', `${july}/verify`, { note: 'still open' });
  await r.http('POST', `${july}/void`, { body: { reason: 'x' }, note: 'still open' });
  const readiness = await r.http('GET', `${july}/readiness`);
  const finalize = (note: string, body?: object, etag?: string | null) =>
    r.http('POST', `${july}/finalize`, {
      note,
      ...(body !== undefined && { body }),
      ...(etag && { headers: { 'if-match': etag } }),
    });
  await finalize('checks fail', undefined, `"${run.etag}"`);
  await finalize('another ETag', undefined, '"another"');
  const accept = readiness.json.checks
    .filter((one: Check) => one.result === 'fail')
    .map(({ id }: Check) => id);
  await finalize('without a reason', { accept }, readiness.headers.get('etag'));
  const accepted = { accept, reason: 'recorded on purpose' };
  await finalize('accepted', accepted, readiness.headers.get('etag'));
  await finalize('again', accepted, readiness.headers.get('etag'));
  for (const path of ['', '/outline', '/lines', '/readiness', '/verify']) {
    await r.http('GET', july + path, { note: 'finalized' });
  }
  await r.http('DELETE', july, { note: 'finalized' });

  const csv = { 'content-type': 'text/csv' };
  const audited =
    'employee_id,line_of_coverage,member_amount\nmaple-bakery-001,medical,165.00\nmaple-bakery-001,dental,18.26\n' +
    'maple-bakery-002,hsa,1.00\nstranger,dental,2.00\n';
  await r.http('POST', `${july}/audit`, { body: audited, headers: csv });
  await r.http('POST', `${july}/audit`, { body: 'employee;amount\n1;2\n', headers: csv });
  const taken = 'employee_id,line_of_coverage,amount\nmaple-bakery-001,medical,100.00\n';
  await r.http('POST', `${july}/taken`, { body: taken.replace('100.00', 'all'), headers: csv });
  await r.http('POST', `${july}/taken`, { body: taken, headers: csv });
  await r.http('GET', `${july}/taken`);
  await r.http('POST', `${RUNS}/hc-07/taken`, { body: taken, headers: csv, note: 'still open' });
  await r.http('GET', '/v1/employees/maple-bakery-001', { note: 'with arrears' });

  const raised = deductionEvent('2024-08-10T10:00:00Z', 'ded_medical', medical('171.00', '412.50'));
  await r.event('msg_medical_4', raised);
  await noEventPending(r);
  await put('mb-08-report', monthlyRun('08'));
  await r.http('GET', `${RUNS}/mb-08-report/lines`, { note: 'adjustments and arrears are reported' });
  await r.http('DELETE', `${RUNS}/mb-08-report`);
  const august = {
    ...monthlyRun('08'),
    adjustments: 'include',
    arrears: 'include',
    policy_reason: 'settle now',
  };
  await put('mb-08', august);
  await r.http('GET', `${RUNS}/mb-08/lines`, { note: 'adjustments and arrears are included' });
  await r.http('POST', `${july}/void`, { body: {} });
  await r.http('POST', `${july}/void`, { body: { reason: 'wrong pay period' } });
  await r.http('GET', `${RUNS}/mb-08/lines`, { note: 'after the first run was voided' });
  const offCycle = { kind: 'off_cycle', employee_ids: ['maple-bakery-002'], deductions: ['ded_life'] };
  await put('mb-bonus', { ...monthlyRun('08'), pay_date: '2024-08-20', ...offCycle });
  for (const query of ['', '?state=voided', '?employer_id=harbor-clinic', '?limit=1', '?state=x']) {
    await r.http('GET', RUNS + query);
  }
  for (const path of ['', '/outline', '/lines', '/readiness', '/verify']) {
    await r.http('GET', `${RUNS}/unknown${path}`);
  }
}

type Check = { id: string; result: string };

/** Records an import twice. On SQLite the running sidecar applies it, on PostgreSQL the command itself. */
async function imports(r: Recorder, file: string): Promise<void> {
  const text = await r.run('import', 'deductions', file);
  r.record('benefits-sidecar import deductions', `exit ${text.code}`, text.stdout);
  await noEventPending(r);
  const json = await r.run('import', 'deductions', file, '--json');
  const { applied: _, ...shown } = JSON.parse(json.stdout);
  r.record('benefits-sidecar import deductions --json', `exit ${json.code}`, JSON.stringify(shown));
}

/** Checks of doctor that depend on the database being a file. */
const FILE_CHECKS = ['data-loss', 'disk-space', 'data-folder', 'serving'];

async function commands(r: Recorder): Promise<void> {
  const both = (...argv: string[]) => [argv, [...argv, '--json']];
  const one = (...argv: string[]) => r.commands(argv);
  const employer = ['--employer', 'maple-bakery'];
  const path = (name: string, content: string | object) => r.file(name, content);
  await one('events', 'reprocess', 'msg_unknown');
  await one('events', 'dismiss', 'msg_unmatched', '--reason', 'x', '--yes');
  await one(
    'census',
    'stage',
    path('wrong.json', { organization: {}, employees: [] }),
    '--employer',
    'corner-shop',
  );
  await one('census', 'stage', path('census.json', census('maple-bakery')), ...employer);
  await one('schedule', 'put', path('schedule.json', monthlySchedule), ...employer);
  await one('codes', 'put', path('codes.json', codes), ...employer);
  await one('codes', 'put', path('no-codes.json', { codes: [{ side: 'x' }] }), ...employer);
  await one(
    'policy',
    'put',
    path('policy.json', { effective_from: '2024-09-01', arrears: 'include' }),
    ...employer,
  );
  await one('change', 'new-hire', path('hires.json', [hire('maple-bakery-102'), hire('maple-bakery-103')]));
  const leavers = 'employee_id,termination_date\nmaple-bakery-102,2024-09-30\nmaple-bakery-103,2024-02-30\n';
  await one('change', 'termination', path('wrong.csv', leavers));
  await one('change', 'termination', path('leavers.csv', leavers.replace('02-30', '10-31')), '--json');
  await one('change', 'termination', path('leavers.csv', leavers.replace('02-30', '10-31')));
  const { data } = await r.until(`${CHANGES}?limit=100`, ({ data }) => data.every(hasEnded));
  const lines =
    'id,employee_id,line_of_coverage,member_contribution,employer_contribution,period,taxability,effective_start\n';
  const imported = `${lines}imp-1,maple-bakery-002,dental,11.00,0.00,monthly,pre_tax,2024-07-01\n`;
  await imports(r, path('imported.csv', imported));
  await one('import', 'deductions', path('not-imported.csv', imported.replace('11.00', 'eleven')));
  await noEventPending(r);
  const september = ['--frequency', 'monthly', '--period-start', '2024-09-01', '--period-end', '2024-09-30'];
  const run = [...employer, ...september, '--pay-date', '2024-09-30'];
  await one('run', 'create', 'mb-09', ...run);
  await one('run', 'create', 'mb-09', ...run, '--json');
  await one('run', 'create', 'mb-x', ...employer, ...september, '--pay-date', '2024-09-29');
  await one('run', 'finalize', 'mb-09', '--yes');
  await one('run', 'finalize', 'mb-09', '--etag', 'another');
  await one('run', 'create', 'mb-delete', ...run);
  await one('run', 'delete', 'mb-delete');
  await one('run', 'delete', 'mb-delete', '--yes');
  await one('run', 'delete', 'mb-07');
  const name = ['--name', 'payroll'];
  await one('token', 'create', ...name, '--scope', 'ledger:read', 'runs:read', '--expires', '90d');
  await one('token', 'create', ...name, '--scope', 'everything');
  await one('token', 'revoke', 'nobody');
  const taken = path('taken.csv', 'employee_id,line_of_coverage,amount\nmaple-bakery-001,medical,1.00\n');
  const audited = path(
    'audit.csv',
    'employee_id,line_of_coverage,member_amount\nmaple-bakery-001,medical,165.00\n',
  );
  const change = data.at(-1).id;
  await r.commands(
    ['readiness'],
    ...both('events', 'list', '--limit', '5'),
    ...both('events', 'show', 'msg_dental_1'),
    ['events', 'list', '--state', 'lost'],
    ...both('deductions', 'list', '--employer', 'maple-bakery', '--on', '2024-07-31'),
    ...both('deductions', 'versions', 'ded_medical'),
    ['deductions', 'versions', 'ded_unknown'],
    ['deductions', 'decide', 'ded_moved', '--version', '2', '--decision', 'drop', '--reason', 'x'],
    ...both('census', 'show', ...employer),
    ...both('census', 'validate', path('census.json', census('maple-bakery')), ...employer),
    ['census', 'validate', path('wrong.json', { organization: {}, employees: [{}] })],
    ...both('change', 'list'),
    ...both('change', 'show', change),
    ['change', 'retry', change],
    ...both('schedule', 'show', ...employer),
    ...both('codes', 'show', ...employer),
    ...both('policy', 'show', ...employer),
    ...both('run', 'list'),
    ...both('run', 'show', 'mb-09'),
    ['run', 'show', 'unknown'],
    ['run', 'preview', ...run],
    ...both('run', 'lines', 'mb-09'),
    ['run', 'lines', 'mb-09', '--csv'],
    ...both('run', 'readiness', 'mb-09'),
    ...both('run', 'verify', 'mb-07'),
    ...both('run', 'audit', 'mb-09', audited),
    ['run', 'taken', 'mb-09', taken],
    ...both('run', 'taken-lines', 'mb-07'),
    ['run', 'void', 'mb-09', '--reason', 'x'],
    ...both('token', 'list'),
    ...both('retention', '--dry-run'),
    ['keys', 'rotate'],
    ['run', 'list', '--unknown'],
    ['nothing'],
    ['run', 'create'],
    ['simulate', '--scenario', 'list'],
    ['--version'],
  );
  const ofEngine = /^(integrity_check|data_checksums|amcheck) .*\n( .*\n)*/gm;
  const verified = await r.run('verify');
  r.record('benefits-sidecar verify', `exit ${verified.code}`, verified.stdout.replace(ofEngine, ''));
  const verifiedJson = await r.run('verify', '--json');
  const { engine: _, ...ofBoth } = JSON.parse(verifiedJson.stdout);
  r.record('benefits-sidecar verify --json', `exit ${verifiedJson.code}`, JSON.stringify(ofBoth));
  const doctor = await r.run('doctor', '--json');
  const { healthy, checks } = JSON.parse(doctor.stdout);
  const shown = checks.filter(({ id }: Check) => !FILE_CHECKS.includes(id));
  r.record('benefits-sidecar doctor --json', `exit ${doctor.code}`, JSON.stringify({ healthy, shown }));
}

/** The help of every command, which is the same on both engines. */
async function help(r: Recorder): Promise<void> {
  let commands: string[][] = [[]];
  while (commands.length > 0) {
    const texts = await r.commands(...commands.map((argv) => [...argv, '--help']));
    commands = commands.flatMap((argv, index) =>
      subcommandsIn(texts[index] as string).map((one) => [...argv, one]),
    );
  }
}

function subcommandsIn(text: string): string[] {
  const listed = text.split(/\n(?:Arguments|Options|Examples):\n/)[1] ?? '';
  const isGroup = text.includes('[command]');
  return isGroup
    ? [...listed.matchAll(/^ {2}([a-z][a-z-]*)/gm)]
        .map(([, name]) => name as string)
        .filter((name) => name !== 'help')
    : [];
}

async function people(r: Recorder): Promise<void> {
  for (let count = 0; count < 2; count += 1) await r.signIn();
  await r.http('GET', '/v1/sessions');
  const { data } = await r.until('/v1/sessions', () => true);
  await r.http('DELETE', `/v1/sessions/${data[0].id}`);
  await r.http('DELETE', `/v1/sessions/${data[0].id}`, { note: 'again' });
  await r.http('DELETE', '/v1/sessions');
  const limited = await r.run('token', 'create', '--name', 'limited', '--scope', 'ledger:read');
  const headers = { authorization: `Bearer ${limited.stdout.trim()}` };
  await r.http('GET', RUNS, { note: 'a token without the scope', headers });
  await r.http('GET', '/v1/activity', { show: oneMinuteOnly });
  // Last, because readiness shows a rejected signature only some seconds later.
  await r.event('msg_forged', syncEvent('request', 'maple-bakery'), wrongSignature());
}

/** Shows the newest minute with deliveries: its percentiles are numbers. */
function oneMinuteOnly(text: string): string {
  const activity = JSON.parse(text);
  const busy = activity.minutes.filter(({ acknowledged }: { acknowledged: number }) => acknowledged > 0);
  return JSON.stringify({ ...activity, minutes: busy.slice(-1) });
}

/** Fails for each GET operation of the OpenAPI document that no scene requests. */
export async function assertAllRequested(t: Test, r: Recorder): Promise<void> {
  const { paths } = (await r.until('/openapi.json', ({ paths }) => paths !== undefined)) as { paths: object };
  const requested = [...r.requested];
  for (const [path, methods] of Object.entries(paths)) {
    const pattern = new RegExp(`^GET ${path.replace(/\{\w+\}/g, '[^/]+')}$`);
    if ('get' in methods)
      t.ok(
        requested.some((one) => pattern.test(one)),
        `GET ${path} is recorded`,
      );
  }
}

/** The scenes in order, by the name of their golden file. */
export const SCENES = {
  service,
  events,
  censuses,
  deductions,
  changes,
  settings,
  runs,
  commands,
  help,
  people,
};
