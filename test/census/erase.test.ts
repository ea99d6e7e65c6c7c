/** What erasing the census of an employer that has left removes, refuses and keeps. */
import { countRows } from '../../src/database/bulk.ts';
import { verifyRows } from '../../src/operations/verify.ts';
import { start } from '../api/start.ts';
import { census } from '../contract/samples.ts';
import { encryptor } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employment, learn } from '../support/payroll.ts';

const PATH = '/v1/employers/acme/census';
const BODY = { reason: 'the employer left' };

onEitherEngine('a census is erased once its employer has no active employee', async (t) => {
  const { call, db, tokenWith } = await start(t, { encryptor });
  const erase = (token?: string, body: object = BODY) =>
    call({ method: 'DELETE', url: PATH, body, ...(token !== undefined && { token }) });
  const stage = () => call({ method: 'PUT', url: PATH, body: census });
  const verified = async () => {
    const wrong: string[] = [];
    const report = (...parts: unknown[]) => wrong.push(parts.join(' '));
    await verifyRows(db, encryptor, { report, looked: () => {}, signal: new AbortController().signal });
    return wrong;
  };
  t.match(await erase(), { status: 404 });
  for (let round = 0; round < 2; round += 1) t.equal((await stage()).status, 200);
  await call({ method: 'POST', url: `${PATH}/sync` });
  t.match(await erase(await tokenWith('census:write')), { status: 403, text: /pii:read/ });
  t.match(await erase(undefined, {}), { status: 400, text: /reason/ });
  t.match(await erase(), { status: 409, text: /has active employees .*Report their terminations first/ });

  const ids = census.employees.map(({ employee_id }) => employee_id);
  const left = { employer_id: 'acme', termination_date: '2025-12-31', absent: null };
  await learn(db, ...ids.map((id) => employment(id, left)));
  t.match(await erase(), { status: 200, json: { censuses: 2, syncs: 1 } });
  for (const table of ['staged_censuses', 'census_chunks', 'census_fingerprints', 'employee_names'] as const)
    t.equal(await countRows(db, [table]), 0, table);
  t.match(await call({ url: PATH }), { status: 404 });
  const { json: syncs } = await call({ url: '/v1/census-syncs?employer_id=acme' });
  t.match(syncs.data, [{ state: 'dismissed', dismissed_reason: BODY.reason }]);
  t.match((await call({ url: '/v1/audit?action=census.erase' })).json.data, [
    { resource_id: 'acme', employer_id: 'acme', reason: BODY.reason, details: { censuses: 2, syncs: 1 } },
  ]);
  t.strictSame(await verified(), []);
  t.match(await erase(), { json: { censuses: 0, syncs: 0 } });
  t.equal((await stage()).status, 200, 'a later census is staged as usual');
  t.strictSame(await verified(), []);
});
