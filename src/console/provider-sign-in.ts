/** Signs people in, and out, at the OpenID Connect provider. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sessionInCookie } from '../api/auth.ts';
import { transact } from '../database/transaction.ts';
import { personActor } from '../security/audit.ts';
import type { SignInAttempt, SignInRefusal } from '../security/openid.ts';
import { sessionId, signIn } from '../security/sessions.ts';
import { TOKEN_EMPLOYERS_MAX } from '../security/tokens.ts';
import { CALLBACK_PATH } from '../sign-in-config.ts';
import { rateLimitedLines } from '../telemetry/rate-limited-log.ts';
import { html } from './html.ts';
import { type ConsoleParts, type Page, sendPage } from './page.ts';
import {
  ATTEMPT,
  ID_TOKEN,
  nextOf,
  SIGN_IN_PATH,
  setPrivateCookie,
  setSessionCookie,
  takePrivateCookie,
} from './sign-in-cookies.ts';
import { isSameOrigin, START_PATH, signInPage, startAddress, withReferrer } from './sign-in-page.ts';

/** Adds no route without a provider. */
export function providerSignInRoutes(app: FastifyInstance, parts: ConsoleParts): void {
  const { db, sharedNow, openId, log } = parts;
  const { provider, isHttps } = parts.signIn;
  if (openId === null || provider === null) return;
  const options = {
    config: { scope: 'public' as const, employers: 'none' as const },
    schema: { hide: true },
  };

  // Anyone who reaches the listener can call back, so the lines are limited.
  const logRefused = rateLimitedLines({
    line: (fields) => log.warn(fields, 'a sign-in was refused'),
    others: (count) => log.warn({ count }, 'other sign-ins were refused'),
  });
  const refuse = (request: FastifyRequest, reply: FastifyReply, refusal: SignInRefusal, next: string) => {
    const { cause, code } = refusal;
    logRefused({ route: `${request.method} ${request.routeOptions.url}`, cause, code });
    return sendPage(request, reply, parts, refusalPage(refusal, startAddress(provider.consoleUrl, next)));
  };

  app.get(START_PATH, options, async (request, reply) => {
    const next = nextOf(request.query);
    // Another site must not be able to sign a user in. A click on this page starts the sign-in.
    if (!isSameOrigin(request)) return sendPage(request, withReferrer(reply), parts, signInPage(parts, next));
    const begun = await openId.begin();
    if ('cause' in begun) return refuse(request, reply, begun, next);
    setPrivateCookie(reply, request, ATTEMPT, encode({ ...begun.attempt, next }), isHttps);
    return reply.redirect(begun.address, 303);
  });

  app.get(CALLBACK_PATH, options, async (request, reply) => {
    const started = decode(takePrivateCookie(reply, request, ATTEMPT, isHttps));
    const next = nextOf(started);
    if (started === null) return refuse(request, reply, { cause: 'stale', code: 'NO_ATTEMPT' }, next);
    const { search } = new URL(request.url, provider.consoleUrl);
    const finished = await openId.finish(search, started);
    if ('cause' in finished) return refuse(request, reply, finished, next);
    const { person, idToken } = finished;
    const secret = await transact(db, async (trx) => {
      const actor = personActor(person, person.name, null);
      return signIn(trx, person, { actor, now: await sharedNow(trx), earlier: sessionInCookie(request) });
    });
    log.info({ route: `GET ${CALLBACK_PATH}`, session: sessionId(secret) }, 'a user signed in');
    setSessionCookie(reply, request, secret, isHttps);
    setPrivateCookie(reply, request, ID_TOKEN, idToken, isHttps);
    // The browser omits the new session cookie until a page of this site opens the next one.
    const body = html`<p><a href=${next}>Open the console</a></p>`;
    return sendPage(request, reply.header('refresh', `0; url=${next}`), parts, { title: 'Signed in', body });
  });
}

/** Returns the page to open after a sign-out: of the provider if the person signed in there. */
export async function afterSignOut(
  { openId, signIn: { provider, isHttps } }: ConsoleParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  if (openId === null || provider === null || request.caller?.identity == null) return SIGN_IN_PATH;
  const idToken = takePrivateCookie(reply, request, ID_TOKEN, isHttps);
  return (await openId.logoutAddress(idToken)) ?? SIGN_IN_PATH;
}

type Started = SignInAttempt & { readonly next: string };

function encode(started: Started): string {
  return Buffer.from(JSON.stringify(started)).toString('base64url');
}

function decode(text: string | null): Started | null {
  try {
    const started = JSON.parse(Buffer.from(text ?? '', 'base64url').toString()) as Started;
    const isComplete = ['state', 'nonce', 'verifier'].every(
      (name) => typeof started[name as keyof Started] === 'string' && started[name as keyof Started] !== '',
    );
    return isComplete ? started : null;
  } catch {
    return null;
  }
}

const REFUSALS: Readonly<Record<SignInRefusal['cause'], { status: number; text: string }>> = {
  stale: {
    status: 400,
    text: 'This sign-in was already completed, has expired, or was started in another window.',
  },
  denied: { status: 403, text: 'The identity provider did not sign you in.' },
  invalid: {
    status: 502,
    text: 'The response of the identity provider is not valid. Ask an operator of this sidecar: the log has the cause.',
  },
  unavailable: { status: 503, text: 'The identity provider does not respond. Try again in a minute.' },
  'no-role': {
    status: 403,
    text: 'Your account has no role in this sidecar. Ask an administrator of your identity provider for one.',
  },
  'no-employer': {
    status: 403,
    text: 'Your account has no employer in this sidecar. Ask an administrator of your identity provider for one.',
  },
  'too-many-employers': {
    status: 403,
    text: `Your account has more than ${TOKEN_EMPLOYERS_MAX} employers. Ask an administrator of your identity provider to give you all of them (*).`,
  },
};

function refusalPage({ cause }: SignInRefusal, again: string): Page {
  const { status, text } = REFUSALS[cause];
  const body = html`
    <div class="sign-in card">
      <p class="problem" role="alert">${text}</p>
      <p><a class="button" href=${again}>Sign in again</a></p>
    </div>
  `;
  return { title: 'Sign-in failed', status, body };
}
