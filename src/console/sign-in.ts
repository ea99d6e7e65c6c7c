/** Signs people in with an API token, and out. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { actingIn, sessionCookies, sessionInCookie } from '../api/auth.ts';
import { PROBLEMS, Refusal } from '../api/problem.ts';
import { transact } from '../database/transaction.ts';
import { record, tokenActor } from '../security/audit.ts';
import { beginSession, endSession, SESSION_MS, sessionId } from '../security/sessions.ts';
import { authenticate } from '../security/tokens.ts';
import { html } from './html.ts';
import { type ConsoleParts, type Page, SIGN_IN_PATH, sendPage } from './page.ts';

/** A token has 47 characters; a configured first token may have a few more. */
const FORM_LIMIT_BYTES = 4 * 1024;
/** How long the form may take to arrive. An anonymous client must not hold a connection for long. */
const FORM_TIMEOUT_MS = 5_000;
/** A path on this listener. A second slash or a backslash would let browsers read a host name. */
const OWN_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,1000}$/;

export function signInRoutes(app: FastifyInstance, parts: ConsoleParts): void {
  const { db, now, sharedNow, log, firstToken } = parts;
  const config = { scope: 'public' as const, action: 'session.begin' as const };
  const options = { config, schema: { hide: true }, bodyLimit: FORM_LIMIT_BYTES };

  app.get(SIGN_IN_PATH, options, async (request, reply) =>
    sendPage(request, withReferrer(reply), parts, signInPage(nextOf(request.query))),
  );

  app.post(SIGN_IN_PATH, { ...options, onRequest: dropSlow }, async (request, reply) => {
    const next = nextOf(request.body);
    const { token } = (request.body ?? {}) as { token?: unknown };
    const typed = typeof token === 'string' ? token.trim() : '';
    const caller = isSameOrigin(request) ? await authenticate(db, typed, sharedNow, firstToken) : null;
    if (caller === null) {
      const problem = 'This token is unknown, expired or revoked.';
      const refusal = app.failedAttempt(request, new Refusal('UNAUTHORIZED', problem));
      const { status } = PROBLEMS[refusal.code];
      app.refusedCaller(request, status);
      const page = signInPage(next, problem);
      return sendPage(request, withReferrer(reply.headers(refusal.headers)), parts, { ...page, status });
    }
    const earlier = sessionInCookie(request);
    const secret = await transact(db, async (trx) => {
      const now = await sharedNow(trx);
      const begun = await beginSession(trx, typed, now, earlier);
      const acting = { actor: tokenActor(caller, null), now: now.toISOString() };
      await record(trx, acting, { action: 'session.begin', resource: sessionId(begun) });
      return begun;
    });
    log.info({ route: `POST ${SIGN_IN_PATH}`, token: caller.name }, 'a user signed in');
    const secure = isEncrypted(request);
    const name = sessionCookies(request)[secure ? 'secure' : 'plain'];
    const maxAge = SESSION_MS / 1_000;
    return clearCookies(reply, request)
      .setCookie(name, secret, { path: '/', httpOnly: true, sameSite: 'strict', secure, maxAge })
      .redirect(next, 303);
  });

  app.post(
    '/sign-out',
    { config: { scope: 'any', action: 'session.end', employers: 'none' }, schema: { hide: true } },
    async (request, reply) => {
      const { session } = request;
      if (session !== null) {
        const acting = actingIn(request, now());
        await transact(db, async (trx) => {
          if (!(await endSession(trx, session))) return;
          await record(trx, acting, { action: 'session.end', resource: sessionId(session) });
        });
      }
      return clearCookies(reply, request).code(204).header('hx-redirect', SIGN_IN_PATH).send();
    },
  );
}

/** Makes the browser send the form's origin, which also shows whether it used https. */
function withReferrer(reply: FastifyReply): FastifyReply {
  return reply.header('referrer-policy', 'same-origin');
}

function nextOf(query: unknown): string {
  const { next } = (query ?? {}) as { next?: unknown };
  return typeof next === 'string' && OWN_PATH.test(next) && !next.startsWith(SIGN_IN_PATH) ? next : '/';
}

async function dropSlow({ raw }: FastifyRequest): Promise<void> {
  const timeout = setTimeout(() => raw.destroy(), FORM_TIMEOUT_MS);
  const clear = (): void => clearTimeout(timeout);
  raw.once('end', clear).once('close', clear);
}

/**
 * Returns whether the form comes from this site: another site must not be able to sign a user in as someone else.
 * Browsers send `Sec-Fetch-Site` only over trustworthy connections, and `Origin` always.
 */
function isSameOrigin({ headers }: FastifyRequest): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}

function clearCookies(reply: FastifyReply, request: FastifyRequest): FastifyReply {
  const { plain, secure } = sessionCookies(request);
  const sent = request.cookies;
  if (sent[plain] !== undefined) reply.clearCookie(plain, { path: '/' });
  if (sent[secure] !== undefined) reply.clearCookie(secure, { path: '/', secure: true });
  return reply;
}

/** Returns whether the browser uses https, as its own `Origin` or one of the configured proxies reports. */
function isEncrypted({ headers, protocol }: FastifyRequest): boolean {
  return headers.origin?.startsWith('https:') === true || protocol === 'https';
}

function signInPage(next: string, problem: string | null = null): Page {
  const body = html`
    <form class="sign-in card" method="post" action=${SIGN_IN_PATH}>
      ${problem !== null && html`<p class="problem" role="alert">${problem}</p>`}
      <input type="hidden" name="next" value=${next} />
      <label for="token">API token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
      <p class="hint">Ask an administrator of this sidecar for a token. Its scopes decide what you can see and do. Your session ends after 30 minutes without activity, and after 12 hours at the latest.</p>
      <button type="submit">Sign in</button>
    </form>
  `;
  return { title: 'Sign in', body };
}
