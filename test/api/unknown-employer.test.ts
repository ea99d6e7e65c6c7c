/** An employer of which nothing is known is refused, in a path and as a filter. */
import { census } from '../contract/samples.ts';
import { encryptor } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employ } from '../support/payroll.ts';
import { OPENING } from './payroll-stage.ts';
import { type Request, start } from './start.ts';

const UNKNOWN = { status: 404, json: { detail: /^Nothing is known of this employer\. Check the ID/ } };

const REASON = { reason: 'a test' };

/** Valid bodies, so that a route which does not check the employer would store them. */
const BODIES: Readonly<Record<string, object>> = {
  putPayScheduleOfYear: { schedules: [] },
  putPayrollCodes: { codes: [] },
  putPayrollPolicy: { effective_from: '2026-01-01' },
  putSecondApproval: { required: true, ...REASON },
  eraseCensus: REASON,
  compareCutOver: [{ employee_id: 'e' }],
  signCutOver: [{ employee_id: 'e' }],
  createOpeningItems: { items: [OPENING] },
  decideOpenItems: { decisions: [{ employee_id: 'e', action: 'hold' }], ...REASON },
  previewItemDecisions: { decisions: [{ employee_id: 'e', action: 'hold' }], ...REASON },
};

/** An employer begins with these, or they report that it is unknown. */
const BEGINNING = [
  ...['putCensus', 'syncCensus', 'validateCensus', 'convertCensus'],
  ...['putFileFormat', 'proposeFileFormat', 'convertFile', 'getFlowReadiness'],
];

onEitherEngine('every route with an employer in its path is a 404 for an unknown employer', async (t) => {
  const { app, db, call } = await start(t, { encryptor, mayFetch: async () => false });
  const { paths } = app.swagger() as unknown as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const operations = Object.entries(paths)
    .filter(([path]) => path.includes('{employer_id}'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => ({ path, method, operationId })),
    );
  const tables = ['audit_records', 'payroll_policies', 'payroll_codes', 'approval_settings', 'pay_schedules'];
  const rows = async () =>
    Promise.all(
      tables.map((table) =>
        db
          .selectFrom(table as 'audit_records')
          .selectAll()
          .execute(),
      ),
    );
  const before = await rows();
  const ask = (path: string, method: string, operationId: string, employer: string) => {
    const url = path
      .replace('{employer_id}', employer)
      .replace('{year}', '2026')
      .replace('{kind}', 'census')
      .replace('{list}', 'people');
    const body = BODIES[operationId];
    return call({ method: method.toUpperCase() as Request['method'] & string, url, ...(body && { body }) });
  };
  for (const { path, method, operationId } of operations) {
    if (BEGINNING.includes(operationId)) continue;
    t.match(await ask(path, method, operationId, 'acne'), UNKNOWN, operationId);
  }
  t.strictSame(await rows(), before, 'nothing is stored');
  t.match(await call({ method: 'POST', url: '/v1/employers/acne/census/sync' }), UNKNOWN, 'no source has it');
  t.match(await call({ method: 'POST', url: '/v1/employers/acne/census/validate', body: census }), {
    status: 200,
  });
  t.match(await call({ url: '/v1/employers/acne/payroll-policy' }), UNKNOWN, 'validating stores nothing');
  t.equal((await call({ method: 'PUT', url: '/v1/employers/begun/census', body: census })).status, 200);
  await employ(db, 'e', { employer_id: 'hired' });
  for (const employer of ['begun', 'hired']) {
    for (const { path, method, operationId } of operations) {
      if (BEGINNING.includes(operationId) || (operationId === 'getCensus' && employer === 'hired')) continue;
      t.not((await ask(path, method, operationId, employer)).status, 404, `${employer}: ${operationId}`);
    }
  }
});

onEitherEngine('a filter by an unknown employer is a 404', async (t) => {
  const { db, call } = await start(t);
  await employ(db, 'e', { employer_id: 'hired' });
  for (const path of ['audit', 'deductions', 'employee-changes', 'payroll-runs', 'payrolls-due']) {
    t.match(await call({ url: `/v1/${path}?employer_id=acne` }), UNKNOWN, path);
    t.equal((await call({ url: `/v1/${path}?employer_id=hired` })).status, 200, path);
  }
});

onEitherEngine('the readiness of an unknown employer is a report that fails', async (t) => {
  const { call } = await start(t);
  const { status, json } = await call({ url: '/v1/readiness?employer_id=acne' });
  t.equal(status, 200);
  t.equal(json.ready, false);
  t.strictSame(
    json.checks
      .filter(({ result }: { result: string }) => result === 'fail')
      .map(({ id }: { id: string }) => id),
    ['employer-unknown'],
  );
});

onEitherEngine('a route with an employer in its path cannot declare another rule', async (t) => {
  const { app } = await start(t);
  const config = { scope: 'runs:read', employers: 'list', action: 'none' } as const;
  t.throws(
    () =>
      app.routeTable.declare({
        method: 'GET',
        url: '/v1/employers/:employer_id/x',
        config,
        handler: () => {},
      }),
    /has an employer in its path: declare the rule employer/,
  );
});
