/** Declares pages and what their buttons do. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mayAlso, type RouteScope } from '../api/auth.ts';
import type { Client } from '../client.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Db } from '../database/tables.ts';
import { forgeryToken } from '../security/sessions.ts';
import type { Scope } from '../security/tokens.ts';
import type { Log } from '../telemetry/log.ts';
import { createApi } from './api-client.ts';
import { type Html, html, renderDocument, renderPart } from './html.ts';
import { layout, type Place } from './layout.ts';

export type ConsoleParts = {
  /** For sessions; all other data comes from the API. */
  readonly db: Db;
  readonly now: Clock;
  readonly log: Log;
  /** Ends the process: the storage failed in a way that a retry cannot fix. */
  readonly onFatal: (error: unknown) => void;
  /** The configured `API_TOKEN`, which can sign in too. */
  readonly firstToken: string | null;
  /** Shown on every page, so that sandbox and live are not mixed up. */
  readonly environment: Config['environment'];
  /** Reads counts that change whenever a live page would. The database's size changes without that. */
  readonly readActivity: () => Promise<{ readonly database_bytes: number }>;
};

/** A request for a page, by its user. */
export type Visit = {
  readonly request: FastifyRequest;
  readonly api: Client;
  readonly params: Readonly<Record<string, string>>;
  /** The parameters of the address: the last value of each name, without empty ones. */
  readonly query: Readonly<Record<string, string>>;
  readonly now: Date;
  /** Whether the user's token has this scope. Pages hide what it lacks. */
  may(scope: Scope): boolean;
};

export type Page = {
  readonly title: string;
  readonly place: Place;
  readonly body: Html;
  readonly status?: number;
};

/** A posted form. */
export type Act = Visit & { readonly form: Readonly<Record<string, string>> };
/** The path that the browser opens next. */
export type Done = { readonly go: string };

/** Pages load nothing from elsewhere and contain no inline script. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Declares a page: `GET url`. */
export function page(
  app: FastifyInstance,
  parts: ConsoleParts,
  { url, scope }: { url: string; scope: RouteScope },
  show: (visit: Visit) => Promise<Page>,
): void {
  app.get(url, { config: { scope }, schema: { hide: true } }, async (request, reply) =>
    sendPage(request, reply, parts, await show(visitOf(app, request, parts))),
  );
}

/** Declares a part of a page that loads separately, because it is slow or optional: `GET url`. */
export function part(
  app: FastifyInstance,
  parts: ConsoleParts,
  { url, scope }: { url: string; scope: RouteScope },
  show: (visit: Visit) => Promise<Html>,
): void {
  app.get(url, { config: { scope }, schema: { hide: true } }, async (request, reply) =>
    sendPart(reply, await show(visitOf(app, request, parts))),
  );
}

/**
 * Declares what a button or form does: `POST url`. htmx sends the CSRF header, which the listener checks before it reads
 * the body. Afterward the browser opens `go`, or the form's target shows the returned part.
 */
export function action(
  app: FastifyInstance,
  parts: ConsoleParts,
  { url, scope, bodyLimit }: { url: string; scope: RouteScope; bodyLimit?: number },
  act: (given: Act) => Promise<Html | Done>,
): void {
  const limit = bodyLimit === undefined ? {} : { bodyLimit };
  app.post(url, { config: { scope }, schema: { hide: true }, ...limit }, async (request, reply) => {
    const did = await act({ ...visitOf(app, request, parts), form: textsOf(request.body) });
    if ('go' in did) return reply.code(204).header('hx-redirect', did.go).send();
    return sendPart(reply, did);
  });
}

export function visitOf(app: FastifyInstance, request: FastifyRequest, { now }: ConsoleParts): Visit {
  return {
    request,
    api: createApi(app, request),
    params: textsOf(request.params),
    query: textsOf(request.query),
    now: now(),
    may: (scope) => mayAlso(request.caller, scope),
  };
}

export function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { environment }: ConsoleParts,
  { status = 200, ...page }: Page,
): FastifyReply {
  const { caller, session } = request;
  const user =
    caller === null || session === null
      ? null
      : {
          name: caller.name,
          forgeryToken: forgeryToken(session),
          may: (scope: Scope) => mayAlso(caller, scope),
        };
  return reply
    .code(status)
    .header('content-security-policy', PAGE_POLICY)
    .type('text/html; charset=utf-8')
    .send(renderDocument(layout({ ...page, environment, user, path: request.url.replace(/\?.*$/s, '') })));
}

/** Sends a part of a page, and clears an earlier error message. */
export function sendPart(reply: FastifyReply, part: Html): FastifyReply {
  const noMessage = html`<div id="message" hx-swap-oob="innerHTML"></div>`;
  return reply
    .header('content-security-policy', PAGE_POLICY)
    .type('text/html; charset=utf-8')
    .send(renderPart(part) + renderPart(noMessage));
}

function textsOf(given: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries((given ?? {}) as Record<string, unknown>).flatMap(([name, value]): [string, string][] => {
      const text = Array.isArray(value) ? value.at(-1) : value;
      return typeof text === 'string' && text !== '' ? [[name, text]] : [];
    }),
  );
}
