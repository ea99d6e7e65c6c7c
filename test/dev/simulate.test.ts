import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { census } from '../../src/contract/census.ts';
import { createVerify } from '../../src/inbox/signature.ts';
import { SCENARIOS } from '../../src/simulator/scenarios.ts';
import {
  API_KEY,
  environment,
  FIXTURES,
  type here,
  hereDev,
  jsonOf,
  WEBHOOK_SECRET,
} from '../cli/harness.ts';
import { SECRET, startReceiver } from '../inbox/deliver.ts';
import { receive } from '../simulator/receiver.ts';

/** Runs the command, calls `act` once when stdout matches, and stops when `act` is done. */
async function simulateUntil(
  t: Parameters<typeof here>[0],
  env: Record<string, string>,
  argv: string[],
  pattern: RegExp,
  act: (printed: string) => Promise<void> = async () => {},
) {
  const stopping = new AbortController();
  let acted: Promise<void> | null = null;
  const ran = await hereDev(t, env, ['simulate', '--port', '0', ...argv], {
    signal: stopping.signal,
    onStdout: (printed) => {
      if (acted !== null || !pattern.test(printed)) return;
      acted = act(printed).finally(() => stopping.abort());
    },
  });
  await acted;
  return ran;
}

const baseUrlOf = (printed: string): string => /BENEFITS_BASE_URL=(\S+)/.exec(printed)?.[1] as string;

t.test('the simulator prints the settings, requests each census and enrolls its employees', async (t) => {
  const folder = t.testdir();
  const { url, arrivals, arrived } = await receive(t);
  let apiKey = '';
  const argv = ['--webhook-url', url, '--employer', 'acme', '--employees', '3', '--censuses', folder];
  const ran = await simulateUntil(t, {}, argv, /Requesting the census of acme/, async (printed) => {
    apiKey = /BENEFITS_API_KEY=(\S+)/.exec(printed)?.[1] as string;
    await arrived(1);
    const body = readFileSync(join(folder, 'acme.json'), 'utf8');
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const address = `${baseUrlOf(printed)}/employer/acme/census`;
    t.equal((await fetch(address, { method: 'POST', headers, body })).status, 200);
    await arrived(4);
  });
  t.equal(ran.code, 0);
  t.match(ran.stdout, /WEBHOOK_SECRETS='whsec_\S{44}'/);
  t.match(ran.stdout, `CENSUS_SOURCE='dir:${folder}'`);
  t.match(ran.stdout, /Census of acme with 3 employees: accepted\n/);
  const enrolling = /Enrolling 3 employees of acme: \d+ deduction events, each sent twice and out of order\n/;
  t.match(ran.stdout, enrolling);
  t.match(ran.stdout, /Event msg_\w+ acknowledged \(204\)\n/);
  const types = arrivals.map(({ text }) => JSON.parse(text).event_type).join(' ');
  t.match(types, /^employee-census\.sync-request employee-census\.sync-complete employee\.deduction-updated/);
  const staged = JSON.parse(readFileSync(join(folder, 'acme.json'), 'utf8'));
  t.same(census.problems(staged), []);
  for (const { first_name, last_name, email, employee_id } of staged.employees) {
    for (const value of [first_name, last_name, email, employee_id]) t.notMatch(ran.stdout, value);
  }
});

t.test('secrets from the environment are used and not printed', async (t) => {
  const { url } = await receive(t);
  const argv = ['--webhook-url', url];
  const ran = await simulateUntil(t, environment(t), argv, /Requesting the census/, async (printed) => {
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
    const address = `${baseUrlOf(printed)}/employee-changes/termination`;
    t.equal((await fetch(address, { method: 'POST', headers, body: '{}' })).status, 422);
  });
  t.match(ran.stdout, /BENEFITS_API_KEY and WEBHOOK_SECRETS: as in this environment/);
  t.match(ran.stdout, /Termination: rejected, because it violates the contract \(422\)\n/);
  t.notMatch(ran.stdout, WEBHOOK_SECRET);
});

t.test('the simulator waits for a listener until Ctrl-C', async (t) => {
  const argv = ['--webhook-url', 'http://127.0.0.1:9/webhooks'];
  const ran = await simulateUntil(t, {}, argv, /Waiting for a sidecar at/);
  t.equal(ran.code, 0);
  t.notMatch(ran.stdout, /Requesting the census/);
});

t.test('the simulator lists its scenarios and rejects an unknown one', async (t) => {
  const listed = await hereDev(t, {}, ['simulate', '--scenario', 'list']);
  t.equal(listed.code, 0);
  for (const name of Object.keys(SCENARIOS)) t.match(listed.stdout, new RegExp(`^${name} `, 'm'));
  const unknown = { code: 2, stderr: /--scenario must be list or one of quiet-day, / };
  t.match(await hereDev(t, {}, ['simulate', '--scenario', 'doomsday']), unknown);
  const both = await hereDev(t, {}, ['simulate', '--scenario', 'ties', '--fault', 'hang']);
  t.match(both, { code: 2, stderr: /either --fault or --scenario/ });
});

t.test('the simulator plays a scenario for a listener and prints where to look', async (t) => {
  const { url, arrivals } = await receive(t);
  const argv = ['--webhook-url', url, '--scenario', 'deprecated'];
  const ran = await simulateUntil(t, {}, argv, /deprecated is done/);
  t.equal(ran.code, 0);
  t.match(ran.stdout, /^\* deprecated: employee\.deduction-created arrives/m);
  t.match(ran.stdout, /deprecated is done\. Expected result: `events list --type/);
  t.notMatch(ran.stdout, /Requesting the census/, 'its automatic actions are not printed');
  const types = arrivals.map(({ text }) => JSON.parse(text).event_type);
  t.same(types, ['employee.deduction-created', 'employee.deduction-created']);
});

t.test('the simulator injects the faults in --fault and rejects an unknown one', async (t) => {
  const { url } = await receive(t);
  const argv = ['--webhook-url', url, '--fault', 'error=503:1', '--fault', 'forbidden@acme'];
  const ran = await simulateUntil(t, {}, argv, /Requesting the census/, async (printed) => {
    const authorization = `Bearer ${/BENEFITS_API_KEY=(\S+)/.exec(printed)?.[1]}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const address = `${baseUrlOf(printed)}/employee-changes/termination`;
    const post = async (body: object) =>
      (await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    t.same([await post({}), await post({ employer_id: 'acme' }), await post({})], [503, 403, 422]);
  });
  t.match(ran.stdout, /Termination: response 503 \(injected fault error\)/);
  const stderr = /'--fault <fault>'.*latency needs a value, such as latency=200ms\./;
  t.match(await hereDev(t, {}, ['simulate', '--fault', 'latency']), { code: 2, stderr });
});

t.test('fixtures are signed with the first secret and posted in order of file names', async (t) => {
  const other = environment(t).WEBHOOK_SECRETS;
  const { port, accepted, refused } = await startReceiver(t);
  const listening = { RECEIVER_HOST: '0.0.0.0', RECEIVER_PORT: String(port) };
  const env = { WEBHOOK_SECRETS: `${SECRET} ${other}`, ...listening };
  const stdout = `16 of 16 events delivered to http://127.0.0.1:${port}/webhooks\n`;
  t.match(await hereDev(t, env, ['replay', FIXTURES]), { code: 0, stdout, stderr: '' });
  t.same(refused, []);
  for (const [index, { eventId }] of accepted.entries())
    t.equal(eventId, `msg_fixture${String(index + 1).padStart(13, '0')}`);
  t.equal(accepted.length, 16);
});

t.test('a replay takes several paths and shows progress on a terminal', async (t) => {
  const { port, accepted } = await startReceiver(t, { verify: createVerify([SECRET], () => new Date()) });
  const env = { WEBHOOK_SECRETS: SECRET };
  const paths = ['01-sync-request', '03-medical-new'].map((name) => join(FIXTURES, `events/${name}.json`));
  const to = ['--url', `http://127.0.0.1:${port}/webhooks`];
  const ran = await hereDev(t, env, ['replay', FIXTURES, ...paths, ...to, '--json'], { isTTY: true });
  t.match(jsonOf(ran), { events: 18, delivered: 18, refused: {} });
  t.match(ran.stderr, /#+.*18\/18/);
  t.equal(accepted.length, 18);
});

t.test('rejected events are counted by status with advice, and the exit code is 1', async (t) => {
  const { port } = await startReceiver(t);
  const env = { ...environment(t), RECEIVER_PORT: String(port) };
  const ran = await hereDev(t, env, ['replay', FIXTURES]);
  t.equal(ran.code, 1);
  t.match(ran.stdout, /^0 of 16 events delivered.*\n16 failed with 401: 01-sync-request\.json, .*…\n$/);
  t.match(ran.stderr, /Compare WEBHOOK_SECRETS/);
  const one = join(FIXTURES, 'events/01-sync-request.json');
  t.same(jsonOf(await hereDev(t, env, ['replay', one, '--json'])).refused, { 401: 1 });
});

t.test('without a receiver the replay explains how to start one', async (t) => {
  const { url } = await receive(t);
  const nobody = new URL(url);
  nobody.port = '9';
  const one = join(FIXTURES, 'events/01-sync-request.json');
  const ran = await hereDev(t, { WEBHOOK_SECRETS: SECRET }, ['replay', one, '--url', nobody.href]);
  t.match(ran, { code: 1, stdout: /0 of 1 event delivered/, stderr: /Nothing listens at the URL\. Start/ });
});

t.test('Ctrl-C stops the replay, which reports how many events were not posted', async (t) => {
  const stopping = new AbortController();
  const { url } = await receive(t, (nth) => {
    if (nth === 2) stopping.abort();
    return { status: 204 };
  });
  const options = { signal: stopping.signal };
  const ran = await hereDev(t, { WEBHOOK_SECRETS: SECRET }, ['replay', FIXTURES, '--url', url], options);
  t.equal(ran.code, 1);
  t.match(ran.stderr, /Stopped: 13 events not sent/);
});

t.test('a replay without events, or to an address that is none, is wrong usage', async (t) => {
  for (const url of ['ftp://127.0.0.1', 'http://user:password@127.0.0.1'])
    t.match(await hereDev(t, {}, ['replay', 'a.json', '--url', url]), {
      code: 2,
      stdout: '',
      stderr: /--url/,
    });
  t.match(await hereDev(t, {}, ['replay']), {
    code: 2,
    stdout: '',
    stderr: /missing required argument 'file'/,
  });
});
