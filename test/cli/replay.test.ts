import { join } from 'node:path';
import t from 'tap';
import { createVerify } from '../../src/inbox/signature.ts';
import { SECRET, startReceiver } from '../inbox/deliver.ts';
import { receive } from '../simulator/receiver.ts';
import { environment, FIXTURES, here, jsonOf } from './harness.ts';

t.test(
  'fixtures are signed with the first configured secret and posted in order of file names',
  async (t) => {
    const other = environment(t).WEBHOOK_SECRETS;
    const { port, accepted, refused } = await startReceiver(t);
    const env = {
      WEBHOOK_SECRETS: `${SECRET} ${other}`,
      RECEIVER_HOST: '0.0.0.0',
      RECEIVER_PORT: String(port),
    };
    const ran = await here(t, env, ['replay', FIXTURES]);
    t.match(ran, {
      code: 0,
      stdout: `16 of 16 events delivered to http://127.0.0.1:${port}/webhooks\n`,
      stderr: '',
    });
    t.same(refused, []);
    t.same(
      accepted.map(({ eventId }) => eventId),
      Array.from({ length: 16 }, (_, index) => `msg_fixture${String(index + 1).padStart(13, '0')}`),
    );
  },
);

t.test('a replay takes several paths, posts concurrently, and shows progress on a terminal', async (t) => {
  const { port, accepted } = await startReceiver(t, { verify: createVerify([SECRET], () => new Date()) });
  const env = { WEBHOOK_SECRETS: SECRET };
  const paths = ['01-sync-request', '03-medical-new'].map((name) => join(FIXTURES, `events/${name}.json`));
  const to = ['--url', `http://127.0.0.1:${port}/webhooks`, '--concurrency', '8'];
  const ran = await here(t, env, ['replay', FIXTURES, ...paths, ...to, '--json'], { isTTY: true });
  t.match(jsonOf(ran), { events: 18, delivered: 18, refused: {} });
  t.match(ran.stderr, /#+.*18\/18/);
  t.equal(accepted.length, 18);
});

t.test('rejected events are counted by status with advice, and the exit code is 1', async (t) => {
  const { port } = await startReceiver(t);
  const env = { ...environment(t), RECEIVER_PORT: String(port) };
  const ran = await here(t, env, ['replay', FIXTURES]);
  t.equal(ran.code, 1);
  t.match(ran.stdout, /^0 of 16 events delivered.*\n16 failed with 401: 01-sync-request\.json, .*…\n$/);
  t.match(ran.stderr, /Compare WEBHOOK_SECRETS/);
  const one = join(FIXTURES, 'events/01-sync-request.json');
  t.same(jsonOf(await here(t, env, ['replay', one, '--json'])).refused, { 401: 1 });
});

t.test('one response other than 2xx makes the replay fail', async (t) => {
  const { url } = await receive(t, (nth) => ({ status: nth === 4 ? 302 : 204 }));
  const env = { WEBHOOK_SECRETS: SECRET };
  const ran = await here(t, env, ['replay', FIXTURES, '--url', url, '--json']);
  t.equal(ran.code, 1);
  t.match(jsonOf(ran), { delivered: 15, refused: { 302: 1 } });
});

t.test('without a receiver the replay explains how to start one', async (t) => {
  const { url } = await receive(t);
  const nobody = new URL(url);
  nobody.port = '9';
  const one = join(FIXTURES, 'events/01-sync-request.json');
  const ran = await here(t, { WEBHOOK_SECRETS: SECRET }, ['replay', one, '--url', nobody.href]);
  t.match(ran, { code: 1, stdout: /0 of 1 event delivered/, stderr: /Nothing listens at the URL\. Start/ });
});

t.test('Ctrl-C stops the replay, which reports how many events were not posted', async (t) => {
  const stopping = new AbortController();
  const { url } = await receive(t, (nth) => {
    if (nth === 2) stopping.abort();
    return { status: 204 };
  });
  const options = { signal: stopping.signal };
  const ran = await here(t, { WEBHOOK_SECRETS: SECRET }, ['replay', FIXTURES, '--url', url], options);
  t.equal(ran.code, 1);
  t.match(ran.stderr, /Stopped: 13 events not sent/);
});
