/** What is the same on every page. */
import type { Scope } from '../security/tokens.ts';
import { SCRIPTS, STYLES } from './assets.ts';
import { type Html, html } from './html.ts';

/** The places of the navigation; a page belongs to one. */
export type Place = 'overview' | 'events' | 'ledger' | 'runs' | 'census' | 'changes' | 'sessions' | 'none';

type Link = { place: Place; path: string; title: string; scope: Scope | 'any' };
const LINKS: readonly Link[] = [
  { place: 'overview', path: '/', title: 'Overview', scope: 'any' },
  { place: 'events', path: '/events', title: 'Events', scope: 'events:read' },
  { place: 'ledger', path: '/ledger', title: 'Ledger', scope: 'ledger:read' },
  { place: 'runs', path: '/runs', title: 'Payroll runs', scope: 'runs:read' },
  { place: 'census', path: '/census', title: 'Census', scope: 'census:read' },
  { place: 'changes', path: '/changes', title: 'Changes', scope: 'changes:read' },
];

type Person = {
  readonly name: string;
  readonly forgeryToken: string;
  may(scope: Scope): boolean;
};

/**
 * htmx evaluates nothing and adds no style of its own: the policy of the pages would stop it. A part that refreshes
 * leaves open what a person has opened.
 */
const HTMX_CONFIG = JSON.stringify({
  includeIndicatorCSS: false,
  morphIgnore: ['data-htmx-powered', 'open'],
});

/**
 * While a form or a button posts, its buttons can't be pressed again: a double click does nothing twice. htmx marks
 * what posts with the class.
 */
const PRESSED_ONCE = 'form.htmx-request button, form:has(.htmx-request) button, button.htmx-request';

export function layout({
  title,
  place,
  body,
  environment,
  person,
  path,
}: {
  title: string;
  place: Place;
  body: Html;
  environment: 'sandbox' | 'live';
  person: Person | null;
  path: string;
}): Html {
  const headers =
    person === null
      ? {}
      : {
          'hx-headers:inherited': JSON.stringify({ 'x-csrf-token': person.forgeryToken }),
          'hx-disable:inherited': PRESSED_ONCE,
        };
  return html`
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content=${HTMX_CONFIG} />
        <title>${title} · benefits-sidecar</title>
        <link rel="icon" href="data:," />
        ${STYLES.map((href) => html`<link rel="stylesheet" href=${href} />`)}
        ${SCRIPTS.map((src) => html`<script src=${src} defer></script>`)}
      </head>
      <body ...${headers}>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href="/">benefits-sidecar</a>
          <span class=${`environment ${environment}`}>${environment}</span>
          ${person !== null && navigation(place, person, path)}
        </header>
        <div id="said" class="said" role="alert" aria-live="assertive"></div>
        <p id="lost" class="lost" role="status" hidden>
          The connection is lost: what you see may be old. It is tried again by itself.
        </p>
        <main id="main" tabindex="-1">
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>
  `;
}

function navigation(place: Place, { name, may }: Person, path: string): Html {
  return html`
    <div class="around">
      <nav aria-label="Pages">
        <ul>
          ${LINKS.filter(({ scope }) => scope === 'any' || may(scope)).map(
            (link) => html`
              <li>
                <a href=${link.path} aria-current=${currentOf(link, place, path)}>${link.title}</a>
              </li>
            `,
          )}
        </ul>
      </nav>
      <form class="person" hx-post="/sign-out">
        <span class="name">${name}</span>
        <a href="/sessions" aria-current=${place === 'sessions' ? 'page' : undefined}>Sessions</a>
        <button type="submit" class="quiet">Sign out</button>
      </form>
    </div>
  `;
}

function currentOf(link: Link, place: Place, path: string): 'page' | 'true' | undefined {
  if (link.place !== place) return undefined;
  return link.path === path ? 'page' : 'true';
}
