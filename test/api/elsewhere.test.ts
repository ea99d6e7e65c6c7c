/** A token limited to one employer that names another employer's employees. */
import type { Test } from 'tap';
import { census, employee, newHire } from '../contract/samples.ts';
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
  const { db, limited, tokenFor, hire, hireOf, stage, call } = await startBorders(t);
  const third = await tokenFor(['third'], 'all');
  const hires = await Promise.all([hire('twin', limited), hire('twin', third, { employer_id: 'third' })]);
  t.strictSame(hires.map(({ status }) => status).sort(), [202, 409]);
  const body = { ...census, employees: [{ ...employee, employee_id: 'triplet' }] };
  await Promise.all([
    stage(['triplet'], limited),
    call({ method: 'PUT', url: '/v1/employers/third/census', body, token: third }),
    call({
      method: 'POST',
      url: '/v1/employee-changes/batch',
      token: await tokenFor(['fourth'], 'all'),
      body: [{ kind: 'new-hire', ...hireOf('triplet'), employer_id: 'fourth' }],
    }),
  ]);
  const employers = await db
    .selectFrom('roster')
    .select('employer_id')
    .where('employee_id', '=', 'triplet')
    .execute();
  t.equal(employers.length, 1);
});

onEitherEngine('an id of another person in the census of another employer is refused', async (t) => {
  const { call, tokenFor, limited } = await startBorders(t);
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
  const rows = [{ ...person, dob: '1990-01-16' }];
  t.match(await put(OTHER, rows, '?same_person=e-7'), {
    status: 400,
    json: { errors: [{ path: 'reason' }] },
  });
  const both = await tokenFor([EMPLOYER, OTHER, 'same'], 'all');
  t.equal((await put(OTHER, rows, '?same_person=e-6&same_person=e-7&reason=corrected', both)).status, 200);
  const { data } = (await call({ url: `/v1/audit?action=census.stage&employer_id=${OTHER}` })).json;
  t.match(data[0], { reason: 'corrected', details: { same_person: ['e-6', 'e-7'] } });
});
