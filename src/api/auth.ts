/** Authentication and scopes. Every route declares its scope, and a refusal is sent before any lookup. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Elapsed } from '../clock.ts';
import type { SharedNow } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import {
  type Acting,
  type Action,
  type Actor,
  personActor,
  recordAll,
  tokenActor,
} from '../security/audit.ts';
import { allows, type Scope } from '../security/scopes.ts';
import {
  isForgeryToken,
  noteUse,
  type SessionRules,
  sessionCaller,
  sessionId,
} from '../security/sessions.ts';
import { authenticate, type Caller, createFailedAttempts } from '../security/tokens.ts';
import { invalid, Refusal } from './problem.ts';

/**
 * `public`: without a token. `any`: any valid token, also as the password of HTTP Basic. `self`: any, without Basic. Of a list,
 * one scope is enough.
 */
export type RouteScope = Scope | readonly Scope[] | 'public' | 'any' | 'self';

declare module 'fastify' {
  interface FastifyContextConfig {
    scope?: RouteScope;
  }
  interface FastifyRequest {
    /** Null on public routes and for requests that are not authenticated. */
    caller: Caller | null;
    /** The cookie of a console session. Null if the request has a token. */
    session: string | null;
  }
}

/** The names contain the port: browsers keep cookies by host, and sandbox and live may be two ports of one machine. */
export function sessionCookies({ headers }: FastifyRequest): { plain: string; secure: string } {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1] ?? 'default';
  const plain = `benefits_sidecar_session_${port}`;
  // Browsers accept the prefix only from the host itself, over https, for all paths.
  return { plain, secure: `__Host-${plain}` };
}

/** Marks automatic requests of a page that refreshes. They do not extend a session. */
export const BACKGROUND_HEADER = 'x-background';

export const FORGERY_HEADER = 'x-csrf-token';

const REALM = 'realm="benefits-sidecar"';

export type FailedAttempt = ReturnType<typeof createFailedAttempt>;

/** Every token is still checked, so a valid one from the same proxy is never refused. */
export function createFailedAttempt(elapsed: Elapsed) {
  const attempts = createFailedAttempts(elapsed);
  /** Returns the refusal of a failed attempt: 401, or 429 when the address has too many of them. */
  return ({ ip }: FastifyRequest, unauthorized: Refusal): Refusal => {
    const seconds = attempts.failed(ip);
    if (seconds === null) return unauthorized;
    return new Refusal('TOO_MANY_ATTEMPTS', unauthorized.message, {
      headers: { ...unauthorized.headers, 'retry-after': String(seconds) },
    });
  };
}

type Identities = SessionRules & { db: Db; sharedNow: SharedNow };

/** Returns the hook that authenticates a request before its body is read. Requests to an unknown path pass, and get a 404. */
export function createAuthorize(identities: Identities, failedAttempt: FailedAttempt) {
  const { db, sharedNow, firstToken } = identities;
  return async (request: FastifyRequest, _reply: FastifyReply): Promise<void> => {
    const { headers, routeOptions } = request;
    const { scope } = routeOptions.config;
    if (request.is404 || scope === 'public') return;
    const token = tokenOf(headers.authorization, scope === 'any');
    const person = token === null ? await personOf(request, identities) : null;
    const session = person?.session ?? null;
    const caller = token === null ? person?.caller : await authenticate(db, token, sharedNow, firstToken);
    if (caller === null || caller === undefined) {
      const refusal = unauthorized(token !== null, scope === 'any');
      throw token === null ? refusal : failedAttempt(request, refusal);
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (session !== null && !isRead) assertOwnPage(request, session);
    const isByPerson = headers[BACKGROUND_HEADER] === undefined && headers.accept !== 'text/event-stream';
    // A failed write, because the database is busy or full, must not block reads.
    if (session !== null && isByPerson) void noteUse(db, session, sharedNow).catch(() => {});
    request.session = session;
    request.caller = caller;
    assertScope(caller, scope);
  };
}

/** Returns the scopes of which a caller needs one; null for a route that needs none. */
export function scopesOf(scope: RouteScope): readonly Scope[] | null {
  if (scope === 'public' || scope === 'any' || scope === 'self') return null;
  return typeof scope === 'string' ? [scope] : scope;
}

/** Throws FORBIDDEN if the caller may not call a route or an operation of this scope. */
export function assertScope(caller: Caller | null, routeScope: RouteScope | undefined): void {
  // A route without a scope stops the start. If one is reached anyway, refuse every caller.
  const scopes = routeScope === undefined ? [] : scopesOf(routeScope);
  if (scopes !== null && !scopes.some((scope) => mayAlso(caller, scope))) throw forbidden(scopes);
}

/** Sets the caller of a request to an unknown path, which the hook does not authenticate, from its console session. */
export async function knowPerson(request: FastifyRequest, identities: Identities): Promise<boolean> {
  const person = await personOf(request, identities);
  if (person === null) return false;
  Object.assign(request, person);
  return true;
}

async function personOf(request: FastifyRequest, { db, sharedNow, ...rules }: Identities) {
  const session = request.headers.authorization === undefined ? sessionInCookie(request) : null;
  const caller = session === null ? null : await sessionCaller(db, session, sharedNow, rules);
  return caller === null ? null : { session, caller };
}

/**
 * Basic, with the token as its password, counts on the reference pages only, because a browser cannot send a bearer token for
 * an address that is typed in. Elsewhere another site could start a request, to which the browser adds Basic credentials.
 */
function tokenOf(header: string | undefined, basicToo: boolean): string | null {
  const [, scheme, credentials] = /^(\S+) +(\S+) *$/.exec(header ?? '') ?? [];
  if (scheme === undefined || credentials === undefined) return null;
  if (scheme.toLowerCase() === 'bearer') return credentials;
  if (!basicToo || scheme.toLowerCase() !== 'basic') return null;
  const pair = Buffer.from(credentials, 'base64').toString('utf8');
  return pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : null;
}

/** Returns the secret of the session in the request's cookie, whether or not it is valid. */
export function sessionInCookie(request: FastifyRequest): string | null {
  const { headers, server } = request;
  if (headers.cookie === undefined) return null;
  const { plain, secure } = sessionCookies(request);
  const cookies = server.parseCookie(headers.cookie);
  return cookies[secure] ?? cookies[plain] ?? null;
}

/** Browsers always send the cookie, so a request that changes something must come from a console page. */
function assertOwnPage({ headers }: FastifyRequest, session: string): void {
  if (isForgeryToken(session, headers[FORGERY_HEADER])) return;
  throw new Refusal(
    'FORBIDDEN',
    `With a console session, this request requires the header ${FORGERY_HEADER} from a console page.`,
  );
}

function unauthorized(hasToken: boolean, basicToo: boolean): Refusal {
  const bearer = hasToken ? `Bearer ${REALM}, error="invalid_token"` : `Bearer ${REALM}`;
  const detail = hasToken
    ? 'The token is unknown, expired or revoked.'
    : 'Send a token in the header "Authorization: Bearer TOKEN". "benefits-sidecar token create" creates one.';
  return new Refusal('UNAUTHORIZED', detail, {
    headers: { 'www-authenticate': basicToo ? `${bearer}, Basic ${REALM}, charset="UTF-8"` : bearer },
  });
}

function forbidden(scopes: readonly Scope[]): Refusal {
  return new Refusal('FORBIDDEN', `This operation requires a token with the scope ${scopes.join(' or ')}.`, {
    lacks: scopes,
    headers: {
      'www-authenticate': `Bearer ${REALM}, error="insufficient_scope", scope="${scopes.join(' ')}"`,
    },
  });
}

/** Throws a 403 if the token lacks a scope that only some responses of a route require. */
export function alsoNeeds({ caller }: Pick<Called, 'caller'>, scope: Scope): void {
  if (!mayAlso(caller, scope)) throw forbidden([scope]);
}

export function mayAlso(caller: Caller | null, scope: Scope): boolean {
  return caller !== null && allows(caller.scopes, scope);
}

/** What requests and calls of operations say about who makes them. */
export type Called = Pick<FastifyRequest, 'caller' | 'session'>;

/** Returns the fields that name the caller in the log: a token by its name, a person by the session. */
export function by({ caller, session }: Called): { token?: string; session?: string } {
  if (caller === null) return {};
  if (caller.identity === null) return { token: caller.name };
  return session === null ? {} : { session: sessionId(session) };
}

/** The header in which a program names the user that it acts for. Audit records keep it as claimed. */
export const ACTING_USER_HEADER = 'x-acting-user';

/** Long enough for an e-mail address or a name. */
const ACTING_USER_MAX_CHARACTERS = 255;

/** Returns the actor of a request for its audit record. Throws 400 if its `X-Acting-User` is too long. */
export function actorOf({ caller, headers }: FastifyRequest): Actor {
  if (caller === null) throw new Refusal('INTERNAL', '');
  const header = [headers[ACTING_USER_HEADER]].flat()[0];
  // Node decodes headers as Latin-1: this restores the bytes that were sent.
  const actingUser = header === undefined ? '' : Buffer.from(header, 'latin1').toString('utf8').trim();
  if (actingUser.length > ACTING_USER_MAX_CHARACTERS) {
    const rule = `must have at most ${ACTING_USER_MAX_CHARACTERS} characters`;
    throw invalid([{ path: 'X-Acting-User', rule }]);
  }
  return actorOfCaller(caller, actingUser === '' ? null : actingUser);
}

export function actorOfCaller({ identity, tokenId, name }: Caller, actingUser: string | null): Actor {
  return identity === null
    ? tokenActor({ tokenId: tokenId ?? '', name }, actingUser)
    : personActor(identity, name, actingUser);
}

/** A request, or a call of an operation. */
type Acted = FastifyRequest | { actor: () => Actor };

/** Returns who acts, and when, for the audit record of a request or a call. */
export function actingIn(request: Acted, now: Date): Acting {
  const actor = 'actor' in request ? request.actor() : actorOf(request);
  return { actor, now: now.toISOString() };
}

type PersonalData = {
  action: Extract<Action, `${string}.read`>;
  resource: string;
  employer?: string;
  /** The employee whose data it is. */
  employee?: string;
};

/** Records that the caller is about to see personal data. If this throws, nothing may be shown. */
export async function writeReadDown(
  { db, now }: { db: Db; now: Clock },
  request: Acted,
  ...reads: readonly PersonalData[]
): Promise<void> {
  const acting = actingIn(request, now());
  await transact(db, (trx) =>
    recordAll(
      trx,
      reads.map((read) => ({ ...acting, ...read })),
    ),
  );
}
