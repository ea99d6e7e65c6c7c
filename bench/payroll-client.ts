/** The API listener as payroll calls it, with the time of each response. */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';
import type { Server } from './server.ts';

type Timed<T> = { ms: number; answer: T };
/** `firstByteMs`: until the first chunk of the body arrived. */
type Streamed = { firstByteMs: number; wholeMs: number; lines: number };

export type Client = {
  /** Throws unless the response is a 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: reads single fields of responses that the API tests check.
  call(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: object): Promise<Timed<any>>;
  /** Returns a body that is not JSON. */
  text(path: string): Promise<string>;
  /** Accepts the checks that fail, as stored employers have no census sync, and finalizes. `ms`: of the finalizing only. */
  finalize(runId: string): Promise<Timed<unknown> & { checkedMs: number }>;
  /** Returns a run's lines as CSV; `lines` does not count the header. */
  csv(runId: string): Promise<Streamed>;
  /** The responses with 503 so far: each request was sent again. */
  refused(): number;
  close(): Promise<void>;
};

const NEWLINE = 0x0a;
const TRIES = 20;
const RETRY_AFTER_MS = 1_000;

export function clientOf({ api }: Server, connections = 1): Client {
  // A run of a million lines is computed before the response starts.
  const agent = new Agent({ connections, headersTimeout: 0, bodyTimeout: 0 });
  let refused = 0;
  const headers = { authorization: `Bearer ${api.token}` };
  const ask = async (
    method: string,
    path: string,
    more: { body?: object; accept?: string; ifMatch?: string } = {},
    tries = TRIES,
  ): Promise<Dispatcher.ResponseData> => {
    const response = await request(`${api.url}${path}`, {
      dispatcher: agent,
      method,
      headers: {
        ...headers,
        ...(more.accept !== undefined && { accept: more.accept }),
        ...(more.ifMatch !== undefined && { 'if-match': more.ifMatch }),
        ...(more.body !== undefined && { 'content-type': 'application/json' }),
      },
      body: more.body === undefined ? null : JSON.stringify(more.body),
    });
    const { statusCode, body } = response;
    // The write lock was not available in time because the machine is busy.
    if (statusCode === 503 && tries > 1) {
      refused += 1;
      await body.dump();
      await delay(RETRY_AFTER_MS);
      return ask(method, path, more, tries - 1);
    }
    if (statusCode < 200 || statusCode > 299) {
      throw new Error(`${method} ${path} returned ${statusCode}: ${await body.text()}`);
    }
    return response;
  };
  const timed = async (method: string, path: string, more: { body?: object; ifMatch?: string }) => {
    const began = performance.now();
    const { body } = await ask(method, path, more);
    const text = await body.text();
    return { ms: performance.now() - began, answer: text === '' ? null : JSON.parse(text) };
  };
  return {
    call: (method, path, sent) => timed(method, path, sent === undefined ? {} : { body: sent }),
    async text(path) {
      return (await ask('GET', path)).body.text();
    },
    async finalize(runId) {
      const path = `/v1/payroll-runs/${runId}`;
      const { ms: checkedMs, answer } = await timed('GET', `${path}/readiness`, {});
      const { etag, checks } = answer as { etag: string; checks: { id: string; result: string }[] };
      const accept = checks.filter(({ result }) => result === 'fail').map(({ id }) => id);
      const accepted = accept.length === 0 ? {} : { accept, reason: 'a measurement' };
      const finalized = await timed('POST', `${path}/finalize`, { body: accepted, ifMatch: `"${etag}"` });
      return { ...finalized, checkedMs };
    },
    async csv(runId) {
      const began = performance.now();
      const { body } = await ask('GET', `/v1/payroll-runs/${runId}/lines`, { accept: 'text/csv' });
      let firstByteMs: number | null = null;
      let newlines = 0;
      for await (const part of body as AsyncIterable<Buffer>) {
        firstByteMs ??= performance.now() - began;
        for (let at = part.indexOf(NEWLINE); at !== -1; at = part.indexOf(NEWLINE, at + 1)) newlines += 1;
      }
      if (firstByteMs === null) throw new Error('the CSV was empty');
      return { firstByteMs, wholeMs: performance.now() - began, lines: newlines - 1 };
    },
    refused: () => refused,
    close: () => agent.close(),
  };
}
