/** The cookies of a sign-in: the session, a sign-in in progress, and what signs a person out at the provider. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sessionCookies } from '../api/auth.ts';
import { SESSION_MS } from '../security/sessions.ts';

/** A path on this listener. A second slash or a backslash would let browsers read a host name. */
const OWN_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,1000}$/;

export const SIGN_IN_PATH = '/sign-in';
export const SIGN_OUT_PATH = '/sign-out';

/** Returns the page to open after a sign-in. */
export function nextOf(query: unknown): string {
  const { next } = (query ?? {}) as { next?: unknown };
  return typeof next === 'string' && OWN_PATH.test(next) && !next.startsWith(SIGN_IN_PATH) ? next : '/';
}

export function setSessionCookie(
  reply: FastifyReply,
  request: FastifyRequest,
  secret: string,
  secure: boolean,
): FastifyReply {
  const name = sessionCookies(request)[secure ? 'secure' : 'plain'];
  const maxAge = SESSION_MS / 1_000;
  return clearSessionCookies(reply, request).setCookie(name, secret, {
    ...{ path: '/', httpOnly: true, sameSite: 'strict', secure, maxAge },
  });
}

export function clearSessionCookies(reply: FastifyReply, request: FastifyRequest): FastifyReply {
  const { plain, secure } = sessionCookies(request);
  const sent = request.cookies;
  if (sent[plain] !== undefined) reply.clearCookie(plain, { path: '/' });
  if (sent[secure] !== undefined) reply.clearCookie(secure, { path: '/', secure: true });
  return reply;
}

type PrivateCookie = {
  /** Contains no port and no prefix. */
  readonly name: string;
  readonly path: string;
  readonly sameSite: 'lax' | 'strict';
  readonly maxAgeSeconds: number;
};

/** Browsers drop longer cookies. */
const COOKIE_MAX_CHARACTERS = 3_800;

/**
 * State, nonce and verifier of a sign-in in progress. `Lax`, because the provider sends the browser back from another site,
 * where it omits `Strict` cookies.
 */
export const ATTEMPT: PrivateCookie = { name: 'attempt', path: '/', sameSite: 'lax', maxAgeSeconds: 10 * 60 };

/** The person's ID token, with which the provider recognizes whom to sign out. Browsers send it to this path only. */
export const ID_TOKEN: PrivateCookie = {
  name: 'id_token',
  path: SIGN_OUT_PATH,
  sameSite: 'strict',
  maxAgeSeconds: SESSION_MS / 1_000,
};

/** Sets the cookie, unless the value is too long for browsers. */
export function setPrivateCookie(
  reply: FastifyReply,
  request: FastifyRequest,
  cookie: PrivateCookie,
  value: string,
  secure: boolean,
): void {
  if (value.length > COOKIE_MAX_CHARACTERS) return;
  const { path, sameSite, maxAgeSeconds: maxAge } = cookie;
  const name = nameOf(request, cookie, secure);
  reply.setCookie(name, value, { path, sameSite, maxAge, httpOnly: true, secure });
}

/** Returns the value of the cookie and clears it; null without one. */
export function takePrivateCookie(
  reply: FastifyReply,
  request: FastifyRequest,
  cookie: PrivateCookie,
  secure: boolean,
): string | null {
  const name = nameOf(request, cookie, secure);
  const value = request.cookies[name];
  if (value === undefined) return null;
  reply.clearCookie(name, { path: cookie.path, secure });
  return value;
}

/** The prefixes keep other hosts of the domain from setting the cookie. `__Host-` requires the path of all pages. */
function nameOf(request: FastifyRequest, { name, path }: PrivateCookie, secure: boolean): string {
  const prefix = secure ? (path === '/' ? '__Host-' : '__Secure-') : '';
  return `${prefix}${sessionCookies(request).plain}_${name}`;
}
