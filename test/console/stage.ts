/** The console as people see it: the real listener on a database of its own, and a real browser. */
import axe from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import type { ApiParts } from '../../src/api/parts.ts';
import { addConsole } from '../../src/console/console.ts';
import { readActivity } from '../../src/operations/activity.ts';
import { FIRST_TOKEN, type Running, start } from '../api/start.ts';
import { launchBrowser } from '../support/browser.ts';

/** A browser that took it for markup would change the page's title. */
export const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

/** Far beyond what a page takes on a busy machine. */
const PATIENCE_MS = 120_000;

export type Stage = Running & {
  /** Where the listener listens. */
  base: string;
  /** A page of a browser without a session. What its console or the policy of its pages complains of fails the test. */
  visit(options?: VisitOptions): Promise<Page>;
  /** The same with a session, before its first page; without a token with the first one, which may do everything. */
  signedIn(options?: VisitOptions & { token?: string }): Promise<Page>;
};
export type VisitOptions = {
  scheme?: 'light' | 'dark';
  width?: number;
  /** Answers that are not 2xx and that this visit is about: a browser's console complains of each. */
  refusals?: boolean;
};

let browser: Promise<Browser> | null = null;
t.teardown(async () => (await browser)?.close());

/** One of the file's tests share one browser, each with contexts of its own. */
function theBrowser(): Promise<Browser> {
  browser ??= launchBrowser();
  return browser;
}

export async function openConsole(t: Test, replaced: Partial<ApiParts> = {}): Promise<Stage> {
  const running = await start(t, replaced, (app, parts) =>
    addConsole(app, { ...parts, environment: 'sandbox', readActivity: () => readActivity(parts.db) }),
  );
  const base = await running.app.listen({ host: '127.0.0.1', port: 0 });
  const visit = async ({ scheme = 'light', width = 1280, refusals = false }: VisitOptions = {}) => {
    const context = await (await theBrowser()).newContext({
      baseURL: base,
      colorScheme: scheme,
      viewport: { width, height: 800 },
    });
    t.teardown(() => context.close());
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    listen(t, page, refusals);
    return page;
  };
  return {
    ...running,
    base,
    visit,
    async signedIn({ token = FIRST_TOKEN, ...options } = {}) {
      const page = await visit(options);
      await page.context().addCookies([await session(base, token)]);
      return page;
    },
  };
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('API token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/');
}

/** A session as the form of the page makes it, without the time that a browser takes for it. */
async function session(base: string, token: string) {
  const body = new URLSearchParams({ token });
  const { headers } = await fetch(`${base}/sign-in`, { method: 'POST', body, redirect: 'manual' });
  const [name = '', value = ''] = (headers.get('set-cookie') ?? '').split(';')[0]?.split('=') ?? [];
  if (value === '') throw new Error('no session was begun');
  return { name, value, url: base, httpOnly: true, sameSite: 'Strict' as const };
}

/** Clicks what may lead to another page, and waits until that is there: what is looked at next may not be the page before. */
export async function follow(page: Page, what: Locator): Promise<void> {
  await what.click();
  await page.waitForLoadState();
}

/** What the browser complains of, and any request to elsewhere, fails the test. */
function listen(t: Test, page: Page, refusals: boolean): void {
  page.on('pageerror', (error) => t.fail(`a script failed: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (refusals && /Failed to load resource|Response Status Error/.test(message.text())) return;
    t.fail(`the browser says: ${message.text()}`);
  });
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol !== 'data:' && hostname !== '127.0.0.1') t.fail(`a page asked ${request.url()}`);
  });
}

/** What a person with a reader, a keyboard or weak eyes would stumble over, by the rules of WCAG 2 A and AA. */
export async function assertAccessible(t: Test, page: Page, name: string): Promise<void> {
  // By the debugger's way, which the policy of the pages does not reach.
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate(
    'axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] })',
  )) as { violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[] };
  t.strictSame(
    violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      where: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html} ${failureSummary}`),
    })),
    [],
    `${name} can be used by everybody`,
  );
}

/** Whether the page itself scrolls sideways, which makes it hard to read on a telephone. */
export async function assertFits(t: Test, page: Page, name: string): Promise<void> {
  const { content, width } = await page.evaluate(() => ({
    content: document.documentElement.scrollWidth,
    width: document.documentElement.clientWidth,
  }));
  t.ok(content <= width, `${name} fits ${width} px: it needs ${content}`);
}

/** For everybody, and on a telephone. */
export async function assertGood(t: Test, page: Page, name: string): Promise<void> {
  await assertAccessible(t, page, name);
  await page.setViewportSize({ width: 360, height: 800 });
  await assertFits(t, page, name);
  await page.setViewportSize({ width: 1280, height: 800 });
}

export type { Page };
