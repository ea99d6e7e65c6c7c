/** Signing in with a token, and out again. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sessionCookies, sessionInCookie } from '../api/auth.ts';
import { REFUSALS, Refusal } from '../api/problem.ts';
import { transact } from '../database/transaction.ts';
import { beginSession, endSession, SESSION_MS } from '../security/sessions.ts';
import { authenticate } from '../security/tokens.ts';
import { type Html, html } from './html.ts';
import { sendPage } from './page.ts';
import type { ConsoleParts } from './parts.ts';

export const SIGN_IN_PATH = '/sign-in';

/** A token has 47 characters, and a first token of a container few more. */
const FORM_LIMIT_BYTES = 4 * 1024;
/** From the headers to the end of such a form: whoever is not known yet may not hold a connection for long. */
const FORM_WITHIN_MS = 5_000;
/** A path of ours: no host can follow, whatever the browser makes of slashes and backslashes. */
const OWN_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,1000}$/;

export function signInRoutes(app: FastifyInstance, parts: ConsoleParts): void {
  const { db, now, log, firstToken } = parts;
  const options = {
    config: { scope: 'public' as const },
    schema: { hide: true },
    bodyLimit: FORM_LIMIT_BYTES,
  };

  app.get(SIGN_IN_PATH, options, async (request, reply) =>
    sendPage(request, fromHere(reply), parts, signInPage(wishOf(request.query))),
  );

  app.post(SIGN_IN_PATH, { ...options, onRequest: breakOffSlow }, async (request, reply) => {
    const wish = wishOf(request.body);
    const { token } = (request.body ?? {}) as { token?: unknown };
    const given = typeof token === 'string' ? token.trim() : '';
    const caller = isOwn(request) ? await authenticate(db, given, now(), firstToken) : null;
    if (caller === null) {
      const problem = 'This token is unknown, expired or revoked.';
      const refusal = app.failedAttempt(request, new Refusal('unauthorized', problem));
      const { status } = REFUSALS[refusal.code];
      if (status === 401) log.warn({ route: `POST ${SIGN_IN_PATH}`, status }, 'a caller was refused');
      const page = signInPage(wish, problem);
      return sendPage(request, fromHere(reply.headers(refusal.headers)), parts, { ...page, status });
    }
    const earlier = sessionInCookie(request);
    const secret = await transact(db, async (trx) => {
      if (earlier !== null) await endSession(trx, earlier);
      return beginSession(trx, given, now());
    });
    log.info({ route: `POST ${SIGN_IN_PATH}`, token: caller.name }, 'a person signed in');
    const secure = isEncrypted(request);
    const names = sessionCookies(request);
    return clearCookies(reply, request)
      .setCookie(secure ? names.secure : names.plain, secret, {
        path: '/',
        httpOnly: true,
        sameSite: 'strict',
        secure,
        maxAge: SESSION_MS / 1_000,
      })
      .redirect(wish, 303);
  });

  app.post('/sign-out', { config: { scope: 'any' }, schema: { hide: true } }, async (request, reply) => {
    const { session } = request;
    if (session !== null) await transact(db, (trx) => endSession(trx, session));
    return clearCookies(reply, request).code(204).header('hx-redirect', SIGN_IN_PATH).send();
  });
}

/** Lets the browser say where the form comes from, and with that whether the person came by https. */
function fromHere(reply: FastifyReply): FastifyReply {
  return reply.header('referrer-policy', 'same-origin');
}

/** Where the person wanted to go. */
function wishOf(given: unknown): string {
  const { next } = (given ?? {}) as { next?: unknown };
  return typeof next === 'string' && OWN_PATH.test(next) && !next.startsWith(SIGN_IN_PATH) ? next : '/';
}

/** Breaks off a form that comes byte by byte. */
async function breakOffSlow({ raw }: FastifyRequest): Promise<void> {
  const late = setTimeout(() => raw.destroy(), FORM_WITHIN_MS);
  const over = (): void => clearTimeout(late);
  raw.once('end', over).once('close', over);
}

/**
 * Another site must not sign somebody in as somebody else. Browsers say how the site of a form is related to this one
 * where they were reached safely, and everywhere which one it is.
 */
function isOwn({ headers }: FastifyRequest): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}

/** Removes the cookies that the browser sent. */
function clearCookies(reply: FastifyReply, request: FastifyRequest): FastifyReply {
  const { plain, secure } = sessionCookies(request);
  const sent = request.cookies;
  if (sent[plain] !== undefined) reply.clearCookie(plain, { path: '/' });
  if (sent[secure] !== undefined) reply.clearCookie(secure, { path: '/', secure: true });
  return reply;
}

/**
 * Returns whether the browser uses https, as its `Origin` or the operator's TLS proxy reports. A client that forges
 * either only gets a cookie that its own browser doesn't send back over http.
 */
function isEncrypted({ headers }: FastifyRequest): boolean {
  return headers.origin?.startsWith('https:') === true || headers['x-forwarded-proto'] === 'https';
}

function signInPage(next: string, problem: string | null = null) {
  return { title: 'Sign in', place: 'none' as const, body: form(next, problem) };
}

function form(next: string, problem: string | null): Html {
  return html`
    <form class="sign-in card" method="post" action=${SIGN_IN_PATH}>
      ${problem !== null && html`<p class="problem" role="alert">${problem}</p>`}
      <input type="hidden" name="next" value=${next} />
      <label for="token">API token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
      <p class="hint">
        ${'Make one with '}<code>benefits-sidecar token create --name you --scope all</code>${'. What you see and may do is what its scopes allow. Your session ends after 30 minutes without activity, and after 12 hours at the latest.'}
      </p>
      <button type="submit">Sign in</button>
    </form>
  `;
}
