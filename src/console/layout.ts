/** The layout of every page, and its assets: a stylesheet, a script and htmx, all served by this listener. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import type { Scope } from '../security/scopes.ts';
import { acceptsGzip } from './compression.ts';
import { type Content, type Html, html } from './html.ts';

const require = createRequire(import.meta.url);
/** Next to `src` and `dist`, which are at the same depth. */
const FOLDER = new URL('../../assets/', import.meta.url);
/** An asset's name contains its hash, so browsers can cache it permanently. */
const CACHE_CONTROL = 'public, max-age=31536000, immutable';

const STYLE = assetOf('console', 'css', readFileSync(new URL('console.css', FOLDER)));
const SCRIPT = assetOf('console', 'js', readFileSync(new URL('console.js', FOLDER)));
const HTMX = assetOf('htmx', 'js', readFileSync(require.resolve('htmx.org/dist/htmx.min.js')));
/** In this order, because htmx loads parts as soon as it runs, and the console's script reports parts that fail. */
const SCRIPTS = [SCRIPT, HTMX];

function assetOf(name: string, kind: 'css' | 'js', bytes: Buffer) {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  const type = kind === 'css' ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
  return { path: `/assets/${name}.${hash}.${kind}`, type, bytes, zipped: gzipSync(bytes) };
}

/** Assets are public: they contain no data, and the sign-in page needs them. */
export function assetRoutes(app: FastifyInstance): void {
  for (const { path, type, bytes, zipped } of [STYLE, ...SCRIPTS]) {
    app.get(path, { config: { scope: 'public' }, schema: { hide: true } }, (request, reply) => {
      reply.headers({ 'cache-control': CACHE_CONTROL, vary: 'accept-encoding' }).type(type);
      return acceptsGzip(request) ? reply.header('content-encoding', 'gzip').send(zipped) : reply.send(bytes);
    });
  }
}

/**
 * `below`: other folders whose pages belong to the entry. `employers`: hidden from tokens limited to employers. `forOperators`:
 * hidden from people who run payroll, whose pages link what they need of it.
 */
type Link = {
  path: string;
  title: string;
  scope: Scope | 'any';
  below?: readonly string[];
  employers?: 'all';
  forOperators?: true;
};
const LINKS: readonly Link[] = [
  { path: '/', title: 'Home', scope: 'runs:read' },
  { path: '/runs', title: 'Runs', scope: 'runs:read' },
  { path: '/open-items', title: 'Open items', scope: 'runs:read' },
  { path: '/people', title: 'People', scope: 'ledger:read', below: ['/ledger', '/deductions', '/employees'] },
  { path: '/settings', title: 'Settings', scope: 'runs:read' },
  { path: '/events', title: 'Events', scope: 'events:read', forOperators: true },
  { path: '/census', title: 'Census', scope: 'census:read', forOperators: true },
  { path: '/changes', title: 'Changes', scope: 'changes:read', forOperators: true },
  { path: '/audit', title: 'Audit', scope: 'audit:read', forOperators: true },
  {
    ...{ path: '/operations', title: 'Operations', scope: 'any', below: ['/notifications'] },
    ...{ employers: 'all', forOperators: true },
  },
];

type User = {
  readonly name: string;
  readonly isLimited: boolean;
  readonly isSendingOff: boolean;
  readonly forgeryToken: string;
  readonly key: string;
  may(scope: Scope): boolean;
};

/** The content policy forbids inline styles. Refreshed parts keep open what the user opened. */
const HTMX_CONFIG = { includeIndicatorCSS: false, morphIgnore: ['data-htmx-powered', 'open'] };

/** Buttons to disable while their form is being sent, so that a double click sends it once. */
const DISABLED_WHILE_SENDING =
  'form.htmx-request button, form:has(.htmx-request) button, button.htmx-request';

/** `user`: null before signing in. `path`: the page's own. */
export function layout(
  { title, windowTitle, body }: { title: Content; windowTitle: string; body: Html },
  environment: 'sandbox' | 'live',
  user: User | null,
  path: string,
): Html {
  const attributes = user !== null && {
    'hx-headers:inherited': JSON.stringify({ 'x-csrf-token': user.forgeryToken }),
    'hx-disable:inherited': DISABLED_WHILE_SENDING,
    'data-user': user.key,
  };
  return html`
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content=${JSON.stringify(HTMX_CONFIG)} />
        <title>${windowTitle} · benefits-sidecar</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href=${STYLE.path} />
        ${SCRIPTS.map(({ path: src }) => html`<script src=${src} defer></script>`)}
      </head>
      <body ...${attributes}>
        <a class="skip" href="#main">Skip to content</a>
        <header class="top">
          <a class="brand" href="/">benefits-sidecar</a>
          <span class=${`environment ${environment}`}>${environment}</span>
          ${user !== null && navigation(user, path)}
        </header>
        ${user?.isSendingOff === true && html`<p class="pilot" role="note">Sending is off: this is a pilot. Nothing is sent to the benefits service.</p>`}
        <div id="message" class="message" role="alert" aria-live="assertive"></div>
        <p id="lost" class="lost" role="status" hidden>
          Connection lost. This page may be out of date; it reconnects automatically.
        </p>
        <main id="main" tabindex="-1">
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>
  `;
}

/** Returns the pages that a user may open and needs. */
function linksOf({ isLimited, may }: Pick<User, 'isLimited' | 'may'>): readonly Link[] {
  const isOperator = may('events:write') || !may('runs:write');
  return LINKS.filter(
    ({ scope, employers, forOperators }) =>
      (scope === 'any' || may(scope)) &&
      (employers === undefined || !isLimited) &&
      (forOperators === undefined || isOperator),
  );
}

/** Returns the page where a user without Home starts. Everyone may open their sessions. */
export function firstPageOf(user: Pick<User, 'isLimited' | 'may'>): string {
  return linksOf(user)[0]?.path ?? '/sessions';
}

function navigation(user: User, path: string): Html {
  const links = linksOf(user).map(
    (link) => html`<li><a href=${link.path} aria-current=${currentOf(link, path)}>${link.title}</a></li>`,
  );
  return html`
    <div class="around">
      <nav aria-label="Pages"><ul>${links}</ul></nav>
      ${searchForm()}
      <form class="user" hx-post="/sign-out">
        <a href="/help" aria-current=${path === '/help' ? 'page' : undefined}>Help</a>
        <a href="/sessions" title="Your access and sessions" aria-current=${path === '/sessions' ? 'page' : undefined}>${user.name}<span class="hidden-label">, sessions</span></a>
        <button type="submit" class="quiet">Sign out</button>
      </form>
    </div>
  `;
}

function currentOf({ path: folder, below = [] }: Link, path: string): 'page' | 'true' | undefined {
  if (folder === path) return 'page';
  return [folder, ...below].some((parent) => `${path}/`.startsWith(`${parent}/`)) ? 'true' : undefined;
}

/** The text is in no address: not in the history of the browser, nor in the logs of proxies. */
function searchForm(): Html {
  return html`
    <div class="search">
      <form role="search" aria-label="Search" method="post" action="/search" hx-post="/search" hx-target="#found" hx-trigger="submit, input changed delay:300ms from:#search-text">
        <label for="search-text" class="hidden-label">Name or ID</label>
        <input id="search-text" name="text" type="search" placeholder="Name or ID" maxlength="100" autocomplete="off" aria-controls="found" aria-keyshortcuts="/" />
      </form>
      <div id="found" class="found"></div>
    </div>
  `;
}
