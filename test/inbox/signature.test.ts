import { deepStrictEqual } from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { Webhook } from 'svix';
import t, { type Test } from 'tap';
import { BODY_LIMIT_BYTES } from '../../src/inbox/receiver.ts';
import { createVerify, type UnverifiedCause } from '../../src/inbox/signature.ts';
import { signEvent } from '../../src/simulator/sign.ts';
import { cpuTime } from '../support/cpu-time.ts';
import fc from '../support/seeded.ts';
import { post, SECRET, type Started, secretOf, startReceiver } from './deliver.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const SECONDS = NOW.getTime() / 1_000;
const ID = 'msg_signed';
const BODY = '{"event_type":"employee.deduction-updated","note":"Zoë"}';

/** A receiver at a fixed time. The library reads the clock itself, so the clock is set to the same instant. */
function frozen(t: Test, secrets: readonly string[] = [SECRET]): Promise<Started> {
  return startReceiver(t, { verify: frozenVerify(t, secrets) });
}

/** Returns the verification of the receiver of `frozen`. */
function frozenVerify(t: Test, secrets: readonly string[] = [SECRET]) {
  t.intercept(Date, 'now', { value: () => NOW.getTime() });
  return createVerify(secrets, () => NOW);
}

/** Headers of a valid delivery, `seconds` from now. */
function signed(seconds = 0, secrets: string | string[] = SECRET, body = BODY, id = ID) {
  return signEvent(secrets, id, new Date(NOW.getTime() + seconds * 1_000), body);
}

/** The same headers under the names that white-labeled senders use. */
function renamed(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace('svix-', 'webhook-'), value]),
  );
}

function signatureOf(secret: string): string {
  return signed(0, secret)['svix-signature'];
}

t.test('a delivery is accepted under the signed id', async (t) => {
  const { port, accepted, refused } = await frozen(t);
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const hmac = createHmac('sha256', key).update(`${ID}.${SECONDS}.${BODY}`).digest('base64');
  const headers = { 'svix-id': ID, 'svix-timestamp': String(SECONDS), 'svix-signature': `v1,${hmac}` };
  t.strictSame(signed(), headers, 'the signature matches the provider documentation');
  t.equal((await post(port, headers, BODY)).status, 204);
  t.equal((await post(port, renamed(headers), BODY)).status, 204, 'under the other names too');
  t.strictSame(
    accepted.map(({ eventId, body }) => [eventId, body.toString()]),
    [
      [ID, BODY],
      [ID, BODY],
    ],
  );
  t.strictSame(refused, []);
});

t.test('an attempt is accepted only within five minutes of now, either way', async (t) => {
  const { port, accepted, refused } = await frozen(t);
  for (const seconds of [-299, 0, 299])
    t.equal((await post(port, signed(seconds), BODY)).status, 204, `${seconds} s`);
  for (const seconds of [-301, 301, -86_400, 86_400])
    t.equal((await post(port, signed(seconds), BODY)).status, 401, `${seconds} s`);
  t.equal(accepted.length, 3);
  t.strictSame(refused, Array(4).fill('timestamp'));
});

t.test('a timestamp must be digits only, even where the library would parse a number', async (t) => {
  const { port, accepted, refused } = await frozen(t);
  const texts = ['123abc', '1.5', '+1', '1', '-1', '1e9', '0x69a4', 'now', `${SECONDS}abc`, `${SECONDS}.5`];
  texts.push(`+${SECONDS}`, `${SECONDS} 1`, `${SECONDS},${SECONDS}`);
  for (const text of texts) {
    const { status } = await post(port, { ...signed(), 'svix-timestamp': text }, BODY);
    t.equal(status, 401, JSON.stringify(text));
  }
  t.strictSame(refused, Array(texts.length).fill('timestamp'));
  t.strictSame(accepted, []);
  // HTTP strips whitespace around header values. The check must reject it in other calls.
  const verify = createVerify([SECRET], () => NOW);
  for (const text of [` ${SECONDS}`, `${SECONDS} `, `${SECONDS}\n`, ' ']) {
    const verdict = verify({ ...signed(), 'svix-timestamp': text }, Buffer.from(BODY));
    t.strictSame(verdict, { refused: 'timestamp' }, JSON.stringify(text));
  }
});

const good = signed();
const [, digest] = good['svix-signature'].split(',') as [string, string];
const refusals: [
  name: string,
  headers: OutgoingHttpHeaders,
  cause: UnverifiedCause,
  body?: string | Buffer,
][] = [
  ['no header at all', {}, 'headers'],
  ['no id', { ...good, 'svix-id': [] }, 'headers'],
  ['an empty id', { ...good, 'svix-id': '' }, 'headers'],
  ['an id of 256 characters', signed(0, SECRET, BODY, 'x'.repeat(256)), 'headers'],
  ['no timestamp', { ...good, 'svix-timestamp': [] }, 'headers'],
  ['an empty timestamp', { ...good, 'svix-timestamp': '' }, 'headers'],
  ['a timestamp of blanks', { ...good, 'svix-timestamp': '   ' }, 'headers'],
  ['no signature', { ...good, 'svix-signature': [] }, 'headers'],
  ['an empty signature', { ...good, 'svix-signature': '' }, 'headers'],
  ['another secret', signed(0, secretOf('b')), 'signature'],
  ['a signature cut short', { ...good, 'svix-signature': `v1,${digest.slice(0, -4)}` }, 'signature'],
  ['one letter changed', { ...good, 'svix-signature': `v1,${digest.replace(/./, '#')}` }, 'signature'],
  ['no version', { ...good, 'svix-signature': digest }, 'signature'],
  ['a version and nothing else', { ...good, 'svix-signature': 'v1' }, 'signature'],
  ['an empty v1', { ...good, 'svix-signature': 'v1,' }, 'signature'],
  ['v1a only', { ...good, 'svix-signature': `v1a,${digest}` }, 'signature'],
  ['no base64', { ...good, 'svix-signature': 'v1,***' }, 'signature'],
  ['the signature of a different body', good, 'signature', `${BODY} `],
  ['the signature of a different id', { ...good, 'svix-id': 'msg_other' }, 'signature'],
  ['the signature of a different second', { ...good, 'svix-timestamp': String(SECONDS + 1) }, 'signature'],
  ['no body', good, 'signature', ''],
  ['an id in two lines, the signed one first', { ...good, 'svix-id': [ID, 'msg_forged'] }, 'signature'],
  ['an id in two lines, the signed one last', { ...good, 'svix-id': ['msg_forged', ID] }, 'signature'],
  [
    'a timestamp in two lines',
    { ...good, 'svix-timestamp': [String(SECONDS), String(SECONDS)] },
    'timestamp',
  ],
  [
    'halves of two header sets, which the library would combine',
    { 'svix-id': ID, 'svix-timestamp': String(SECONDS), 'webhook-signature': good['svix-signature'] },
    'headers',
  ],
  [
    'bytes that are not UTF-8, signed as their decoded text',
    signed(0, SECRET, '{"note":"\ufffd"}'),
    'encoding',
    Buffer.concat([Buffer.from('{"note":"'), Buffer.of(0xff), Buffer.from('"}')]),
  ],
];

t.test('a delivery is rejected and not stored for', async (t) => {
  const { port, accepted, refused } = await frozen(t);
  for (const [name, headers, cause, body = BODY] of refusals) {
    t.equal((await post(port, headers, body)).status, 401, name);
    t.equal(refused.pop(), cause, `${name}: ${cause}`);
  }
  t.strictSame(accepted, []);
  t.equal((await post(port, good, BODY)).status, 204, 'the valid delivery is accepted');
});

t.test('during a rotation both secrets are accepted, afterward only the new one', async (t) => {
  const [old, next] = [secretOf('o'), secretOf('n')];
  const lists: Record<string, string> = {
    'signed by the old secret': signatureOf(old),
    'signed by the new secret': signatureOf(next),
    'signed by both, old first': `${signatureOf(old)} ${signatureOf(next)}`,
    'signed by both, new first': `${signatureOf(next)} ${signatureOf(old)}`,
    'with a signature of a different kind': `v1a,${digest} ${signatureOf(next)}`,
    'with a signature by another secret': `${signatureOf(secretOf('s'))} ${signatureOf(old)}`,
  };
  for (const secrets of [
    [old, next],
    [next, old],
  ]) {
    const { port } = await frozen(t, secrets);
    for (const [name, list] of Object.entries(lists))
      t.equal((await post(port, { ...good, 'svix-signature': list }, BODY)).status, 204, name);
  }
  const { port } = await frozen(t, [next]);
  t.equal((await post(port, { ...good, 'svix-signature': signatureOf(old) }, BODY)).status, 401);
  t.equal((await post(port, { ...good, 'svix-signature': signatureOf(next) }, BODY)).status, 204);
});

t.test('a signature verifies as adapters pass it on, in any order', async (t) => {
  const { port } = await frozen(t);
  const [right, wrong] = [signatureOf(SECRET), signatureOf(secretOf('w'))];
  const digestOf = (signature: string) => signature.slice('v1,'.length);
  const forms: (string | string[])[] = [
    `v1, ${digestOf(right)}`,
    `v1 , ${digestOf(right)}`,
    ['v1', digestOf(right)],
    ['v1', `${digestOf(wrong)} v1`, digestOf(right)],
    ['v1', `${digestOf(right)} v1`, digestOf(wrong)],
    [right, wrong],
    [wrong, right],
    [`v1a,${digest}`, right],
    `${right},${wrong}`,
    `${wrong},${right}`,
    `${right}, ${wrong}`,
    `${wrong}\t${right}`,
  ];
  for (const form of forms)
    t.equal((await post(port, { ...good, 'svix-signature': form }, BODY)).status, 204, String(form));
  for (const form of [['v1a', digest], ['v1', digestOf(wrong)], digest, ['v2', digest], `v1,${digest},v2`])
    t.equal((await post(port, { ...good, 'svix-signature': form }, BODY)).status, 401, String(form));
});

t.test('only the first ten entries that have the form of a signature are compared', async (t) => {
  const verify = frozenVerify(t);
  const wrong = signatureOf(secretOf('w'));
  const lists: [entries: string[], isAccepted: boolean][] = [
    [[...Array(9).fill(wrong), `v1,${digest}`], true],
    [[...Array(10).fill(wrong), `v1,${digest}`], false],
    [[...Array(300).fill('v1'), `v1a,${digest}`, '', `v1,${digest}`], true],
    [[`v1,${digest},more`, `v1,${digest}=`, `v1,A${digest}`, `x v1,${digest}x`], false],
  ];
  for (const [entries, isAccepted] of lists) {
    const verdict = verify({ ...good, 'svix-signature': entries.join(' ') }, Buffer.from(BODY));
    t.strictSame(verdict, isAccepted ? { eventId: ID } : { refused: 'signature' }, `${entries.at(-1)}`);
  }
});

t.test('what the native HMAC lets through is verified by the library, whose verdict counts', async (t) => {
  const verify = frozenVerify(t, [SECRET, secretOf('b')]);
  const calls = t.capture(Webhook.prototype, 'verify', () => {
    throw new Error('not verified');
  });
  t.strictSame(verify(good, Buffer.from(BODY)), { refused: 'signature' });
  t.equal(calls().length, 1, 'with the secret that signed it');
  t.strictSame(verify(good, Buffer.from(`${BODY} `)), { refused: 'signature' });
  t.equal(calls().length, 0, 'not for an unsigned delivery');
});

/** The largest body that the receiver reads, of characters that take long to decode. */
const LARGE = Buffer.from('€'.repeat(BODY_LIMIT_BYTES / 3));
const expensive: Record<string, [headers: OutgoingHttpHeaders, body: Buffer]> = {
  'two header sets and 256 KiB': [{ ...good, ...renamed(good) }, LARGE],
  '5,000 entries': [{ ...good, 'svix-signature': Array(5_000).fill('v1').join(' ') }, Buffer.from(BODY)],
  '340 entries in the form of a signature': [
    { ...good, 'svix-signature': Array(340).fill(`v1,${digest}`).join(' ') },
    Buffer.from(`${BODY} `),
  ],
};
for (const [name, [headers, body]] of Object.entries(expensive)) {
  t.test(`refusing costs at most a few native HMACs of 256 KiB: ${name}`, async (t) => {
    const verify = frozenVerify(t);
    t.strictSame(verify(headers as IncomingHttpHeaders, body), { refused: 'signature' });
    const repeat = (work: () => unknown) =>
      cpuTime(() => {
        for (let times = 0; times < 100; times += 1) work();
      });
    const hmac = () => createHmac('sha256', SECRET).update(LARGE).digest('base64');
    await repeat(hmac);
    await repeat(() => verify(headers as IncomingHttpHeaders, body));
    const linear = await repeat(hmac);
    const refusing = await repeat(() => verify(headers as IncomingHttpHeaders, body));
    t.ok(refusing.cpuMs < 6 * linear.cpuMs, `${refusing.cpuMs} ms of CPU time, an HMAC ${linear.cpuMs} ms`);
  });
}

t.test('if forged headers come with signed ones, the signed id is used', async (t) => {
  const { port, accepted } = await frozen(t);
  const forged = { ...good, 'svix-id': 'msg_forged' };
  const forgeries: Record<string, OutgoingHttpHeaders> = {
    'with the signature of the forged id': forged,
    'with its own signature': { ...forged, 'svix-signature': signatureOf(secretOf('f')) },
    'outside the time window': { ...forged, 'svix-timestamp': '1' },
    incomplete: { 'svix-id': 'msg_forged' },
  };
  for (const [name, forgery] of Object.entries(forgeries)) {
    t.equal((await post(port, { ...good, ...renamed(forgery) }, BODY)).status, 204, `webhook-* ${name}`);
    t.equal(accepted.pop()?.eventId, ID, `webhook-* ${name}`);
    t.equal((await post(port, { ...renamed(good), ...forgery }, BODY)).status, 204, `svix-* ${name}`);
    t.equal(accepted.pop()?.eventId, ID, `svix-* ${name}`);
  }
});

/** Verifies by the provider's documentation, without its library. */
function hasValidHmac(headers: Record<string, string>, body: string): boolean {
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const content = `${headers['svix-id']}.${Number(headers['svix-timestamp'])}.${body}`;
  const digest = createHmac('sha256', key).update(content).digest('base64');
  const words = (headers['svix-signature'] ?? '').split(' ');
  return words.some((word, at) => word === `v1,${digest}` || (word === 'v1,' && words[at + 1] === digest));
}

t.test('a signature is accepted if and only if an independent HMAC matches', async (t) => {
  const verify = frozenVerify(t);
  let passed = 0;
  const agrees = (headers: Record<string, string>, body: string): void => {
    const expected = hasValidHmac(headers, body);
    const verdict = verify(headers, Buffer.from(body));
    if (expected) passed += 1;
    deepStrictEqual(verdict, expected ? { eventId: headers['svix-id'] } : { refused: 'signature' });
  };
  const anyCase = fc.record({
    // Header values are bytes, one per character.
    id: fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 }),
    body: fc.oneof(fc.string({ unit: 'grapheme' }), fc.json(), fc.constant(''), fc.constant('\ufeff{}')),
    timestamp: fc.constantFrom(String(SECONDS), `0${SECONDS}`, `00${SECONDS}`),
    signatures: fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.constant('right') },
        fc.constantFrom(
          'v1',
          'v1,',
          'v1,,',
          ',',
          '',
          'v1a,right',
          'V1,right',
          'v2,right',
          'v1,right,more',
          'v1, right',
        ),
        fc.constantFrom('v1,right=', 'v1,=right', 'v1,RIGHT'),
        fc.string({ unit: 'binary-ascii' }),
      ),
      { minLength: 1, maxLength: 4 },
    ),
    secret: fc.constantFrom(SECRET, SECRET, secretOf('z')),
  });
  fc.assert(
    fc.property(anyCase, ({ id, body, timestamp, signatures, secret }) => {
      const right = new Webhook(secret).sign(id, NOW, body).slice('v1,'.length);
      const signature = signatures
        .map((text) =>
          text === 'right'
            ? `v1,${right}`
            : text.replace('right', right).replace('RIGHT', right.toLowerCase()),
        )
        .join(' ');
      if (signature === '') return;
      agrees({ 'svix-id': id, 'svix-timestamp': timestamp, 'svix-signature': signature }, body);
    }),
    { numRuns: 1_000, seed: 20_261_122 },
  );
  t.ok(passed > 200, `${passed} of them were accepted`);
});
