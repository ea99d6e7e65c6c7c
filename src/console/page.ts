/** Declares pages and what their buttons do. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mayAlso, type RouteScope } from '../api/auth.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Db } from '../database/tables.ts';
import { forgeryToken } from '../security/sessions.ts';
import type { Scope } from '../security/tokens.ts';
import type { Log } from '../telemetry/log.ts';
import { type Api, createApi } from './api-client.ts';
import { type Html, html, renderDocument, renderPart } from './html.ts';
import { layout } from './layout.ts';

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

type Texts = Readonly<Record<string, string>>;

/** A request for a page, by its user. */
export type Visit = {
  readonly api: Api;
  readonly params: Texts;
  /** The parameters of the address: the last value of each name, without empty ones. */
  readonly query: Texts;
  readonly now: Date;
  readonly today: string;
  /** Whether the user's token has this scope. Pages hide what it lacks. */
  may(scope: Scope): boolean;
};

export type Page = { readonly title: string; readonly body: Html; readonly status?: number };

/** A posted form. */
export type Act = Visit & { readonly form: Texts };
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

export type Console = ReturnType<typeof createConsole>;

/** Returns the functions that declare the console's routes. */
export function createConsole(app: FastifyInstance, parts: ConsoleParts) {
  const options = (scope: RouteScope) => ({ config: { scope }, schema: { hide: true } });
  return {
    app,
    parts,
    options,
    /** Declares a page: `GET url`. `show` may return another path to open instead. */
    page(url: string, scope: RouteScope, show: (visit: Visit) => Promise<Page | Done>): void {
      app.get(url, options(scope), async (request, reply) => {
        const shown = await show(visitOf(app, request, parts));
        return 'go' in shown ? reply.redirect(shown.go, 303) : sendPage(request, reply, parts, shown);
      });
    },
    /** Declares a part of a page that loads separately, because it is slow or optional: `GET url`. */
    part(url: string, scope: RouteScope, show: (visit: Visit) => Promise<Html>): void {
      app.get(url, options(scope), async (request, reply) =>
        sendResult(reply, await show(visitOf(app, request, parts))),
      );
    },
    /**
     * Declares what a button or form does: `POST url`. htmx sends the CSRF header, which the listener checks before it
     * reads the body. Afterward the browser opens `go`, or the form's target shows the returned part.
     */
    action(
      url: string,
      scope: RouteScope,
      act: (given: Act) => Promise<Html | Done>,
      limit: { bodyLimit?: number } = {},
    ): void {
      app.post(url, { ...options(scope), ...limit }, async (request, reply) =>
        sendResult(reply, await act({ ...visitOf(app, request, parts), form: textsOf(request.body) })),
      );
    },
  };
}

export function visitOf(app: FastifyInstance, request: FastifyRequest, parts: ConsoleParts): Visit {
  const now = parts.now();
  return {
    api: createApi(app, request),
    params: textsOf(request.params),
    query: textsOf(request.query),
    now,
    today: now.toISOString().slice(0, 10),
    may: (scope) => mayAlso(request.caller, scope),
  };
}

export function sendPage(
  { caller, session, url }: FastifyRequest,
  reply: FastifyReply,
  { environment }: ConsoleParts,
  { status = 200, ...page }: Page,
): FastifyReply {
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
    .send(renderDocument(layout(page, environment, user, url.replace(/\?.*$/s, ''))));
}

/** Opens another page, or sends a part of a page and clears an earlier error message. */
export function sendResult(reply: FastifyReply, result: Html | Done): FastifyReply {
  if ('go' in result) return reply.code(204).header('hx-redirect', result.go).send();
  const noMessage = html`<div id="message" hx-swap-oob="innerHTML"></div>`;
  return reply
    .header('content-security-policy', PAGE_POLICY)
    .type('text/html; charset=utf-8')
    .send(renderPart(result) + renderPart(noMessage));
}

function textsOf(given: unknown): Texts {
  return Object.fromEntries(
    Object.entries((given ?? {}) as Record<string, unknown>).flatMap(([name, value]): [string, string][] => {
      const text = Array.isArray(value) ? value.at(-1) : value;
      return typeof text === 'string' && text !== '' ? [[name, text]] : [];
    }),
  );
}
