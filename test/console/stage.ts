/** The console on a real listener and database, opened in a real browser. */
import { readFileSync } from 'node:fs';
import type { Browser, Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import type { ApiParts } from '../../src/api/route.ts';
import { addConsole } from '../../src/console/console.ts';
import type { ConsoleParts } from '../../src/console/page.ts';
import { readMark } from '../../src/operations/activity.ts';
import { isSendingOff } from '../../src/outbox/pilot.ts';
import { createAgent } from '../../src/outgoing.ts';
import { NO_PROXY } from '../../src/proxy-config.ts';
import { createOpenIdProvider } from '../../src/security/openid.ts';
import { FIRST_TOKEN, type Running, start } from '../api/start.ts';
import { launchBrowser, WITHOUT_PIXELS } from '../support/browser.ts';

/** If rendered as markup, it would change the page's title. */
export const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

/** Far longer than a page needs on a busy machine. */
const PATIENCE_MS = 120_000;
/** The longest time for a response of the OpenID Connect provider. */
const PROVIDER_SECONDS = 20;

export type Stage = Running & {
  base: string;
  /** Opens a page without a session. Errors in the browser's console fail the test. */
  visit(options?: VisitOptions): Promise<Page>;
  /** Opens a page with a session; by default with the first token, which has all scopes. */
  signedIn(options?: SignedInOptions): Promise<Page>;
  /** Begins a session without a browser, and returns its cookie as a header. */
  cookie(token?: string): Promise<string>;
  /** Returns what the server sends for a path with a session, without a browser. */
  html(path: string, token?: string): Promise<string>;
  /** Opens a path with a session. */
  opened(path: string, options?: SignedInOptions): Promise<Page>;
};
type SignedInOptions = VisitOptions & { token?: string };
type VisitOptions = {
  scheme?: 'light' | 'dark';
  width?: number;
  /** The browser’s time zone, such as `America/New_York`. UTC by default. */
  zone?: string;
  /** Expects responses other than 2xx, which the browser's console reports. */
  refusals?: boolean;
  /** Another origin that the page may open. */
  elsewhere?: string;
};

let browser: Promise<Browser> | null = null;
t.teardown(async () => (await browser)?.close());

/** The tests of a file share one browser, with separate contexts. */
function theBrowser(): Promise<Browser> {
  browser ??= launchBrowser(WITHOUT_PIXELS);
  return browser;
}

function consolePartsOf(parts: ApiParts): ConsoleParts {
  const { provider } = parts.signIn;
  const openId =
    provider === null
      ? null
      : createOpenIdProvider(provider, parts.elapsed, {
          agent: createAgent(NO_PROXY),
          responseSeconds: PROVIDER_SECONDS,
        });
  const { db } = parts;
  const read = { isSendingOff: () => isSendingOff(db), readMark: () => readMark(db) };
  return { ...parts, ...read, openId, environment: 'sandbox' };
}

export async function openConsole(t: Test, replaced: Partial<ApiParts> = {}, port = 0): Promise<Stage> {
  const running = await start(t, replaced, (app, parts) => addConsole(app, consolePartsOf(parts)));
  const base = await running.app.listen({ host: '127.0.0.1', port });
  const visit = async (options: VisitOptions = {}) => {
    const { scheme = 'light', width = 1280, zone = 'UTC' } = options;
    const context = await (await theBrowser()).newContext({
      baseURL: base,
      colorScheme: scheme,
      viewport: { width, height: 800 },
      timezoneId: zone,
    });
    t.teardown(() => context.close());
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    listen(t, page, options);
    return page;
  };
  const cookie = async (token = FIRST_TOKEN) => {
    const body = new URLSearchParams({ token });
    const { headers } = await fetch(`${base}/sign-in`, { method: 'POST', body, redirect: 'manual' });
    const [pair = ''] = (headers.get('set-cookie') ?? '').split(';');
    if (pair === '') throw new Error('no session was created');
    return pair;
  };
  const html: Stage['html'] = async (path, token) =>
    (await fetch(base + path, { headers: { cookie: await cookie(token) } })).text();
  const signedIn: Stage['signedIn'] = async ({ token = FIRST_TOKEN, ...options } = {}) => {
    const page = await visit(options);
    const [name = '', value = ''] = (await cookie(token)).split('=');
    const flags = { httpOnly: true, sameSite: 'Strict' } as const;
    await page.context().addCookies([{ name, value, url: base, ...flags }]);
    return page;
  };
  const opened: Stage['opened'] = async (path, options) => {
    const page = await signedIn(options);
    await page.goto(path);
    return page;
  };
  return { ...running, base, visit, cookie, html, signedIn, opened };
}

/** Returns the header with which the pages of a session prove that they send a request. */
export async function csrfOf(base: string, cookie: string): Promise<Record<string, string>> {
  const page = await (await fetch(base, { headers: { cookie } })).text();
  const [, headers = ''] = /hx-headers:inherited="([^"]*)"/.exec(page) ?? [];
  return JSON.parse(headers.replaceAll('&quot;', '"'));
}

/** Clicks once the page's scripts have loaded, and waits until the next page has loaded. */
export async function follow(page: Page, what: Locator): Promise<void> {
  await what.waitFor();
  await page.waitForLoadState();
  await what.click();
  await page.waitForLoadState();
}

/** Browser errors, and requests to other hosts, fail the test. */
function listen(t: Test, page: Page, { refusals = false, elsewhere }: VisitOptions): void {
  page.on('pageerror', (error) => t.fail(`a script failed: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (refusals && /Failed to load resource|Response Status Error/.test(message.text())) return;
    t.fail(`the browser reported: ${message.text()}`);
  });
  page.on('request', (request) => {
    const { hostname, protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && hostname !== '127.0.0.1' && origin !== elsewhere)
      t.fail(`a page requested ${request.url()}`);
  });
}

/**
 * The script that checks accessibility. A test that opens many pages adds it as an initial script, which is sent to the
 * browser only once.
 */
export const AXE = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];

type Violation = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] };

/** Checks the rules of WCAG 2 A and AA; of `rules` if given. */
export async function assertAccessible(t: Test, page: Page, name: string, rules = RULES): Promise<void> {
  // Evaluated through the debugger, which bypasses the content policy. Sending it takes longer than a check.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(AXE);
  const options = {
    ...{ runOnly: rules, resultTypes: ['violations'], selectors: false },
    // The pages have neither frames nor media, and no rule of these reads the style sheets.
    ...{ iframes: false, preload: false },
  };
  const violations = (await page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`,
  )) as Violation[];
  t.strictSame(
    violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      where: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html} ${failureSummary}`),
    })),
    [],
    `${name} is accessible`,
  );
}

/** Checks that the page does not scroll sideways. */
export async function assertFits(t: Test, page: Page, name: string): Promise<void> {
  const { content, width } = await page.evaluate(() => ({
    content: document.documentElement.scrollWidth,
    width: document.documentElement.clientWidth,
  }));
  t.ok(content <= width, `${name} fits ${width} px: it needs ${content}`);
}

/** Checks accessibility, in light and dark, and that the page fits a phone. */
export async function assertGood(t: Test, page: Page, name: string): Promise<void> {
  await assertAccessible(t, page, name);
  await page.emulateMedia({ colorScheme: 'dark' });
  await assertAccessible(t, page, `${name}, dark,`, ['color-contrast']);
  await page.emulateMedia({ colorScheme: 'light' });
  await assertFitsPhone(t, page, name);
}

export async function assertFitsPhone(t: Test, page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: 360, height: 800 });
  await assertFits(t, page, name);
  await page.setViewportSize({ width: 1280, height: 800 });
}

export type { Page };
