/** The private listener as payroll calls it, with the time that each answer took. */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';
import type { Server } from './server.ts';

export type Timed<T> = { ms: number; answer: T };
/** `firstByteMs`: until the first part of the body came. */
export type Streamed = { firstByteMs: number; wholeMs: number; lines: number };

export type Client = {
  /** Throws unless the answer is a 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: looks at single fields of answers that the API's tests check.
  call(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: object): Promise<Timed<any>>;
  /** Returns a body that is not JSON. */
  text(path: string): Promise<string>;
  /** A run's lines as CSV; `lines` without the header. */
  csv(runId: string): Promise<Streamed>;
  close(): Promise<void>;
};

const NEWLINE = 0x0a;
const TRIES = 20;
const RETRY_AFTER_MS = 1_000;

export function clientOf({ api }: Server): Client {
  // A run of a million lines is computed before it is answered.
  const agent = new Agent({ connections: 1, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${api.token}` };
  const ask = async (
    method: string,
    path: string,
    more: { body?: object; accept?: string } = {},
    tries = TRIES,
  ): Promise<Dispatcher.ResponseData['body']> => {
    const { statusCode, body } = await request(`${api.url}${path}`, {
      dispatcher: agent,
      method,
      headers: {
        ...headers,
        ...(more.accept !== undefined && { accept: more.accept }),
        ...(more.body !== undefined && { 'content-type': 'application/json' }),
      },
      body: more.body === undefined ? null : JSON.stringify(more.body),
    });
    // The write lock was not available in time: the machine does something else too.
    if (statusCode === 503 && tries > 1) {
      await body.dump();
      await delay(RETRY_AFTER_MS);
      return ask(method, path, more, tries - 1);
    }
    if (statusCode < 200 || statusCode > 299) {
      throw new Error(`${method} ${path} was answered ${statusCode}: ${await body.text()}`);
    }
    return body;
  };
  return {
    async call(method, path, sent) {
      const began = performance.now();
      const body = await ask(method, path, sent === undefined ? {} : { body: sent });
      const text = await body.text();
      return { ms: performance.now() - began, answer: text === '' ? null : JSON.parse(text) };
    },
    async text(path) {
      return (await ask('GET', path)).text();
    },
    async csv(runId) {
      const began = performance.now();
      const body = await ask('GET', `/v1/payroll-runs/${runId}/lines`, { accept: 'text/csv' });
      let firstByteMs: number | null = null;
      let newlines = 0;
      for await (const part of body as AsyncIterable<Buffer>) {
        firstByteMs ??= performance.now() - began;
        for (let at = part.indexOf(NEWLINE); at !== -1; at = part.indexOf(NEWLINE, at + 1)) newlines += 1;
      }
      if (firstByteMs === null) throw new Error('the CSV was empty');
      return { firstByteMs, wholeMs: performance.now() - began, lines: newlines - 1 };
    },
    close: () => agent.close(),
  };
}
