/** A measured server in its own child process, as in production. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { SECRET } from './events.ts';

export type Server = {
  /** The port for events. */
  port: number;
  /** The sidecar's API port. */
  api: { url: string; token: string };
  /** From the start of the process to its first 200 on readyz, in milliseconds. */
  readyMs: number;
  memory(): { nowMiB: number; peakMiB: number };
  /** CPU seconds of all threads so far. Unlike wall time, it hardly depends on what else runs on the machine. */
  cpuSeconds(): number;
  stop(): Promise<void>;
};

export const ROOT = new URL('..', import.meta.url).pathname;
const TOKEN = 'bench-token-bench-token-bench-token-bench';
/** The first port. A start whose port is taken fails. Each server has two. */
const FIRST_PORT = 28_080;

/** The sidecar's configuration. The peers read the few variables that they need. */
export function environment(databaseUrl: string, nth = 0): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    BENEFITS_ENVIRONMENT: 'sandbox',
    BENEFITS_BASE_URL: 'http://127.0.0.1:9',
    BENEFITS_API_KEY: 'bench',
    WEBHOOK_SECRETS: SECRET,
    DATA_KEYS: `bench:${Buffer.alloc(32, 1).toString('base64')}`,
    DATABASE_URL: databaseUrl,
    RECEIVER_HOST: '127.0.0.1',
    RECEIVER_PORT: String(FIRST_PORT + 2 * nth),
    API_PORT: String(FIRST_PORT + 2 * nth + 1),
    API_TOKEN: TOKEN,
    LOG_LEVEL: 'info',
  };
}

/**
 * Starts a server and waits until it is ready. `nth` separates concurrent servers; `more` adds configuration.
 */
export async function startServer(
  args: string[],
  databaseUrl = '',
  nth = 0,
  more: Record<string, string> = {},
): Promise<Server> {
  const env = { ...environment(databaseUrl, nth), ...more };
  const port = Number(env.RECEIVER_PORT);
  if (await isReady(port)) throw new Error(`port ${port} is taken: does another benchmark run?`);
  const began = performance.now();
  // Its log is read and discarded, as by a collector.
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.resume();
  await untilReady(child, port);
  return {
    port,
    api: { url: `http://127.0.0.1:${env.API_PORT}`, token: TOKEN },
    readyMs: performance.now() - began,
    memory: () => memoryOf(child),
    cpuSeconds: () => cpuSecondsOf(child),
    async stop() {
      if (child.exitCode !== null) throw new Error(`the server ended with code ${child.exitCode}`);
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The option of Node that the Dockerfile sets. */
const NODE_OPTION = '--max-semi-space-size=8';

/** `benefits-sidecar serve`, built, as in the image. It migrates an empty database automatically. */
export async function startSidecar(
  databaseUrl: string,
  nth = 0,
  more: Record<string, string> = {},
): Promise<Server> {
  const server = await startServer([NODE_OPTION, 'dist/main.js', 'serve'], databaseUrl, nth, more);
  // It accepts events some milliseconds before the API listener is ready.
  while (!(await isReached(server.api.url))) await delay(5);
  return server;
}

function isReached(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

async function untilReady(child: ChildProcess, port: number): Promise<void> {
  while (!(await isReady(port))) {
    if (child.exitCode !== null) throw new Error(`the server ended with code ${child.exitCode}`);
    await delay(5);
  }
}

function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/readyz`).then(
    (answer) => answer.ok,
    () => false,
  );
}

function memoryOf(child: ChildProcess): { nowMiB: number; peakMiB: number } {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  const mib = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024;
  return { nowMiB: mib('VmRSS'), peakMiB: mib('VmHWM') };
}

function cpuSecondsOf({ pid }: ChildProcess): number {
  const ranNs = (thread: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + ranNs(thread), 0) / 1e9;
}
