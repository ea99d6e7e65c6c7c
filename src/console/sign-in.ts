/** Signs people in with an API token, and out. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { actingIn, actorOfCaller, sessionInCookie } from '../api/auth.ts';
import { Refusal } from '../api/problem.ts';
import { PROBLEMS } from '../api/problem-types.ts';
import { transact } from '../database/transaction.ts';
import { endSession, forgeryToken, isEndedBySettings, signIn } from '../security/sessions.ts';
import { authenticate } from '../security/tokens.ts';
import { html } from './html.ts';
import { type ConsoleParts, keyOf, SIGNED_IN_PATH, sendPage } from './page.ts';
import { afterSignOut } from './provider-sign-in.ts';
import {
  clearSessionCookies,
  nextOf,
  SIGN_IN_PATH,
  SIGN_OUT_PATH,
  setSessionCookie,
} from './sign-in-cookies.ts';
import { isSameOrigin, signInPage, withReferrer } from './sign-in-page.ts';

/** A token has 47 characters; a configured first token may have a few more. */
const FORM_LIMIT_BYTES = 4 * 1024;
/** How long the form may take to arrive. An anonymous client must not hold a connection for long. */
const FORM_TIMEOUT_MS = 5_000;

export function signInRoutes(app: FastifyInstance, parts: ConsoleParts): void {
  const { db, sharedNow, log, firstToken } = parts;
  const { withToken, isHttps } = parts.signIn;
  const config = { scope: 'public' as const, action: 'session.begin' as const, employers: 'none' as const };
  const options = { config, schema: { hide: true }, bodyLimit: FORM_LIMIT_BYTES };

  app.get(SIGN_IN_PATH, options, async (request, reply) => {
    const session = sessionInCookie(request);
    const isEnded = session !== null && (await isEndedBySettings(db, session, sharedNow, parts.signIn));
    const problem = isEnded ? 'The sign-in settings have changed. Sign in again.' : null;
    return sendPage(request, withReferrer(reply), parts, signInPage(parts, nextOf(request.query), problem));
  });

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
    const isSecure = isHttps || isEncrypted(request);
    return setSessionCookie(reply, request, secret, isSecure).redirect(next, 303);
  });
}

async function dropSlow({ raw }: FastifyRequest): Promise<void> {
  const timeout = setTimeout(() => raw.destroy(), FORM_TIMEOUT_MS);
  const clear = (): void => clearTimeout(timeout);
  raw.once('end', clear).once('close', clear);
}

/** Returns whether the browser uses https, as its own `Origin` or one of the configured proxies reports. */
function isEncrypted({ headers, protocol }: FastifyRequest): boolean {
  return headers.origin?.startsWith('https:') === true || protocol === 'https';
}
