/** A token limited to one employer that names another employer's employees. */
import type { Test } from 'tap';
import { createCensusSender } from '../../src/census/census-sender.ts';
import { transact } from '../../src/database/transaction.ts';
import { contentOf } from '../census/parts.ts';
import { census, employee, newHire } from '../contract/samples.ts';
import { sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json, stubService } from '../outbox/stub-service.ts';
import { onEitherEngine } from '../support/engine.ts';
import { EMPLOYER, employ } from '../support/payroll.ts';
import { startPayroll } from './payroll-stage.ts';

const OTHER = 'globex';
const CENSUS = `/v1/employers/${OTHER}/census`;

/** An employer with the active employee `emp-1` and a former one, `gone`, and a token of the other employer. */
async function startBorders(t: Test) {
  const payroll = await startPayroll(t, { now: () => new Date('2026-07-15T09:00:00.000Z') });
  const { db, call, tokenFor } = payroll;
  await employ(db, 'gone', { termination_date: '2026-06-30' });
  const limited = await tokenFor([OTHER], 'all');
  const send = (method: 'POST' | 'PUT', url: string, body: object, token?: string) =>
    call({ method, url, body, ...(token && { token }) });
  const hireOf = (employee_id: string, more = {}) => ({
    ...newHire,
    employee_id,
    employer_id: OTHER,
    ...more,
  });
  const censusOf = (...ids: string[]) => ({
    ...census,
    employees: ids.map((employee_id) => ({ ...employee, employee_id })),
  });
  return {
    ...payroll,
    ...{ limited, hireOf, censusOf },
    hire: (employee_id: string, token?: string, more = {}) =>
      send('POST', '/v1/employee-changes/new-hire', hireOf(employee_id, more), token),
    batch: (lines: object[], token?: string) => send('POST', '/v1/employee-changes/batch', lines, token),
    stage: (ids: string[], token?: string) => send('PUT', CENSUS, censusOf(...ids), token),
    validate: (ids: string[], token?: string) => send('POST', `${CENSUS}/validate`, censusOf(...ids), token),
    facts: async (employee_id: string) =>
      (
        await db.selectFrom('roster_facts').selectAll().where('employee_id', '=', employee_id).execute()
      ).filter(({ employer_id }) => employer_id === OTHER),
  };
}

onEitherEngine('a limited token names no employee who is active at another employer', async (t) => {
  const { limited, hire, hireOf, batch, stage, validate, facts, logged } = await startBorders(t);
  const refusal = (path: string) => ({
    status: 409,
    json: { type: 'urn:benefits-sidecar:problem:employee-elsewhere', errors: [{ path }] },
  });
  const row = 'employees[1].employee_id';
  const refused = [
    [await hire('emp-1', limited), 'employee_id'],
    [await hire('emp-1', limited, { hire_date: '2027-01-01' }), 'employee_id'],
    [
      await hire('emp-1', limited, { hire_date: '2020-01-01', termination_date: '2020-02-01' }),
      'employee_id',
    ],
    [await stage(['b-1', 'emp-1'], limited), row],
    [await validate(['b-1', 'emp-1'], limited), row],
  ] as const;
  for (const [response, path] of refused) {
    t.match(response, refusal(path));
    t.notMatch(response.text, EMPLOYER, 'the other employer is not named');
  }
  const lines = ['emp-1', 'b-2'].map((id) => ({ kind: 'new-hire', ...hireOf(id) }));
  t.match((await batch(lines, limited)).json.results, [
    { status: 'elsewhere', errors: [{ path: 'employee_id' }] },
    { status: 'accepted' },
  ]);
  t.strictSame(await facts('emp-1'), []);
  t.strictSame(await facts('b-1'), [], 'nothing of the census was staged');
  const lines409 = logged.filter(({ fields }) => fields.status === 409);
  t.match(lines409[0], { level: 'warn', fields: { token: /^token / } }, 'a refusal is logged with its token');
});

type Borders = Awaited<ReturnType<typeof startBorders>>;

onEitherEngine('a change of someone whom a limited token does not see leaves a line', async (t) => {
  const leave = { kind: 'termination', employee_id: 'emp-1', termination_date: '2026-07-31' };
  const probes: Readonly<Record<string, (borders: Borders) => Promise<unknown>>> = {
    'POST /v1/employee-changes/batch': ({ batch, limited }) => batch([leave, leave], limited),
    'POST /v1/employee-changes/new-hire': ({ hire, limited }) =>
      hire('new', limited, { employer_id: EMPLOYER }),
  };
  for (const [route, probe] of Object.entries(probes)) {
    const borders = await startBorders(t);
    await probe(borders);
    const lines = borders.logged.filter(({ message }) => message === 'a caller was refused');
    t.match(lines, [{ fields: { status: 404, route, token: /^token / } }], route);
  }
});

onEitherEngine('a row that repeats when an employee left may stay in the census', async (t) => {
  const { call, hire, limited, hireOf, tokenFor } = await startBorders(t);
  const left = { hire_date: '2020-01-01', termination_date: '2026-06-30' };
  t.equal((await hire('moved', limited, left)).status, 202);
  const body = hireOf('moved', { employer_id: EMPLOYER, hire_date: '2026-07-01' });
  const token = await tokenFor([EMPLOYER], 'all');
  t.equal((await call({ method: 'POST', url: '/v1/employee-changes/new-hire', body, token })).status, 202);
  const put = (fields: object) => {
    const employees = [{ ...employee, employee_id: 'moved', ...fields }];
    return call({ method: 'PUT', url: CENSUS, body: { ...census, employees }, token: limited });
  };
  t.equal((await put(left)).status, 200);
  for (const fields of [
    {},
    { ...left, termination_date: '2026-07-31' },
    { ...left, hire_date: '2020-01-02' },
  ])
    t.equal((await put(fields)).status, 409, JSON.stringify(fields));
});

onEitherEngine('an employee who left the other employer, or differs in case, may be hired', async (t) => {
  const { limited, hire, stage } = await startBorders(t);
  for (const id of ['gone', 'EMP-1']) t.equal((await hire(id, limited)).status, 202, id);
  t.equal((await stage(['gone', 'EMP-1', 'new'], limited)).status, 200);
});

onEitherEngine(
  'a token that sees both employers reports the employment, and later files may name it',
  async (t) => {
    const { limited, hire, stage, validate, tokenFor, facts } = await startBorders(t);
    const both = await tokenFor([EMPLOYER, OTHER], 'all');
    t.equal((await hire('emp-1', both)).status, 202);
    for (const response of [
      await validate(['emp-1'], limited),
      await stage(['emp-1'], limited),
      await hire('emp-1', limited),
    ])
      t.ok(response.status < 300, response.text);
    t.equal((await facts('emp-1')).length, 3);
    t.equal((await stage(['other'], limited)).status, 200, 'the employee leaves');
    t.equal((await stage(['emp-1'], limited)).status, 409, 'and does not return by the same token');
  },
);

onEitherEngine('of two requests at once, one makes a new employee its own', async (t) => {
  const { db, limited, tokenFor, hireOf, censusOf, call } = await startBorders(t);
  const third = await tokenFor(['third'], 'all');
  const hire = (id: string, token: string, employer_id: string) => {
    const body = hireOf(id, { employer_id });
    return call({ method: 'POST', url: '/v1/employee-changes/new-hire', body, token });
  };
  const stage = (id: string, token: string, employer: string) =>
    call({ method: 'PUT', url: `/v1/employers/${employer}/census`, body: censusOf(id), token });
  const pairs = {
    'two hires': [hire, hire],
    'a hire and a census': [hire, stage],
    'two censuses': [stage, stage],
  };
  for (let round = 0; round < 8; round += 1) {
    for (const [what, pair] of Object.entries(pairs)) {
      const id = `${what} ${round}`.replaceAll(' ', '-');
      const [one, other] = round % 2 === 0 ? pair : pair.toReversed();
      const answers = await Promise.all([one!(id, limited, OTHER), other!(id, third, 'third')]);
      const statuses = answers.map(({ status }) => status);
      t.equal(statuses.filter((status) => status < 300).length, 1, `${what}: ${statuses}`);
      t.equal(statuses.filter((status) => status === 409).length, 1, `${what}: ${statuses}`);
      const roster = db.selectFrom('roster').select('employer_id').where('employee_id', '=', id);
      const accepted = statuses[0] === 409 ? 'third' : OTHER;
      t.strictSame(await roster.execute(), [{ employer_id: accepted }], what);
    }
  }
});

onEitherEngine('a census counts for hires and censuses before the roster has it', async (t) => {
  const { db, limited, tokenFor, hire, stage, validate, censusOf, call } = await startBorders(t);
  const third = await tokenFor(['third'], 'all');
  const url = '/v1/employers/third/census';
  const { id } = (await call({ method: 'PUT', url, body: censusOf('old'), token: third })).json;
  // As between the transaction that makes a census current and the first one of the roster.
  await transact(db, async (trx) => {
    const named = { census_id: id, employee_id: 'new', field_hashes: Buffer.alloc(0) };
    await trx.insertInto('census_fingerprints').values(named).execute();
    await trx
      .updateTable('staged_censuses')
      .set({ roster_updated_at: null })
      .where('census_id', '=', id)
      .execute();
  });
  for (const name of [hire, (employee: string, token: string) => stage([employee], token)]) {
    t.equal((await name('new', limited)).status, 409);
    t.equal((await name('unnamed', limited)).status < 300, true);
  }
  t.equal((await validate(['new'], limited)).status, 409);
  t.equal((await hire('new')).status, 202, 'a token that sees both');
});

onEitherEngine('an id of another person in the census of another employer is refused', async (t) => {
  const { call, hire, tokenFor, limited } = await startBorders(t);
  const put = (employerId: string, rows: object[], query = '', token?: string) => {
    const employees = rows.map((row) => ({ ...employee, ...row }));
    const url = `/v1/employers/${employerId}/census${query}`;
    return call({
      method: query.startsWith('/') ? 'POST' : 'PUT',
      url,
      body: { ...census, employees },
      ...(token && { token }),
    });
  };
  const person = { employee_id: 'e-7', dob: '1990-01-15', ssn: '123-45-6789' };
  t.equal((await put(EMPLOYER, [person])).status, 200);
  const { ssn: _, ...withoutSsn } = person;
  const { ssn: __, ...sample } = employee as { ssn?: string };
  t.equal((await put('same', [person])).status, 200, 'the same person is a transfer or has two jobs');
  const written = { ...person, ssn: '123456789' };
  t.equal((await put('same', [written])).status, 200, 'an SSN without dashes is no difference');
  for (const ssn of ['000-00-0000', '999-99-9999', 'N/A', 'on file'])
    t.equal((await put('same', [{ ...person, ssn }])).status, 200, `${ssn} is no SSN`);
  const absent = { ...census, employees: [{ ...sample, ...withoutSsn }] };
  t.equal(
    (await call({ method: 'PUT', url: '/v1/employers/same/census', body: absent })).status,
    200,
    'an absent SSN is no difference',
  );
  for (const other of [{ dob: '1990-01-16' }, { ssn: '123-45-6780' }]) {
    const rows = [{ employee_id: 'e-8' }, { ...person, ...other }];
    const refused = await put(OTHER, rows);
    t.match(refused, { status: 422, json: { errors: [{ path: 'employees[1]', rule: /another person/ }] } });
    t.notMatch(refused.text, new RegExp(`${EMPLOYER}|dob|ssn`, 'i'));
    t.match((await put(OTHER, rows, '/validate')).json, {
      valid: false,
      problems: [{ path: 'employees[1]' }],
    });
    for (const query of ['', '/validate', '?same_person=e-7&reason=ours'])
      t.equal((await put(OTHER, rows, query, limited)).status, 409, 'a limited token sees no difference');
  }
  const former = { ...person, employee_id: 'left', hire_date: '2020-01-01', termination_date: '2026-06-30' };
  t.equal((await put('past', [former])).status, 200);
  for (const row of [former, { ...former, dob: '1990-01-16' }])
    for (const query of ['', '/validate'])
      t.equal((await put(OTHER, [row], query, limited)).status, 409, 'nor of a former employee');
  t.equal((await hire('left', limited)).status, 202);
  for (const row of [former, { ...former, dob: '1990-01-16' }, { ...former, ssn: '123-45-6780' }])
    for (const query of ['', '/validate'])
      t.equal((await put(OTHER, [row], query, limited)).status, 200, 'nor once it hired the employee');
  const rows = [{ ...person, dob: '1990-01-16' }];
  t.match(await put(OTHER, rows, '?same_person=e-7'), {
    status: 400,
    json: { errors: [{ path: 'reason' }] },
  });
  const both = await tokenFor([EMPLOYER, OTHER, 'same'], 'all');
  for (const query of ['', '/validate']) {
    const { status, json } = await put(OTHER, rows, query, both);
    t.strictSame([status, json.valid ?? false], [query === '' ? 422 : 200, false], 'a token that sees both');
  }
  t.equal((await put(OTHER, rows, '?same_person=e-6&same_person=e-7&reason=corrected', both)).status, 200);
  const { data } = (await call({ url: `/v1/audit?action=census.stage&employer_id=${OTHER}` })).json;
  t.match(data[0], { reason: 'corrected', details: { same_person: ['e-6', 'e-7'] } });
});

onEitherEngine(
  'a fetched census with employees of another employer is released only by a token that sees both',
  async (t) => {
    const { db, call, parts, limited, censusOf, tokenFor, facts } = await startBorders(t);
    const { encryptor, sharedNow } = parts;
    const { id } = (await call({ method: 'POST', url: `${CENSUS}/sync` })).json;
    const fetch = async () => contentOf(JSON.stringify(censusOf('emp-1', 'b-1')));
    const census = createCensusSender({ db, encryptor, sharedNow, source: { fetch }, maxAgeMs: 3_600_000 });
    const service = await stubService(t, (response) => json(response, 200));
    await sendAll(
      sendLoop(t, db, service.url, setClock(new Date('2026-07-15T09:00:00.000Z')), { senders: { census } }),
    );
    const url = `/v1/census-syncs/${id}`;
    const release = (token: string) =>
      call({ method: 'POST', url: `${url}/release`, body: { reason: 'two jobs' }, token });
    const held = await call({ url, token: limited });
    const held_for = [{ cause: 'employees-elsewhere', count: 1, employee_ids: ['emp-1'] }];
    t.match(held.json, { state: 'held', held_for, reason: /token that sees both employers/ });
    const refused = await release(limited);
    t.match(refused, { status: 409, json: { errors: [{ path: 'employees[0].employee_id' }] } });
    for (const { text } of [held, refused]) t.notMatch(text, EMPLOYER, 'the other employer is not named');
    t.strictSame([await facts('emp-1'), await facts('b-1')], [[], []]);
    t.match(await release(await tokenFor([EMPLOYER, OTHER], 'all')), {
      status: 200,
      json: { state: 'requested' },
    });
    t.strictSame([(await facts('emp-1')).length, (await facts('b-1')).length], [1, 1]);
    t.equal(service.received.length, 0, 'nothing was sent before');
  },
);
