/** Runs a sidecar and a simulator as processes, and writes down every request, command and response as text. */
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/memory.ts';
import { lastingPort, makeKeys, type Variables, variablesFor } from '../support/settings.ts';
import { normalizer } from './normalize.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const GOLDEN = new URL('./golden/', import.meta.url);
const RECORDS = process.env.RECORD === '1';
/** The commands of one batch, which run at the same time. */
const AT_ONCE = 3;
/** The maximum number of differing lines that a failing test shows. */
const DIFFERENCE_LINES = 120;

// biome-ignore lint/suspicious/noExplicitAny: the recordings are compared as text; nothing here relies on a shape.
type Response = { status: number; headers: Headers; json: any; text: string };
type Request = {
  body?: unknown;
  headers?: Record<string, string>;
  /** A few words that distinguish requests to the same path. */
  note?: string;
  /** Recorded instead of a long body. */
  sent?: string;
  /** Returns the recorded part of the response's text. */
  show?: (text: string) => string;
};

type Ran = { code: number; stdout: string; stderr: string };

export type Recorder = {
  http(method: string, path: string, request?: Request): Promise<Response>;
  /** Sends a request without recording it. */
  call(method: string, path: string, request?: Request): Promise<Response>;
  /** Runs the commands at the same time and records them in this order. A command must not affect another one. */
  commands(...commands: string[][]): Promise<string[]>;
  /** Runs a command without recording it. */
  run(...argv: string[]): Promise<Ran>;
  /** Records these texts under a title. */
  record(title: string, ...texts: string[]): void;
  /** Posts a signed event. */
  event(id: string, body: object): Promise<void>;
  /** Waits, without recording anything, until the response to a GET satisfies the condition. */
  until(path: string, holds: (json: Response['json']) => boolean): Promise<Response['json']>;
  /** Writes a file for a command and returns its path. */
  file(name: string, content: string | object): string;
  /** Compares what was recorded since the last call with the golden file, or overwrites the file. */
  compare(t: Test, name: string): void;
};

/** Sentences of one engine. */
const OF_ENGINE = [
  ['The database has everything recorded by its high-water mark.', '<high-water mark>'],
  ['Losses of a PostgreSQL server are not detected here.', '<high-water mark>'],
  ['The disk of the database has free space.', '<disk space>'],
  ['The disk of a PostgreSQL server is not checked here.', '<disk space>'],
] as const;

export async function startRecorder(t: Test, databaseUrl: (folder: string) => Promise<string>) {
  const folder = temporaryFolder('recordings');
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const keys = makeKeys();
  const ports = [await lastingPort(), await lastingPort(), await lastingPort()] as const;
  const [servicePort, receiverPort, apiPort] = ports;
  const service = `http://127.0.0.1:${servicePort}`;
  const receiver = `http://127.0.0.1:${receiverPort}/webhooks`;
  const api = `http://127.0.0.1:${apiPort}`;
  const env: Variables = {
    ...variablesFor(await databaseUrl(folder), service, keys),
    ...{ RECEIVER_PORT: String(receiverPort), API_PORT: String(apiPort), LOG_LEVEL: 'warn' },
  };
  // The simulator only receives: the recordings post their own events, so that every instant in them is fixed.
  const nowhere = `http://127.0.0.1:${await lastingPort()}/webhooks`;
  const simulator = ['simulate', '--port', String(servicePort), '--webhook-url', nowhere];
  stayUp(t, folder, env, simulator);
  stayUp(t, folder, env, ['serve']);
  const { host, pathname, protocol } = new URL(env.DATABASE_URL as string);
  const database = protocol === 'sqlite:' ? pathname : `${pathname.slice(1)} at ${host}`;
  const numbers = ports.map((port) => [String(port), '<port>'] as const);
  const normalize = normalizer([[database, '<database>'], [folder, '<folder>'], ...numbers, ...OF_ENGINE]);
  let recorded: string[] = [];
  const write = (title: string, ...parts: string[]): void => {
    const shown = parts.map((part) => normalize.output(part).trimEnd()).filter((part) => part !== '');
    recorded.push([`=== ${normalize.text(title)}`, ...shown].join('\n'));
  };
  const call = async (method: string, path: string, { body, headers }: Request = {}): Promise<Response> => {
    const authorization = `Bearer ${keys.token}`;
    const type = body !== undefined && { 'content-type': 'application/json' };
    const response = await fetch(api + path, {
      ...{ method, headers: { authorization, ...type, ...headers } },
      ...(body !== undefined && { body: textOf(body) as string }),
    });
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, text, json: isJson && JSON.parse(text) };
  };
  await eventually('the sidecar listens', () => call('GET', '/readyz'), { status: 200 });
  await eventually('the simulator listens', () => fetch(`${service}/__control`), { ok: true });

  const run = async (...argv: string[]): Promise<Ran> => {
    const child = start(folder, env, argv);
    const [stdout, stderr] = [readAll(child.stdout), readAll(child.stderr)];
    const [code] = await once(child, 'close');
    return { code, stdout: await stdout, stderr: await stderr };
  };

  const recorder: Recorder = {
    call,
    async http(method, path, request = {}) {
      const response = await call(method, path, request);
      const kept = ['content-type', 'etag', 'location', 'retry-after', 'www-authenticate', 'allow'];
      const present = kept.filter((name) => response.headers.has(name));
      const headers = present.map((name) => `${name}: ${response.headers.get(name)}`);
      const { show, note, body, sent = textOf(body) } = request;
      const shown = show?.(response.text) ?? response.text;
      const title = `${method} ${path}${note === undefined ? '' : ` (${note})`}`;
      const asked = sent === undefined ? [] : ['>', sent, '<'];
      write(title, ...asked, [response.status, ...headers].join('\n'), shown);
      return response;
    },
    run,
    record: write,
    async commands(...commands) {
      const results: Ran[] = [];
      const rest = commands.entries();
      const worker = async (): Promise<void> => {
        for (const [index, argv] of rest) results[index] = await run(...argv);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      for (const [index, { code, stdout, stderr }] of results.entries()) {
        const parts = [`exit ${code}`, withoutWidths(stdout)];
        if (stderr !== '') parts.push('--- stderr', withoutWidths(stderr));
        write(`benefits-sidecar ${commands[index]?.join(' ')}`, ...parts);
      }
      return results.map(({ stdout }) => stdout);
    },
    async event(id, event) {
      const body = JSON.stringify(event);
      const timestamp = String(Math.floor(Date.now() / 1_000));
      const signature = sign(keys.webhookSecret, `${id}.${timestamp}.${body}`);
      const signed = { 'svix-id': id, 'svix-timestamp': timestamp, 'svix-signature': signature };
      const headers = { 'content-type': 'application/json', ...signed };
      const { ok, status } = await fetch(receiver, { method: 'POST', headers, body });
      if (!ok) throw new Error(`the event ${id} got ${status}`);
    },
    until: (path, holds) => eventually(path, async () => (await call('GET', path)).json, holds),
    file(name, content) {
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
      return join(folder, name);
    },
    compare(t, name) {
      compareWithGolden(t, name, `${recorded.join('\n\n')}\n`);
      recorded = [];
      normalize.beginFile();
    },
  };
  return recorder;
}

function start(folder: string, env: NodeJS.ProcessEnv, argv: string[]) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return spawn(process.execPath, [join(PROJECT, 'src/main.ts'), ...argv], {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Keeps a process until the test ends, and shows what it logged if the test fails. */
function stayUp(t: Test, folder: string, env: NodeJS.ProcessEnv, argv: string[]): void {
  const child = start(folder, env, argv);
  let logged = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part) => {
      logged += part;
    });
  const ended = once(child, 'close');
  process.once('exit', () => child.kill('SIGKILL'));
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
    if (!t.passing()) t.comment(logged.slice(-4_000));
  });
}

/** Signs as the Standard Webhooks specification describes. */
function sign(secret: string, content: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}

function textOf(body: unknown): string | undefined {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Removes the widths of table columns, which depend on values that are normalized. */
function withoutWidths(text: string): string {
  return text
    .replace(/─+/g, '─')
    .replace(/(?<=\S) {2,}/g, '  ')
    .replace(/ +$/gm, '');
}

function compareWithGolden(t: Test, name: string, text: string): void {
  const file = new URL(`${name}.txt`, GOLDEN);
  if (RECORDS) writeFileSync(file, text);
  if (readFileSync(file, 'utf8') === text) return void t.pass(name);
  const actual = join(mkdtempSync(join(tmpdir(), 'benefits-sidecar-recorded-')), `${name}.txt`);
  writeFileSync(actual, text);
  t.fail(`the recording ${name} differs from test/recordings/golden/${name}.txt`, { diagnostic: false });
  t.comment(differenceOf(fileURLToPath(file), actual));
  t.comment(
    'If the change is intended: RECORD=1 npx tap run test/faults/recordings.test.ts, and review git diff',
  );
}

function differenceOf(expected: string, actual: string): string {
  const options = ['-U4', '--label', 'golden', '--label', 'recorded'];
  const { stdout } = spawnSync('diff', [...options, expected, actual], { encoding: 'utf8' });
  const lines = stdout.split('\n');
  const more = lines.length - DIFFERENCE_LINES;
  const left = more > 0 ? [`… ${more} more lines: ${actual}`] : [];
  return [...lines.slice(0, DIFFERENCE_LINES), ...left].join('\n');
}
