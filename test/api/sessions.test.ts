import { transact } from '../../src/database/transaction.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { beginSession, forgeryToken, SESSION_IDLE_MS, sessionId } from '../../src/security/sessions.ts';
import { createToken } from '../../src/security/tokens.ts';
import { at } from '../support/clocks.ts';
import { onEitherEngine } from '../support/engine.ts';
import { FIRST_TOKEN, NOW, type Request, type Running, start } from './start.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const atMinute = (minute: number) => new Date(NOW.getTime() + minute * MINUTE_MS);

const begin = ({ db }: Running, token: string, when = NOW) =>
  transact(db, (trx) => beginSession(trx, token, when));

/** Sends a request with a session, as a console page does. */
const inSession = (secret: string, request: Request): Request => ({
  ...request,
  token: null,
  headers: {
    host: 'sidecar.example',
    cookie: `benefits_sidecar_session_default=${secret}`,
    'x-csrf-token': forgeryToken(secret),
  },
});

const idsOf = async ({ call }: Running, token: string): Promise<string[]> =>
  (await call({ url: '/v1/sessions', token })).json.data.map((session: { id: string }) => session.id);

onEitherEngine('a token lists its own sessions, newest first, page by page', async (t) => {
  let now = NOW;
  const running = await start(t, { now: () => now });
  const { call, tokenWith } = running;
  const token = await tokenWith('events:read');
  await begin(running, FIRST_TOKEN);
  for (const minute of [0, 1, 1, 2]) await begin(running, token, atMinute(minute));
  const current = await begin(running, token, atMinute(3));
  // A use within a minute is not recorded.
  now = new Date(atMinute(4).getTime() - 1);
  const { data, next_cursor } = (await call(inSession(current, { url: '/v1/sessions' }))).json;
  t.equal(next_cursor, null);
  t.strictSame(
    data.map(({ created_at, is_current }: Record<string, unknown>) => [created_at, is_current]),
    [3, 2, 1, 1, 0].map((minute) => [atMinute(minute).toISOString(), minute === 3]),
  );
  for (const { id } of data) t.match(id, /^[0-9a-f]{16}$/);

  const paged: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const { json } = await call({ url: `/v1/sessions?limit=2${more}`, token });
    paged.push(...json.data);
    cursor = json.next_cursor;
  }
  const asProgram = data.map((session: object) => ({ ...session, is_current: false }));
  t.strictSame(paged, asProgram, 'the same list with the bearer token');

  now = new Date(atMinute(2).getTime() + SESSION_IDLE_MS);
  t.equal((await idsOf(running, token)).length, 1, 'idle sessions have expired');
});

onEitherEngine('a user never sees or ends sessions that a different token began', async (t) => {
  const running = await start(t);
  const { call, tokenWith } = running;
  const [mine, other] = [await tokenWith('all'), await tokenWith('all')];
  const secrets = [await begin(running, other), await begin(running, FIRST_TOKEN)];
  t.strictSame(await idsOf(running, mine), []);
  for (const token of [other, FIRST_TOKEN]) {
    const [id] = await idsOf(running, token);
    t.equal((await call({ method: 'DELETE', url: `/v1/sessions/${id}`, token: mine })).status, 404);
  }
  for (const id of ['0'.repeat(16), '%25', 'F'.repeat(16), 'f'.repeat(64)])
    t.equal((await call({ method: 'DELETE', url: `/v1/sessions/${id}`, token: mine })).status, 404, id);
  t.equal((await call({ method: 'DELETE', url: '/v1/sessions', token: mine })).status, 204);
  for (const secret of secrets) t.equal((await call(inSession(secret, { url: '/v1/events' }))).status, 200);
});

onEitherEngine('a session ends one or all others, and a bearer token ends all its sessions', async (t) => {
  const running = await start(t);
  const { call, tokenWith, logged } = running;
  const token = await tokenWith('events:read');
  const current = await begin(running, token);
  const [ended, ...others] = [
    await begin(running, token),
    await begin(running, token),
    await begin(running, token),
  ];
  const url = `/v1/sessions/${sessionId(ended)}`;
  t.equal((await call(inSession(current, { method: 'DELETE', url }))).status, 204);
  const statuses = [];
  for (const secret of [ended, ...others])
    statuses.push((await call(inSession(secret, { url: '/v1/events' }))).status);
  t.strictSame(statuses, [401, 200, 200]);
  t.equal((await call(inSession(current, { method: 'DELETE', url: '/v1/sessions' }))).status, 204);
  for (const secret of others) t.equal((await call(inSession(secret, { url: '/v1/events' }))).status, 401);
  t.equal((await call(inSession(current, { url: '/v1/events' }))).status, 200);
  const info = logged.filter(({ level }) => level === 'info').map(({ fields }) => fields);
  t.strictSame(info, [
    { count: 1, token: 'token 1' },
    { count: 2, token: 'token 1' },
  ]);
  t.equal((await call({ method: 'DELETE', url: '/v1/sessions', token })).status, 204);
  t.equal((await call(inSession(current, { url: '/v1/events' }))).status, 401);
});

onEitherEngine('a wrong clock of the sidecar ends no session and no token', async (t) => {
  for (const skewMs of [-DAY_MS, DAY_MS]) {
    const skewed = () => new Date(NOW.getTime() + skewMs);
    const running = await start(t, { now: skewed, sharedNow: at(NOW) });
    const wish = { name: 'payroll', scopes: ['all'], expiresAt: atMinute(1), now: NOW, actor: SYSTEM };
    const { token } = await transact(running.db, (trx) => createToken(trx, wish));
    const session = await begin(running, FIRST_TOKEN);
    const status = async (request: Request) => (await running.call(request)).status;
    t.equal(await status({ url: '/v1/readiness', token }), 200);
    t.equal(await status(inSession(session, { url: '/v1/readiness' })), 200);
    t.equal((await idsOf(running, FIRST_TOKEN)).length, 1);
  }
});
