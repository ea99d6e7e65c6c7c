/**
 * Follows docs/api.md in a real shell with curl and the real executable, and the pages on payroll request by request, and
 * compares the responses.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { loadFixtures } from '../../src/simulator/events.ts';
import { onEitherEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import type { Variables } from '../support/settings.ts';
import { type Stage, setStage } from '../support/stage.ts';
import { deliver } from './deliver.ts';
import { type Request, start } from './start.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SHIFTED_CLOCK = new URL('../support/shifted-clock.ts', import.meta.url).href;
/** The day of the examples. */
const DAY = '2026-07-13T09:00:00.000Z';
const ADDRESS = 'http://127.0.0.1:8081';

/** Matches a block that changes data. */
const CHANGES = /replay| -X | -T | -d | --data/;

type Block = { language: string; text: string };

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return blocks.map(([, language = '', text = '']) => ({ language, text }));
}

/** A shell that keeps exported variables from one block to the next, like an interactive one. */
function createShell(folder: string, variables: Variables) {
  const command = join(folder, 'benefits-sidecar');
  const node = `${process.execPath} --import ${SHIFTED_CLOCK} ${join(ROOT, 'src/main.ts')}`;
  writeFileSync(command, `#!/bin/sh\nexec env -u NODE_OPTIONS ${node} "$@"\n`);
  chmodSync(command, 0o755);
  const exported = join(folder, 'exported');
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { ...variables, NODE_COMPILE_CACHE, PATH: `${folder}:${PATH}` };
  return async (block: string): Promise<string> => {
    const known = existsSync(exported) ? `. ${exported}\n` : '';
    const script = `set -eu\n${known}${block}\nexport -p >${exported}`;
    const child = spawn('sh', ['-c', script], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [said, complained] = [textOf(child.stdout), textOf(child.stderr)];
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${block}\nended with ${code}: ${await complained}`);
    return said;
  };
}

/** Waits until the sidecar is idle, because a reader of the page is slower. */
async function settled({ api, settled }: Stage): Promise<void> {
  await settled();
  const onTheirWay = async () => [
    ...(await api.get('/v1/employee-changes?state=pending')).data,
    ...(await api.get('/v1/employee-changes?state=sending')).data,
    ...(await api.get('/v1/census-syncs?state=requested')).data,
    ...(await api.get('/v1/census-syncs?state=uploaded')).data,
  ];
  await eventually('no work is in flight', onTheirWay, { length: 0 });
  await settled();
}

const skip =
  spawnSync('curl', ['--version']).error === undefined
    ? false
    : 'curl is not installed (Debian: apt-get install curl)';

t.test('the API guide works as written, with the responses that it shows', { skip }, async (t) => {
  const shiftMs = Date.parse(DAY) - Date.now();
  const stage = await setStage(t, { start: false, simulator: { now: () => new Date(Date.now() + shiftMs) } });
  stage.variables.CLOCK_SHIFT_FILE = join(stage.folder, 'clock');
  writeFileSync(stage.variables.CLOCK_SHIFT_FILE, String(shiftMs));
  const { api } = await stage.start({ preload: SHIFTED_CLOCK });
  const run = createShell(stage.folder, stage.variables);
  const page = blocksOf('docs/api.md');
  let compared = 0;
  for (const [index, { language, text }] of page.entries()) {
    if (language !== 'sh') continue;
    const answer = await run(text.replaceAll(ADDRESS, api));
    if (CHANGES.test(text)) await settled(stage);
    const shown = page[index + 1];
    if (shown?.language === 'json') t.match(JSON.parse(answer), JSON.parse(shown.text), text);
    else if (shown?.language === 'text') t.equal(answer.replaceAll('\r', ''), shown.text, text);
    else continue;
    compared += 1;
  }
  t.ok(compared >= 20, `${compared} answers compared`);
});

/** The day after the event of the examples arrived. */
const LATER = '2026-07-27T09:00:00.000Z';

/** Returns the words of a command as a shell splits them. */
function words(command: string, variables: Record<string, string>): string[] {
  const known = command.replace(/\\\n/g, ' ').replace(/\$([A-Z]+)/g, (_, name) => variables[name] ?? '');
  const matches = [...known.matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|(\S+)/g)];
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

/** Follows the blocks of the pages in their order, except blocks that `isLeftOut`. */
async function follow(t: Test, pages: readonly string[], isLeftOut: (text: string) => boolean = () => false) {
  let now = DAY;
  const { call, db, tokenWith } = await start(t, { now: () => new Date(now) });
  const variables: Record<string, string> = {
    API: '',
    TOKEN: await tokenWith('runs:read', 'runs:write', 'runs:approve', 'census:write'),
  };
  const post = ({ id, body }: { id: string; body: unknown }) =>
    deliver(db, [{ eventId: id, body: Buffer.from(JSON.stringify(body)) }], now);
  for (const fixture of loadFixtures(join(ROOT, 'fixtures'))) await post(fixture);
  const page = pages.flatMap((name) => blocksOf(`docs/${name}`));
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

onEitherEngine('the page on payroll runs can be followed, with the responses that it shows', async (t) => {
  t.ok((await follow(t, ['payroll-runs.md'])) >= 8);
});

const isVoid = (text: string) => /\/void/.test(text);

onEitherEngine('the pages on reconciliation, open items and settings can be followed after it', async (t) => {
  const pages = ['payroll-runs.md', 'reconciliation.md', 'open-items.md', 'payroll-settings.md'];
  t.ok((await follow(t, pages, isVoid)) >= 13);
});
