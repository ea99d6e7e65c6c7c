import type { KyselyPlugin } from 'kysely';
import type { Test } from 'tap';
import { census } from '../contract/samples.ts';
import { oweCensus, report, service } from '../employment/stage.ts';
import { encryptor, START } from '../outbox/parts.ts';
import { readsOf } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { type Request, type Running, start } from './start.ts';

const CHANGES = '/v1/employee-changes';
/** Appears in no log, and only in responses that request personal data. */
const MARKER = 'Marker-7f3a';
const HIRE = { first_name: MARKER, ssn: '987-65-4321' };

/** Makes the audit log read-only. */
const REFUSES_READS: KyselyPlugin = {
  transformQuery({ node }) {
    if (node.kind === 'UpdateQueryNode' && JSON.stringify(node.table).includes('audit_head'))
      throw new Error('not now');
    return node;
  },
  transformResult: async ({ result }) => result,
};

async function staged(t: Test) {
  const running = await start(t, { encryptor, now: () => START });
  const { db } = running;
  return { ...running, ...(await service(t, db)) };
}

const test = onEitherEngine.with(staged);

const post = ({ call }: Running, path: string, body?: unknown, more: Partial<Request> = {}) =>
  call({ method: 'POST', url: `${CHANGES}/${path}`, ...(body !== undefined && { body }), ...more });

test('the contents of a change need pii:read, mask the SSN, and are recorded', async (t, running) => {
  const { db, call, answers, says, send, logged, tokenWith } = running;
  const id = await report(db, 'new-hire', 'e', { fields: HIRE });
  const url = `${CHANGES}/${id}?body=true`;
  const reader = await tokenWith('changes:read', 'pii:read');
  const { status, json, text } = await call({ url, token: reader });
  const body = { first_name: MARKER, ssn: '***-**-4321', email: String };
  t.match([status, json], [200, { body, body_absent: null, response: null }]);
  t.notMatch(text, '987-65');
  const read = { action: 'change.read', resource_id: id, employee_id: 'e' };
  t.match(await readsOf(db), [{ recorded_at: START.toISOString(), actor_name: 'token 1', ...read }]);
  answers.set(id, 422);
  says.error = `987-65-4321 or 987654321 of ${MARKER} is known`;
  await send();
  const { response: answer } = (await call({ url })).json;
  t.equal(answer, `{"error":"***-**-4321 or ***-**-4321 of ${MARKER} is known"}`);
  t.match((await readsOf(db))[1], { actor_id: 'API_TOKEN', actor_name: 'API_TOKEN' });
  t.notMatch(JSON.stringify(logged), /Marker|4321/);
});

test('without the scope for personal data no contents are shown, found or recorded', async (t, running) => {
  const { db, call, tokenWith } = running;
  const id = await report(db, 'new-hire', 'e', { fields: HIRE });
  const token = await tokenWith('changes:read', 'changes:write', 'ledger:read');
  for (const one of [id, 'unknown']) {
    const { status, json } = await call({ url: `${CHANGES}/${one}?body=true`, token });
    t.equal(status, 403);
    t.match(json.detail, 'pii:read');
  }
  t.equal((await call({ url: `${CHANGES}/${id}?body=false`, token })).status, 200);
  t.strictSame(await readsOf(running.db), []);
  t.equal((await call({ url: `${CHANGES}/unknown?body=true` })).status, 404);
  t.strictSame(await readsOf(running.db), [], 'nor for an unknown change');
});

test('contents are not shown if the read cannot be recorded', async (t, running) => {
  const id = await report(running.db, 'new-hire', 'e', { fields: HIRE });
  const other = await start(t, { db: running.db.withPlugin(REFUSES_READS), encryptor, now: () => START });
  const { status, text } = await other.call({ url: `${CHANGES}/${id}?body=true` });
  t.equal(status, 500);
  t.notMatch(text, MARKER);
});

test('an erased body is null, with the reason', async (t, running) => {
  const { db, call, send } = running;
  const gone = await report(db, 'demographic', 'e');
  await send();
  const given = await report(db, 'demographic', 'e');
  await post(running, `${given}/cancel`, { reason: 'a typo' });
  const shown = async (id: string) => (await call({ url: `${CHANGES}/${id}?body=true` })).json;
  t.match(await shown(gone), { body: null, body_absent: 'Deleted after the service accepted the change.' });
  t.match(await shown(given), { body: null, body_absent: /^Deleted when the change was canceled/ });
});

test('an unknown change is 404', async (t, running) => {
  const census = await oweCensus(running.db);
  for (const id of ['unknown', census, 'a%2Fb']) {
    t.equal((await running.call({ url: `${CHANGES}/${id}` })).status, 404);
    for (const [path, body] of [['retry'], ['cancel', { reason: 'x' }], ['release']] as const)
      t.equal((await post(running, `${id}/${path}`, body)).status, 404, path);
  }
});

onEitherEngine('each read of a census is recorded; a read of an unknown census is not', async (t) => {
  const { db, call, tokenWith } = await start(t, { encryptor, now: () => START });
  const url = '/v1/employers/acme%2F1/census';
  const token = await tokenWith('pii:read');
  const reads = () => readsOf(db);
  t.equal((await call({ url, token })).status, 404);
  t.strictSame(await reads(), []);
  const put = await call({ method: 'PUT', url, body: census });
  t.equal((await call({ url, token })).status, 200);
  const read = { action: 'census.read', resource_id: put.json.id, employer_id: 'acme/1' };
  const actor = { actor_id: /^tok_/, actor_name: 'token 1' };
  t.match(await reads(), [{ recorded_at: START.toISOString(), ...actor, ...read }]);
  t.equal((await call({ url, token: await tokenWith('census:read') })).status, 403);
  t.equal((await reads()).length, 1);
});
