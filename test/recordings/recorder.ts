/** Writes down every request to a sidecar, every command, and their responses as text. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { here, type Ran } from '../cli/harness.ts';
import { eventually } from '../support/eventually.ts';
import { setStage } from '../support/stage.ts';
import { compareWithGolden } from './golden.ts';
import { normalizer } from './normalize.ts';

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

export type Recorder = {
  http(method: string, path: string, request?: Request): Promise<Response>;
  /** Sends a request without recording it. */
  call(method: string, path: string, request?: Request): Promise<Response>;
  /** Runs the commands one after another and records them. */
  commands(...commands: string[][]): Promise<void>;
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
  ['The database has everything that running sidecars have seen.', '<high-water mark>'],
  ['The disk of the database has free space.', '<disk space>'],
  ['The disk of a PostgreSQL server is not checked here.', '<disk space>'],
] as const;

export async function startRecorder(t: Test) {
  // The recordings post their own events, so that every instant in them is fixed.
  const stage = await setStage(t, { isSubscribed: false });
  const { folder, databaseUrl, keys, sidecar, simulator, variables } = stage;
  const { host, pathname, protocol } = new URL(databaseUrl);
  const database = protocol === 'sqlite:' ? pathname : `${pathname.slice(1)} at ${host}`;
  const urls = [sidecar.receiver, sidecar.api, simulator.url];
  const ports = urls.map((url) => [new URL(url).port, '<port>'] as const);
  const normalize = normalizer([[database, '<database>'], [folder, '<folder>'], ...ports, ...OF_ENGINE]);
  let recorded: string[] = [];
  const write = (title: string, ...parts: string[]): void => {
    const shown = parts.map((part) => normalize.output(part).trimEnd()).filter((part) => part !== '');
    recorded.push([`=== ${normalize.text(title)}`, ...shown].join('\n'));
  };
  const call = async (method: string, path: string, { body, headers }: Request = {}): Promise<Response> => {
    const authorization = `Bearer ${keys.token}`;
    const type = body !== undefined && { 'content-type': 'application/json' };
    const response = await fetch(sidecar.api + path, {
      ...{ method, headers: { authorization, ...type, ...headers } },
      ...(body !== undefined && { body: textOf(body) as string }),
    });
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, text, json: isJson && JSON.parse(text) };
  };
  const env = { ...variables, LOG_LEVEL: 'warn' } as Record<string, string>;
  const run = (...argv: string[]) => here(t, env, argv);

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
      for (const argv of commands) {
        const { code, stdout, stderr } = await run(...argv);
        const parts = [`exit ${code}`, withoutWidths(stdout)];
        if (stderr !== '') parts.push('--- stderr', withoutWidths(stderr));
        write(`benefits-sidecar ${argv.join(' ')}`, ...parts);
      }
    },
    async event(id, event) {
      const { status } = await stage.send({ id, body: JSON.stringify(event) });
      if (status !== 204) throw new Error(`the event ${id} got ${status}`);
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
