/** How a page and a button are declared: where, who may, and what. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mayAlso, type RouteScope } from '../api/auth.ts';
import { forgeryToken } from '../security/sessions.ts';
import type { Scope } from '../security/tokens.ts';
import { type Html, html, renderDocument, renderPart } from './html.ts';
import { layout, type Place } from './layout.ts';
import { createOwnApi, type OwnApi } from './own-api.ts';
import type { ConsoleParts } from './parts.ts';

/** Who looks at what. */
export type Visit = {
  readonly request: FastifyRequest;
  readonly api: OwnApi;
  readonly params: Readonly<Record<string, string>>;
  /** What the address says after the `?`; of a name that stands there twice the last one; what is empty is absent. */
  readonly query: Readonly<Record<string, string>>;
  readonly now: Date;
  /** The address by which the person came: `http://127.0.0.1:8081`. For commands to copy. */
  readonly origin: string;
  /** Whether the person's token has this scope: what it lacks is not shown. */
  may(scope: Scope): boolean;
};

export type Page = {
  readonly title: string;
  readonly place: Place;
  readonly body: Html;
  readonly status?: number;
};

/** `form`: the fields that were sent. */
export type Act = Visit & { readonly form: Readonly<Record<string, string>> };
/** Where the person is taken afterwards: a path of ours. */
export type Done = { readonly go: string };

/** Pages hold payroll's data and nothing from elsewhere; no script stands in them. */
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

/** Declares a page: `GET url`. Its scope is that of what it shows. */
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

/** Declares a part of a page that is fetched by itself, because it takes longer or is asked for: `GET url`. */
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
 * Declares what a button or a form does: `POST url`, sent by htmx with the header against forged requests, which the
 * listener checks before anything is read. Afterwards the browser goes where `act` says, or the form's target gets the
 * part of a page that it answers. `bodyLimit`: bytes of a form that may be large.
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
    api: createOwnApi(app, request),
    params: textsOf(request.params),
    query: textsOf(request.query),
    now: now(),
    origin: originOf(request),
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
  const person =
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
    .send(renderDocument(layout({ ...page, environment, person, path: request.url.replace(/\?.*$/s, '') })));
}

/** Sends a part of a page, which the element that asked puts in its target. What was refused before is no longer true. */
export function sendPart(reply: FastifyReply, part: Html): FastifyReply {
  const nothingSaid = html`<div id="said" hx-swap-oob="innerHTML"></div>`;
  return reply
    .header('content-security-policy', PAGE_POLICY)
    .type('text/html; charset=utf-8')
    .send(renderPart(part) + renderPart(nothingSaid));
}

/** A name that is no plain host is shown to nobody as one. */
const HOST = /^[\w.-]+(:\d+)?$|^\[[\da-fA-F:]+\](:\d+)?$/;

/** A proxy with TLS before the listener says so in its header. */
function originOf({ headers }: FastifyRequest): string {
  const { host = '' } = headers;
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
  return HOST.test(host) ? `${scheme}://${host}` : 'http://127.0.0.1:8081';
}

function textsOf(given: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries((given ?? {}) as Record<string, unknown>).flatMap(([name, value]): [string, string][] => {
      const text = Array.isArray(value) ? value.at(-1) : value;
      return typeof text === 'string' && text !== '' ? [[name, text]] : [];
    }),
  );
}
