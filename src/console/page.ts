/** Declares pages and what their buttons do, and sends them. Errors are pages or messages with the API's texts. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { BACKGROUND_HEADER, knowPerson, mayAlso, type RouteScope } from '../api/auth.ts';
import type { EmployerRule } from '../api/employers.ts';
import type { Operation } from '../api/operation.ts';
import { problemOf, refusalOf } from '../api/problem.ts';
import { logRefusal } from '../api/refusal-log.ts';
import type { ApiParts } from '../api/route.ts';
import type { Config } from '../config.ts';
import { dayAt } from '../database/time-zone.ts';
import type { OpenIdProvider } from '../security/openid.ts';
import type { Scope } from '../security/scopes.ts';
import { forgeryToken } from '../security/sessions.ts';
import type { Caller } from '../security/tokens.ts';
import { empty, problemBody } from './elements/facts.ts';
import { lacksScope } from './elements/format.ts';
import { address, runPath } from './elements/links.ts';
import { type Content, type Html, html, renderDocument, renderPart, textOf } from './html.ts';
import { layout } from './layout.ts';
import { showNames } from './names.ts';
import {
  type Api,
  createApi,
  type Input,
  type NamedInput,
  rejectionOf,
  sendArchive,
  sendCsv,
} from './performing.ts';
import { SIGN_IN_PATH } from './sign-in-cookies.ts';

/** The console has the parts of the operations that its pages perform. */
export type ConsoleParts = ApiParts & {
  /** The OpenID Connect provider of `signIn`, if it has one. */
  readonly openId: OpenIdProvider | null;
  /** Shown on every page, so that sandbox and live are not mixed up. */
  readonly environment: Config['environment'];
  /** Whether a pilot is stored, in which nothing is sent. Shown on every page. */
  readonly isSendingOff: () => Promise<boolean>;
  /** Returns a text that differs whenever a live page would. */
  readonly readMark: () => Promise<string>;
};

type Texts = Readonly<Record<string, string>>;

export type Visit = {
  readonly api: Api;
  readonly params: Texts;
  /** The parameters of the address: the last value of each name, without empty ones. */
  readonly query: Texts;
  readonly now: Date;
  readonly today: string;
  /** Returns the day of an instant, in the time zone of `today`. */
  dayAt(instant: string): string;
  /** The signed-in user; null on public pages. */
  readonly caller: Caller | null;
  /** Whether the user's token has this scope. Pages hide what it lacks. */
  may(scope: Scope): boolean;
  /** Whether this is a pilot: no text may promise that something is sent. */
  isSendingOff(): Promise<boolean>;
};

/** `title`: its names are shown on the page, and its ids in the browser's history. */
export type Page = { readonly title: Content; readonly body: Html; readonly status?: number };

export type Act = Visit & { readonly form: Texts };
/** The path that the browser opens next. */
export type Done = { readonly go: string };

/** The page after signing in in a new tab. */
export const SIGNED_IN_PATH = '/signed-in';

/** Pages load nothing from elsewhere and contain no inline script. */
const PAGE_POLICY = [
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

export function createConsole(app: FastifyInstance, parts: ConsoleParts) {
  // A page shows what the API returns to the caller, whose routes record actions and enforce the employers of a token.
  const options = (scope: RouteScope, employers: EmployerRule = 'none') => ({
    config: { scope, action: 'none' as const, employers },
    schema: { hide: true },
  });
  const measured = ({ scope, runWork }: Pick<Operation, 'scope' | 'runWork'>) => {
    const { config, schema } = options(scope);
    return { config: { ...config, ...(runWork && { runWork }) }, schema };
  };
  return {
    app,
    parts,
    options,
    /**
     * Declares a page: `GET url`. `show` may return another path to open instead. `employers`: `refused` for a page about
     * all employers.
     */
    page(
      url: string,
      scope: RouteScope,
      show: (visit: Visit) => Promise<Page | Done>,
      employers?: EmployerRule,
    ): void {
      app.get(url, options(scope, employers), async (request, reply) => {
        const visit = visitOf(request, parts);
        const shown = await show(visit);
        if ('go' in shown) return reply.redirect(shown.go, 303);
        const windowTitle = textOf(shown.title);
        await showNames([shown.title, shown.body], visit);
        const below = url.startsWith('/runs/:run_id/') ? visit.params.run_id : undefined;
        const body = html`${wayBack(visit.query.run ?? below)}${shown.body}`;
        return sendPage(request, reply, parts, { ...shown, body }, windowTitle);
      });
    },
    /** Declares a part of a page that loads separately, because it is slow or optional: `GET url`. */
    part(url: string, scope: RouteScope, show: (visit: Visit) => Promise<Html>): void {
      app.get(url, options(scope), async (request, reply) => {
        const visit = visitOf(request, parts);
        return sendResult(reply, await showNames(await show(visit), visit));
      });
    },
    /**
     * Declares a button that performs an operation with the fields of its form: `POST url`. `go` returns the path that the
     * browser opens next.
     */
    button<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
      url: string,
      op: Operation<P, Q, B, R>,
      go: (params: Texts, result: R) => string,
    ): void {
      app.post(url, options(op.scope), async (request, reply) => {
        const { api, params } = visitOf(request, parts);
        const body = textsOf(request.body) as NonNullable<Input<P, Q, B>['body']>;
        const result = await api.perform(op, op.body === undefined ? {} : { body });
        return sendResult(reply, { go: go(params, result) });
      });
    },
    /** Declares a download of a list's rows: `GET url`. `show` returns the list's parameters, and the name of the file. */
    csv<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
      url: string,
      op: Operation<P, Q, B, R>,
      show: (visit: Visit) => Promise<NamedInput<P, Q, B>>,
    ): void {
      app.get(url, measured(op), async (request, reply) =>
        sendCsv(request, reply, parts, op, await show(visitOf(request, parts))),
      );
    },
    /** Declares a download of several lists as one archive: `GET url`. `show` returns its name, and each list as for `csv`. */
    archive<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
      url: string,
      op: Operation<P, Q, B, R>,
      show: (visit: Visit) => Promise<{ filename: string; files: readonly NamedInput<P, Q, B>[] }>,
    ): void {
      app.get(url, measured(op), async (request, reply) =>
        sendArchive(request, reply, parts, op, await show(visitOf(request, parts))),
      );
    },
    /**
     * Declares what a button or form does: `POST url`. htmx sends the CSRF header, which the listener checks before it
     * reads the body. Afterward the browser opens `go`, or the form's target shows the returned part; null changes nothing.
     */
    action(
      url: string,
      scope: RouteScope,
      act: (act: Act) => Promise<Html | Done | null>,
      limit: { bodyLimit?: number } = {},
    ): void {
      app.post(url, { ...options(scope), ...limit }, async (request, reply) => {
        const visit = visitOf(request, parts);
        const done = await act({ ...visit, form: textsOf(request.body) });
        return sendResult(reply, done === null || 'go' in done ? done : await showNames(done, visit));
      });
    },
  };
}

export function visitOf(request: FastifyRequest, parts: ConsoleParts): Visit {
  const now = parts.now();
  return {
    api: createApi(request, parts),
    params: textsOf(request.params),
    query: { ...runOf(request), ...textsOf(request.query) },
    now,
    today: dayAt(parts.db, now),
    dayAt: (instant) => dayAt(parts.db, instant),
    caller: request.caller,
    may: (scope) => maySee(request.caller, scope),
    isSendingOff: parts.isSendingOff,
  };
}

/** Returns the run from whose page the user came, for a request that a page sends. */
function runOf({ headers }: FastifyRequest): { readonly run?: string } {
  const address = String(headers['hx-current-url']);
  const run = URL.canParse(address) ? new URL(address).searchParams.get('run') : null;
  return run === null || run === '' ? {} : { run };
}

/** Links back to a run, from its other pages and from pages that were opened from it. */
function wayBack(run: string | undefined): Html | null {
  return run === undefined
    ? null
    : html`<p class="on-screen"><a href=${runPath(run)}>Back to the run</a></p>`;
}

/** The scopes whose routes refuse tokens that are limited to employers. */
const OF_ALL_EMPLOYERS: ReadonlySet<Scope> = new Set(['events:read', 'events:write', 'metrics:read']);

function maySee(caller: Caller | null, scope: Scope): boolean {
  const isRefused = caller?.employers != null && OF_ALL_EMPLOYERS.has(scope);
  return !isRefused && mayAlso(caller, scope);
}

/** Reports whether the user may approve runs. A program may not. */
export function mayApprove({ may, caller }: Pick<Visit, 'may' | 'caller'>): boolean {
  return may('runs:approve') && caller !== null && caller.person !== null;
}

function textsOf(values: unknown): Texts {
  const texts = Object.entries((values ?? {}) as Record<string, unknown>).flatMap(([name, value]) => {
    const text = Array.isArray(value) ? value.at(-1) : value;
    return typeof text === 'string' && text !== '' ? [[name, text] as const] : [];
  });
  return Object.fromEntries(texts);
}

export async function sendPage(
  { caller, session, url }: FastifyRequest,
  reply: FastifyReply,
  { environment, isSendingOff }: ConsoleParts,
  { status = 200, ...page }: Page,
  windowTitle = textOf(page.title),
): Promise<FastifyReply> {
  const may = (scope: Scope) => maySee(caller, scope);
  const isSignedIn = caller !== null && session !== null;
  const user = isSignedIn
    ? {
        name: caller.name,
        key: keyOf(caller),
        isLimited: caller.employers !== null,
        forgeryToken: forgeryToken(session),
        // The page of an error is shown without a database, too.
        isSendingOff: await isSendingOff().catch(() => false),
        may,
      }
    : null;
  const document = renderDocument(
    layout({ ...page, windowTitle }, environment, user, url.replace(/\?.*$/s, '')),
  );
  return sendHtml(reply.code(status), document);
}

/** Identifies a person or token across sessions. */
export function keyOf({ tokenId, identity }: Caller): string {
  return JSON.stringify(tokenId ?? identity);
}

/**
 * Opens another page, or sends a part of a page and clears an earlier error message, which a part that refreshes leaves:
 * the user has not acted on it. Null leaves the page as it is.
 */
export function sendResult(reply: FastifyReply, result: Html | Done | null): FastifyReply {
  if (result === null) return reply.code(204).send();
  if ('go' in result) {
    // The page of a run needs no way back to one.
    const path = result.go.startsWith('/runs/') ? result.go : address(result.go, runOf(reply.request));
    return reply.code(204).header('hx-redirect', path).send();
  }
  const isBackground = reply.request.headers[BACKGROUND_HEADER] !== undefined;
  const noMessage = html`<div id="message" hx-swap-oob="innerHTML"></div>`;
  return sendHtml(reply, renderPart(result) + (isBackground ? '' : renderPart(noMessage)));
}

function sendHtml(reply: FastifyReply, text: string): FastifyReply {
  return reply.header('content-security-policy', PAGE_POLICY).type('text/html; charset=utf-8').send(text);
}

/** Sends an error as a page, or as a message on the current page. The API has logged what it rejected. */
export async function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ConsoleParts,
  error: unknown,
): Promise<FastifyReply> {
  const refusal = refusalOf(error);
  if (rejectionOf(error) === undefined) logRefusal(parts, error, refusal, request);
  const [scope] = refusal.lacks;
  const problem = {
    ...problemOf(refusal),
    ...(scope !== undefined && { detail: lacksScope('To do this', scope) }),
  };
  const { status, title } = problem;
  const retryAfter = refusal.headers['retry-after'];
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  const byHtmx = request.headers['hx-request'] === 'true';
  // An event stream cannot be redirected to the sign-in page.
  if (status === 401 && request.headers.accept === 'text/event-stream') return reply.code(401).send();
  const next = request.method === 'GET' ? request.url : '/';
  if (status === 401 && !byHtmx)
    return reply.redirect(`${SIGN_IN_PATH}?next=${encodeURIComponent(next)}`, 303);
  if (!byHtmx) {
    const body = html`${problemBody(problem)}<p><a href="/">Back to Home</a></p>`;
    return sendPage(request, reply, parts, { title: status === 404 ? 'Not found' : title, status, body });
  }
  const message =
    status === 401
      ? signedOut
      : html`<div class="problem"><strong>${title}</strong>${problemBody(problem)}</div>`;
  const target = { 'hx-retarget': '#message', 'hx-reswap': 'innerHTML show:top', 'hx-reselect': '.problem' };
  return sendHtml(reply.code(status).headers(target), renderPart(message));
}

/** The page stays with what was typed. The script sends the form again once the same person has signed in. */
const signedOut = html`
  <div class="problem signed-out">
    <strong>Your session has ended.</strong>
    <p>This page stays as it is. <a href=${`${SIGN_IN_PATH}?next=${encodeURIComponent(SIGNED_IN_PATH)}`} target="_blank">Sign in in a new tab</a>, then return to this one.</p>
  </div>
`;

/** Sends the page for an unknown address; returns null for programs and users who are not signed in. */
export async function sendUnknown(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ConsoleParts,
): Promise<FastifyReply | null> {
  const { method, url, headers } = request;
  const isPage = method === 'GET' && !/^\/v1(?:[/?]|$)/.test(url) && headers.accept?.includes('text/html');
  if (isPage !== true || !(await knowPerson(request, parts))) return null;
  const advice = html`<p>Check the address, or use the search above.</p>`;
  const body = empty('There is no page at this address', advice);
  return sendPage(request, reply, parts, { title: 'Page not found', status: 404, body });
}
