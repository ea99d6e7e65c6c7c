import { readFileSync } from 'node:fs';
import { createApi } from '../../src/api/server.ts';
import { recordUpload } from '../../src/census/staged.ts';
import { failSyncs, requestSync } from '../../src/census/syncs.ts';
import { transact } from '../../src/database/transaction.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { needOf, rejectedSync } from '../census/parts.ts';
import { census, employee, organization } from '../contract/samples.ts';
import { encryptor } from '../outbox/parts.ts';
import { readsOf } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { call as callOn, NOW, type Running, start } from './start.ts';

const test = onEitherEngine.with(start);

const CENSUSES = new URL('../../fixtures/census/', import.meta.url);
const URL_OF_CENSUS = '/v1/employers/acme%20%2F%20co/census';
const EMPLOYER = 'acme / co';
const HOUR_AGO = new Date(NOW.getTime() - 3_600_000).toISOString();
const put = ({ call }: Running, body: unknown, headers: Record<string, string> = {}) =>
  call({ method: 'PUT', url: URL_OF_CENSUS, body, headers });

test('a valid census can be read as it would be uploaded, and updates the roster', async (t, running) => {
  const { call, db, woken, logged } = running;
  const own = { pay_group: 'north', effective_on: '2026-04-01' };
  const { status, json } = await put(running, { organization, employees: [{ ...employee, ...own }] });
  t.equal(status, 200);
  t.equal(json.employees, 1);
  t.equal(woken.send, 1, 'waiting syncs continue');
  const read = await call({ url: URL_OF_CENSUS });
  t.strictSame(read.json, census, 'without the fields that the service does not know');
  t.match(read.headers['content-type'], /^application\/json/);
  const facts = await db.selectFrom('roster_facts').selectAll().execute();
  t.match(facts, [{ employee_id: employee.employee_id, employer_id: EMPLOYER, ...own }]);
  t.match(logged, [
    { fields: { employer_id: EMPLOYER, census_id: json.id, count: 1, token: 'API_TOKEN' } },
    { fields: { employer_id: EMPLOYER, census_id: json.id, token: 'API_TOKEN' } },
  ]);
});

test('a census can be CSV, with the organization in a header', async (t, running) => {
  const fixture = (name: string) => readFileSync(new URL(name, CENSUSES), 'utf8');
  const type = { 'content-type': 'text/csv; charset=utf-8' };
  const csv = fixture('csv/maple-bakery.csv');
  const problem = {
    path: 'organization',
    rule: /^is required in the header Census-Organization .*file format/,
  };
  t.match(await put(running, csv, type), { status: 422, json: { errors: [problem] } });
  const { employees } = JSON.parse(fixture('json/maple-bakery.json'));
  const utf8 = { ...organization, legal_business_name: 'Bäckerei 🙂' };
  const header = Buffer.from(JSON.stringify(utf8)).toString('latin1');
  t.equal((await put(running, csv, { ...type, 'census-organization': header })).status, 200);
  t.strictSame((await running.call({ url: URL_OF_CENSUS })).json, { organization: utf8, employees });
});

test('what a refused value means is shown to the caller who sent it, and is nowhere else', async (t, running) => {
  const [rate] = employee.pay_rate;
  const paid = { ...employee, dob: '4/5/1971', pay_rate: [{ ...rate, amount: '61973.-' }] };
  const body = { organization, employees: [paid] };
  const { status, json } = await put(running, body);
  t.equal(status, 422);
  t.strictSame(json.errors, [
    { path: 'employees[0].dob', rule: 'must be a real date, YYYY-MM-DD', hint: 'did you mean 1971-04-05?' },
    {
      path: 'employees[0].pay_rate[0].amount',
      rule: 'must be an amount of 0 or more with at most 2 decimals, as a string',
      hint: 'did you mean 61973.00?',
    },
  ]);
  const { json: report } = await running.call({ method: 'POST', url: `${URL_OF_CENSUS}/validate`, body });
  t.strictSame(report.problems, json.errors);
  const audit = await running.db.selectFrom('audit_records').selectAll().execute();
  t.notMatch(JSON.stringify([json.detail, running.logged, audit]), /1971|61973/);
});

test('what the contract allows and nobody means is a warning, and is staged', async (t, running) => {
  const body = { organization, employees: [{ ...employee, hours_worked: '2080' }] };
  const { json } = await running.call({ method: 'POST', url: `${URL_OF_CENSUS}/validate`, body });
  const warnings = [{ path: 'employees[0].hours_worked', rule: 'is above the 168 hours of a week' }];
  t.match(json, { valid: true, problem_count: 0, warning_count: 1, warnings });
  t.equal((await put(running, body)).status, 200);
});

test('without pii:read, validating does not confirm a guessed value', async (t, running) => {
  const { call, db, tokenWith } = running;
  const leaving = { ...employee, employee_id: 'emp-2' };
  const { json: staged } = await put(running, { organization, employees: [employee, leaving] });
  await transact(db, (trx) => recordUpload(trx, EMPLOYER, staged.id, NOW.toISOString()));
  const validate = async (guess: object, token: string) => {
    const employees = [
      { ...employee, ...guess },
      { ...employee, employee_id: 'emp-3' },
    ];
    const body = { organization, employees };
    return (await call({ method: 'POST', url: `${URL_OF_CENSUS}/validate`, body, token })).json;
  };
  const reads = async () =>
    (await readsOf(db)).map(({ actor_name, resource_id }) => ({ actor_name, resource_id }));
  const blind = await tokenWith('census:write');
  const right = await validate({}, blind);
  t.strictSame(right.changes, {
    added: { count: 1, employee_ids: ['emp-3'] },
    absent: { count: 1, employee_ids: ['emp-2'] },
    needs_scope: 'pii:read',
    changed: null,
    unchanged: null,
    organization: null,
  });
  for (const guess of [{ ssn: '078-05-1120' }, { dob: '1980-02-03' }, { last_name: 'Other' }])
    t.strictSame(await validate(guess, blind), right);
  t.strictSame(await reads(), []);

  const seeing = await tokenWith('census:write', 'pii:read');
  const report = await validate({ ssn: '078-05-1120' }, seeing);
  t.match(report.last_upload, { census_id: staged.id, uploaded_at: NOW.toISOString(), employees: 2 });
  t.match(report.changes, {
    needs_scope: null,
    changed: { count: 1, employees: [{ employee_id: employee.employee_id, fields: ['ssn'] }] },
    unchanged: 0,
    organization: [],
  });
  t.notMatch(JSON.stringify(report), '078-05-1120', 'no value is in the response');
  t.match(await reads(), [{ actor_name: /^token/, resource_id: staged.id }], 'the comparison is recorded');
});

test('a missing data key returns 503 with its id', async (t, first) => {
  await put(first, census);
  const encryptor = createEncryptor([{ id: 'other', key: Buffer.alloc(32, 8) }]);
  const app = createApi({ ...first.parts, encryptor });
  t.teardown(() => app.close());
  for (const request of [
    { method: 'PUT', url: URL_OF_CENSUS, body: census },
    { method: 'GET', url: URL_OF_CENSUS },
  ] as const) {
    const { status, json } = await callOn(app, request);
    t.equal(status, 503, request.method);
    t.match(json, {
      type: /unavailable/,
      detail: /DATA_KEYS has no key test.* after the first one\. After an operator has done that, send/,
    });
  }
});

test('a failed sync lists its problems, at most a thousand per page', async (t, { call, db }) => {
  const problems = Array.from({ length: 700 }, (_, index) => ({
    path: `employees[${index}].dob`,
    rule: 'is required',
  }));
  for (const [at, employer] of ['one', 'two', 'three'].entries()) {
    const now = new Date(NOW.getTime() - at * 1_000).toISOString();
    await transact(db, async (trx) => {
      await requestSync(trx, { employerId: employer, eventId: employer, now });
      const { request_id } = await trx
        .selectFrom('census_syncs')
        .select('request_id')
        .where('event_id', '=', employer)
        .executeTakeFirstOrThrow();
      await failSyncs(trx, request_id as string, needOf('the census breaks the contract'), {
        problemCount: 900,
        problems,
      });
    });
  }
  const { json } = await call({ url: '/v1/census-syncs' });
  const counts = json.data.map((sync: { problems: [] }) => sync.problems.length);
  t.strictSame(counts, [700, 300, 0]);
  t.match(json.data, [
    { problem_count: 900, reason: /breaks/ },
    { problem_count: 900 },
    { problem_count: 900 },
  ]);
  const { data } = (await call({ url: '/v1/census-syncs?employer_id=three' })).json;
  t.strictSame(data[0].problems, problems);
});

onEitherEngine('the response that failed an upload needs pii:read, and its read is recorded', async (t) => {
  const running = await start(t, { encryptor });
  const { db, call, tokenWith, logged } = running;
  const syncId = await rejectedSync(db, encryptor, 'acme', '{"error":"Canary Smith, 987-65-4321"}');
  const url = `/v1/census-syncs/${syncId}`;
  const reads = () => readsOf(db);

  const plain = await call({ url, token: await tokenWith('census:read') });
  t.match(plain, {
    status: 200,
    json: { id: syncId, state: 'failed', reason: 'the service responded with 422' },
  });
  t.notOk('response' in plain.json);
  t.strictSame(plain.json, (await call({ url: '/v1/census-syncs' })).json.data[0]);
  for (const path of [url, '/v1/census-syncs/unknown']) {
    const refused = await call({ url: `${path}?response=true`, token: await tokenWith('census:read') });
    t.match(refused, { status: 403, json: { detail: /pii:read/ } });
  }
  t.equal((await call({ url: `${url}?response=true`, token: await tokenWith('pii:read') })).status, 403);
  t.equal((await call({ url: '/v1/census-syncs/unknown?response=true' })).status, 404);
  t.strictSame(await reads(), []);

  const { status, json } = await call({
    url: `${url}?response=true`,
    token: await tokenWith('census:read', 'pii:read'),
  });
  t.equal(status, 200);
  t.equal(json.response, '{"error":"Canary Smith, ***-**-4321"}', 'SSNs are masked');
  t.match(await reads(), [
    { action: 'census-sync.read', resource_id: syncId, employer_id: 'acme', actor_name: /^token/ },
  ]);
  t.notMatch(JSON.stringify(logged), /Canary|4321/);

  await transact(db, (trx) => requestSync(trx, { employerId: 'other', eventId: 'evt-1', now: HOUR_AGO }));
  const [{ id }] = (await call({ url: '/v1/census-syncs?employer_id=other' })).json.data;
  const unanswered = await call({ url: `/v1/census-syncs/${id}?response=true` });
  t.match(unanswered.json, { response: null }, 'nothing was rejected');
});

onEitherEngine('a sync of an employer that no source can have is refused', async (t) => {
  const mayFetch = async (employerId: string) => employerId === 'in-the-folder';
  const running = await start(t, { mayFetch });
  const sync = (employer: string) =>
    running.call({ method: 'POST', url: `/v1/employers/${employer}/census/sync` });
  t.match(await sync('typo'), { status: 404, json: { detail: /Nothing is known of this employer/ } });
  t.strictSame((await running.call({ url: '/v1/census-syncs' })).json.data, []);
  t.equal((await sync('in-the-folder')).status, 202);
  await put(running, census);
  t.equal((await sync(encodeURIComponent(EMPLOYER))).status, 202);
});

test('staged censuses are listed by employer with the last upload', async (t, { call, db, tokenWith }) => {
  const bring = async (employer: string) =>
    (await call({ method: 'PUT', url: `/v1/employers/${employer}/census`, body: census })).json.id;
  const first = await bring('b');
  const now = NOW.toISOString();
  await transact(db, (trx) => recordUpload(trx, 'b', first, now));
  const [second] = [await bring('b'), await bring('c')];
  const token = await tokenWith('census:read');
  const page = (await call({ url: '/v1/censuses?limit=1', token })).json;
  const last_upload = { census_id: first, employees: 1, uploaded_at: now };
  t.strictSame(page.data, [
    { employer_id: 'b', id: second, employees: 1, staged_at: now, last_upload, fresh: true },
  ]);
  const rest = (await call({ url: `/v1/censuses?limit=1&cursor=${page.next_cursor}`, token })).json;
  t.match(rest, { data: [{ employer_id: 'c', last_upload: null }], next_cursor: null, source: 'push' });
  t.match((await call({ url: '/v1/censuses?employer_id=b' })).json.data, [{ employer_id: 'b' }]);
});

test('employees of a staged census who also work for another employer are counted', async (t, { call }) => {
  const stage = async (employer: string) => {
    const url = `/v1/employers/${employer}/census`;
    return (await call({ method: 'PUT', url, body: census })).json.with_two_employers;
  };
  t.equal(await stage('maple'), 0);
  t.equal(await stage('oak'), 1, 'a census under the wrong ID');
});

test('a manually requested sync is created and wakes the send loop', async (t, { call, woken }) => {
  const { status, json } = await call({ method: 'POST', url: `${URL_OF_CENSUS}/sync` });
  t.equal(status, 202);
  t.match(json, { employer_id: EMPLOYER, state: 'requested', event_id: null, overdue: false, problems: [] });
  t.equal(woken.send, 1);
  const page = { data: [json], has_more: false, next_cursor: null };
  t.strictSame((await call({ url: '/v1/census-syncs' })).json, page);
});
