/** Personal data and secrets: where they must be, and where they must never appear. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Census } from '../../src/contract/census.ts';
import { signEvent } from '../../src/simulator/sign.ts';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { execute } from '../cli/executable.ts';
import { post } from '../inbox/deliver.ts';
import { engineOf, onEitherEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { leaks } from '../support/leaks.ts';
import { deliver, eventOf } from '../support/load.ts';
import { makeKeys } from '../support/settings.ts';
import { setStage, syncIn } from '../support/stage.ts';

const EMPLOYER = 'maple-bakery';
/** Unique values, so that any occurrence is a leak. */
const CANARY = {
  ...{ ssn: '000-73-9182', first_name: 'Canaryfirst', last_name: 'Canarylast', dob: '1971-03-29' },
  ...{ email: 'canary.person@example.com', phone_number: '2025550187', job_title: 'Canary keeper' },
  ...{ line1: '73 Canary Cage Row', amount: '91827.36', contact: 'Canarycontact', fein: '00-7391820' },
};

/** The allowed fields of a log line. docs/access.md lists the same. */
const FIELDS = [
  ...['level', 'time', 'msg', 'event_id', 'event_type', 'employer_id', 'request_id', 'census_id', 'sync_id'],
  ...[...'kind state reason cause code status count ms address environment engine'.split(' ')],
  ...['version', 'route', 'token', 'sending', 'audit_head', 'signed_at', 'key_id', 'signature'],
];

function canaryCensus(): Census {
  const census = structuredClone(makeWorld(DEFAULT_SEED).get(EMPLOYER)) as Census;
  const { line1, amount, contact, fein, ...person } = CANARY;
  const [first] = census.employees;
  Object.assign(first ?? {}, person);
  Object.assign(first?.address ?? {}, { line1 });
  Object.assign(first?.pay_rate[0] ?? {}, { amount });
  Object.assign(census.organization, { fein });
  Object.assign(census.organization.contact, { last_name: contact });
  return census;
}

onEitherEngine('personal data and secrets do not leak', async (t) => {
  const variables = { LOG_LEVEL: 'debug', CENSUS_SOURCE_TOKEN: 'canary-token-of-the-census-source' };
  const stage = await setStage(t, { variables });
  const { api, simulator, keys, databaseUrl } = stage;
  const { port, pid, output } = stage.sidecar;
  const census = canaryCensus();
  const wrongToken = makeKeys().token;
  const dataKey = keys.dataKey.slice('k1:'.length);
  const secrets = [
    ...[...Object.values(CANARY), keys.apiKey, keys.token, wrongToken, variables.CENSUS_SOURCE_TOKEN],
    ...[keys.webhookSecret, keys.webhookSecret.slice('whsec_'.length), 'unverified-canary'],
    ...[dataKey, Buffer.from(dataKey, 'base64').toString('hex')],
  ];
  const found = () => leaks(databaseUrl, secrets, [output(), argvOf(pid)]);

  await t.test('while a census is staged, rejected and read back', async (t) => {
    await simulator.requestCensus(EMPLOYER);
    await syncIn(api, EMPLOYER, 'waiting');
    const broken = structuredClone(census);
    Object.assign(broken.employees[0] ?? {}, { dob: `${CANARY.dob}x`, ssn: 739182 });
    const refused = await api.call('PUT', `/v1/employers/${EMPLOYER}/census`, broken);
    t.equal(refused.status, 422);
    const text = JSON.stringify(refused.json);
    t.match(text, 'employees[0].dob');
    for (const secret of secrets) t.notOk(text.includes(secret), 'the response contains no value');
    t.equal((await api.call('PUT', `/v1/employers/${EMPLOYER}/census`, census)).status, 200);
    const { employees } = await api.get(`/v1/employers/${EMPLOYER}/census`);
    t.match(employees[0], { ssn: CANARY.ssn }, 'a token with the scope can read it');
    t.strictSame(await found(), []);
  });

  await t.test('while a census is uploaded', async (t) => {
    await syncIn(api, EMPLOYER, 'completed');
    const uploaded = simulator.requests().find(({ status }) => status === 200)?.body as Census;
    t.strictSame(uploaded.employees, census.employees, 'all fields, including the SSN');
    t.equal(uploaded.employees[0]?.ssn, CANARY.ssn);
    t.strictSame(await found(), []);
  });

  await t.test('when requests and deliveries are invalid', async (t) => {
    const authorization = { authorization: `Bearer ${wrongToken}` };
    t.equal((await fetch(`${stage.sidecar.api}/v1/deductions`, { headers: authorization })).status, 401);
    const body = JSON.stringify({ event_type: 'x', data: { note: 'unverified-canary' } });
    const forged = signEvent(makeKeys().webhookSecret, 'msg_unverified-canary', new Date(), body);
    t.equal((await post(port, forged, body)).status, 401);
    const refused = async () => (await api.check('signatures-refused')).count > 0;
    await eventually('the rejection is counted', refused, true);
    const event = eventOf('twice', 0);
    await deliver(port, keys.webhookSecret, event);
    await deliver(port, keys.webhookSecret, { ...event, body: event.body.replace('0.00', '1.00') });
    await deliver(port, keys.webhookSecret, { id: 'msg_no_json', body: '{' });
    await stage.settled();
    t.strictSame(await found(), []);
  });

  await t.test('while it is monitored and backed up', async (t) => {
    const authorization = { authorization: `Bearer ${keys.token}` };
    const metrics = await (await fetch(`${stage.sidecar.api}/metrics`, { headers: authorization })).text();
    t.match(metrics, 'benefits_sidecar_', 'there are some');
    const texts = [metrics];
    // PostgreSQL has its own backup tools.
    if (engineOf(t) === 'sqlite') {
      const file = join(stage.folder, 'backup.db');
      const env = stage.variables as Record<string, string>;
      const { code, stdout, stderr } = await execute(t, env, ['backup', file]);
      t.equal(code, 0, stderr);
      texts.push(readFileSync(file, 'latin1'), stdout, stderr);
    }
    t.strictSame(await leaks(databaseUrl, secrets, texts), []);
  });

  await t.test('after a stop has checkpointed the log', async (t) => {
    t.equal(await stage.sidecar.end('SIGTERM'), 0);
    t.strictSame(await leaks(databaseUrl, secrets, [output()]), []);
  });

  await t.test('log lines have only the listed fields and never a body', async (t) => {
    const lines = stage.sidecar.logged();
    t.ok(lines.length > 8, `${lines.length} lines`);
    const others = lines.flatMap((line) => Object.keys(line).filter((field) => !FIELDS.includes(field)));
    t.strictSame(others, []);
    const nested = lines.flatMap(Object.values).filter((value) => typeof value === 'object');
    t.strictSame(nested, [], 'values are flat');
    t.notMatch(output(), 'member_contribution');
  });
});

/** The command line and environment that other users of the machine can see. */
function argvOf(pid: number): string {
  const file = `/proc/${pid}/cmdline`;
  if (existsSync(file)) return readFileSync(file, 'latin1');
  return execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { encoding: 'latin1' });
}
