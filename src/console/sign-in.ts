/** Signs people in with an API token, and out. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { actingIn, actorOfCaller, sessionInCookie } from '../api/auth.ts';
import { PROBLEMS, Refusal } from '../api/problem.ts';
import { transact } from '../database/transaction.ts';
import { endSession, forgeryToken, signIn } from '../security/sessions.ts';
import { authenticate } from '../security/tokens.ts';
import { type Html, html } from './html.ts';
import { type ConsoleParts, keyOf, type Page, SIGNED_IN_PATH, sendPage } from './page.ts';
import { afterSignOut, startAddress } from './provider-sign-in.ts';
import {
  clearSessionCookies,
  nextOf,
  SIGN_IN_PATH,
  SIGN_OUT_PATH,
  setSessionCookie,
} from './sign-in-cookies.ts';

/** A token has 47 characters; a configured first token may have a few more. */
const FORM_LIMIT_BYTES = 4 * 1024;
/** How long the form may take to arrive. An anonymous client must not hold a connection for long. */
const FORM_TIMEOUT_MS = 5_000;

export function signInRoutes(app: FastifyInstance, parts: ConsoleParts): void {
  const { db, sharedNow, log, firstToken } = parts;
  const { withToken } = parts.signIn;
  const config = { scope: 'public' as const, action: 'session.begin' as const, employers: 'none' as const };
  const options = { config, schema: { hide: true }, bodyLimit: FORM_LIMIT_BYTES };

  app.get(SIGN_IN_PATH, options, async (request, reply) =>
    sendPage(request, withReferrer(reply), parts, signInPage(parts, nextOf(request.query))),
  );

  const ofUser = { config: { scope: 'any' as const, employers: 'none' as const }, schema: { hide: true } };
  app.get(SIGNED_IN_PATH, ofUser, async (request, reply) => {
    const body = html`<p>You can close this tab and return to the page that you were on.</p>`;
    return sendPage(request, reply, parts, { title: 'You are signed in', body });
  });

  // A page whose session ended reads the token that its forms need in the new session.
  app.get('/session', ofUser, async ({ caller, session }, reply) => {
    if (caller === null || session === null) throw new Refusal('UNAUTHORIZED', 'There is no session.');
    return reply
      .header('cache-control', 'no-store')
      .send({ user: keyOf(caller), token: forgeryToken(session) });
  });

  app.post(
    SIGN_OUT_PATH,
    { config: { scope: 'any', action: 'session.end', employers: 'none' }, schema: { hide: true } },
    async (request, reply) => {
      const { session } = request;
      if (session !== null) {
        await transact(db, async (trx) => endSession(trx, session, actingIn(request, await sharedNow(trx))));
      }
      const next = await afterSignOut(parts, request, reply);
      return clearSessionCookies(reply, request).code(204).header('hx-redirect', next).send();
    },
  );

  if (!withToken) return;
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
      const page = signInPage(parts, next, problem);
      return sendPage(request, withReferrer(reply.headers(refusal.headers)), parts, { ...page, status });
    }
    const secret = await transact(db, async (trx) => {
      const actor = actorOfCaller(caller, null);
      return signIn(trx, typed, { actor, now: await sharedNow(trx), earlier: sessionInCookie(request) });
    });
    log.info({ route: `POST ${SIGN_IN_PATH}`, token: caller.name }, 'a user signed in');
    return setSessionCookie(reply, request, secret, isEncrypted(request)).redirect(next, 303);
  });
}

/** Makes the browser send the form's origin, which also shows whether it used https. */
function withReferrer(reply: FastifyReply): FastifyReply {
  return reply.header('referrer-policy', 'same-origin');
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

/** Returns whether the browser uses https, as its own `Origin` or one of the configured proxies reports. */
function isEncrypted({ headers, protocol }: FastifyRequest): boolean {
  return headers.origin?.startsWith('https:') === true || protocol === 'https';
}

function signInPage(
  { signIn: { provider, withToken } }: ConsoleParts,
  next: string,
  problem: string | null = null,
): Page {
  const body = html`
    <div class="sign-in card">
      ${problem !== null && html`<p class="problem" role="alert">${problem}</p>`}
      ${provider !== null && html`<p><a class="button" href=${startAddress(provider.consoleUrl, next)}>Sign in with your organization</a></p>`}
      ${withToken && tokenForm(next, provider === null)}
      <p class="hint">Your session ends after 30 minutes without activity, and after 12 hours at the latest.</p>
    </div>
  `;
  return { title: 'Sign in', body };
}

function tokenForm(next: string, autofocus: boolean): Html {
  return html`
    <form method="post" action=${SIGN_IN_PATH}>
      <input type="hidden" name="next" value=${next} />
      <label for="token">API token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus=${autofocus} />
      <p class="hint">Ask an administrator of this sidecar for a token. Its scopes decide what you can see and do.</p>
      <button type="submit">Sign in</button>
    </form>
  `;
}
