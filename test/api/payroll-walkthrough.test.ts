/** Follows the pages on payroll runs, reconciliation and payroll settings, request by request, and compares the responses. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { loadFixtures } from '../../src/simulator/events.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deliver } from './deliver.ts';
import { type Request, start } from './start.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The day of the examples. */
const DAY = '2026-07-13T09:00:00.000Z';
/** The day after the event of the examples arrived. */
const LATER = '2026-07-27T09:00:00.000Z';

type Block = { language: string; text: string };

function blocks(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
}

/** Returns the words of a command as a shell splits them. */
function words(command: string, variables: Record<string, string>): string[] {
  const known = command.replace(/\\\n/g, ' ').replace(/\$([A-Z]+)/g, (_, name) => variables[name] ?? '');
  const found = known.matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|(\S+)/g);
  return [...found].map(
    ([, single, double, bare]) => single ?? double?.replace(/\\(.)/g, '$1') ?? bare ?? '',
  );
}

/** Returns the request of a curl command. */
function requestOf([, ...given]: string[]): Request {
  const request = { method: undefined as Request['method'], url: '', headers: {} as Record<string, string> };
  let body: string | undefined;
  for (let at = 0; at < given.length; at += 1) {
    const value = given[at + 1] ?? '';
    if (given[at] === '-X') request.method = value as Request['method'];
    else if (given[at] === '-D') request.headers = { ...request.headers };
    else if (given[at] === '-H') {
      const [name = '', text = ''] = value.split(': ');
      request.headers[name.toLowerCase()] = text;
    } else if (given[at] === '-T') body = readFileSync(join(ROOT, value), 'utf8');
    else if (given[at] === '-d' || given[at] === '--data-binary') body = value;
    else {
      request.url = given[at] as string;
      continue;
    }
    at += 1;
  }
  const method = request.method ?? (given.includes('-T') ? 'PUT' : body === undefined ? 'GET' : 'POST');
  return { ...request, method, ...(body !== undefined && { body }) };
}

/** Follows the blocks of the pages in their order, except those that `isLeftOut`. */
async function follow(t: Test, pages: readonly string[], isLeftOut: (text: string) => boolean = () => false) {
  let now = DAY;
  const { call, db, tokenWith } = await start(t, { now: () => new Date(now) });
  const variables: Record<string, string> = {
    API: '',
    TOKEN: await tokenWith('runs:read', 'runs:write', 'census:write'),
  };
  const post = ({ id, body }: { id: string; body: unknown }) =>
    deliver(db, [{ eventId: id, body: Buffer.from(JSON.stringify(body)) }], now);
  for (const fixture of loadFixtures(join(ROOT, 'fixtures'))) await post(fixture);
  const page = pages.flatMap((name) => blocks(readFileSync(join(ROOT, 'docs', name), 'utf8')));
  let compared = 0;
  for (const [index, { language, text }] of page.entries()) {
    const next = page[index + 1];
    const shown = next?.language === 'json' ? JSON.parse(next.text) : {};
    if (language === 'sh' && text.startsWith('curl') && !isLeftOut(text)) {
      const request = requestOf(words(text, variables));
      const { status, json, headers } = await call(request);
      if (typeof headers.etag === 'string') variables.ETAG = headers.etag.replaceAll('"', '');
      if (shown.status === undefined) t.ok(status < 300, `${request.method} ${request.url}: ${status}`);
      if (next?.language !== 'json') continue;
      t.match(json, shown, next.text);
      compared += 1;
    } else if ('body' in shown) {
      now = LATER;
      await post(shown);
    }
  }
  return compared;
}

onEitherEngine(
  'the page on payroll runs can be followed, and the responses are those it shows',
  async (t) => {
    t.ok((await follow(t, ['payroll-runs.md'])) >= 8);
  },
);

onEitherEngine('the page on reconciliation can be followed after it', async (t) => {
  t.ok((await follow(t, ['payroll-runs.md', 'reconciliation.md'], (text) => /\/void/.test(text))) >= 10);
});

onEitherEngine('the page on payroll settings can be followed', async (t) => {
  t.ok((await follow(t, ['payroll-settings.md'])) >= 1);
});
