/** Follows docs/api.md and the pages on payroll request by request, and compares the responses. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { createCensusSender } from '../../src/census/census-sender.ts';
import { transact } from '../../src/database/transaction.ts';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { createToken } from '../../src/security/tokens.ts';
import { loadFixtures } from '../../src/simulator/events.ts';
import { encryptor, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json as respond, stubService } from '../outbox/stub-service.ts';
import { onEitherEngine } from '../support/engine.ts';
import { apply, deliver } from './deliver.ts';
import { type Request, start } from './start.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The day of the examples. */
const DAY = '2026-07-13T09:00:00.000Z';
type Block = { language: string; text: string };

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return blocks.map(([, language = '', text = '']) => ({ language, text }));
}

/** The day after the event of the examples arrived. */
const LATER = '2026-07-27T09:00:00.000Z';

/** Returns the words of a command as a shell splits them. */
function words(command: string, variables: Record<string, string>): string[] {
  const known = command.replace(/\\\n/g, ' ').replace(/\$([A-Z]+)/g, (_, name) => variables[name] ?? '');
  const [unpiped = ''] = known.split(' |');
  const matches = [...unpiped.matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|(\S+)/g)];
  return matches.map(([, single, double, bare = '']) => single ?? double?.replace(/\\(.)/g, '$1') ?? bare);
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
    } else if (given[at] === '-T' || value.startsWith('@'))
      body = readFileSync(join(ROOT, value.replace('@', '')), 'utf8');
    else if (given[at] === '-d' || given[at] === '--data-binary') body = value;
    else {
      request.url = given[at] as string;
      continue;
    }
    at += 1;
  }
  const method = request.method ?? (given.includes('-T') ? 'PUT' : body === undefined ? 'GET' : 'POST');
  return { ...request, token: null, method, ...(body !== undefined && { body }) };
}

const SCOPES = [
  ...['ledger:read', 'census:read', 'census:write', 'runs:read', 'runs:write', 'runs:approve'],
  ...['changes:read', 'changes:write', 'events:read', 'events:write'],
];

/** Returns the requests of a block, without those that only read a variable. */
function requestsIn(block: string): string[] {
  return block.split(/^(?=curl)/m).filter((command) => command.startsWith('curl'));
}

/** Cuts each list to the length that a page shows of it. */
function beginning(json: unknown, shown: unknown): unknown {
  if (typeof json !== 'object' || typeof shown !== 'object' || json === null || shown === null) return json;
  if (Array.isArray(json) && Array.isArray(shown))
    return shown.map((entry, index) => beginning(json[index], entry));
  const fields = shown as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, beginning(value, fields[name])]),
  );
}

/** Follows the blocks of the pages in their order, except blocks that `isLeftOut`. */
async function follow(t: Test, pages: readonly string[], isLeftOut: (text: string) => boolean = () => false) {
  const clock = setClock(new Date(DAY));
  const { call, db } = await start(t, { now: clock, encryptor });
  const service = await stubService(t, (response) => respond(response, 200));
  const wish = { name: 'guide', scopes: SCOPES, expiresAt: null, now: new Date(DAY), actor: SYSTEM };
  const { token } = await transact(db, (trx) => createToken(trx, wish));
  const variables: Record<string, string> = { API: '', TOKEN: token };
  const post = ({ id, body }: { id: string; body: unknown }) =>
    deliver(db, [{ eventId: id, body: Buffer.from(JSON.stringify(body)) }], clock().toISOString());
  const fresh = { sharedNow: async () => clock(), source: null, maxAgeMs: 86_400_000 };
  const senders = {
    ...createChangeSenders(encryptor),
    census: createCensusSender({ db, encryptor, ...fresh }),
  };
  /** Applies events and sends requests, as a sidecar does in the meantime. */
  const settle = async () => {
    clock.advance(1_000);
    await apply(db, clock().toISOString());
    await sendAll(sendLoop(t, db, service.url, clock, { senders }));
  };
  const replay = async () => {
    const fixtures = loadFixtures(join(ROOT, 'fixtures'));
    for (const fixture of fixtures) await post(fixture);
    await settle();
    const completion = fixtures.find(({ body }) => JSON.stringify(body).includes('sync-complete'));
    await post({ id: 'msg_uploaded', body: completion?.body });
  };
  const page = pages.flatMap((name) => blocksOf(`docs/${name}`));
  if (!page.some(({ text }) => text.startsWith('benefits-sidecar replay'))) await replay();
  let compared = 0;
  for (const [index, { language, text }] of page.entries()) {
    const next = page[index + 1];
    const shown = next?.language === 'json' ? JSON.parse(next.text) : {};
    if (language === 'sh' && !isLeftOut(text)) {
      if (text.startsWith('benefits-sidecar replay')) await replay();
      for (const command of requestsIn(text)) {
        const request = requestOf(words(command, variables));
        const { status, json, headers } = await call(request);
        if (typeof headers.etag === 'string') variables.ETAG = headers.etag.replaceAll('"', '');
        if (typeof json?.next_cursor === 'string') variables.CURSOR = json.next_cursor;
        if (shown.status === undefined) t.ok(status < 300, `${request.method} ${request.url}: ${status}`);
        if (next?.language !== 'json') continue;
        t.match(beginning(json, shown), shown, next.text);
        compared += 1;
      }
      await settle();
    } else if ('body' in shown) {
      clock.advance(Date.parse(LATER) - clock().getTime());
      await post(shown);
    }
  }
  return compared;
}

onEitherEngine('the API by example can be followed, with the responses that it shows', async (t) => {
  t.ok((await follow(t, ['api.md'])) >= 20);
});

onEitherEngine('the page on payroll runs can be followed, with the responses that it shows', async (t) => {
  t.ok((await follow(t, ['payroll-runs.md'])) >= 8);
});

const isVoid = (text: string) => /\/void/.test(text);

onEitherEngine('the pages on reconciliation, open items and settings can be followed after it', async (t) => {
  const pages = ['payroll-runs.md', 'reconciliation.md', 'open-items.md', 'payroll-settings.md'];
  t.ok((await follow(t, pages, isVoid)) >= 13);
});
