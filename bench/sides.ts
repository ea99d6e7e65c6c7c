/** The servers that are measured, each a child process of its own, as in production. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SECRET } from './events.ts';

export type Side = {
  /** Of the public listener. */
  port: number;
  /** Base address and token of the private listener; null where there is none. */
  api: { url: string; token: string } | null;
  /** The file of the database; null where nothing is stored. */
  databaseFile: string | null;
  /** From the start of the process to its first 200 on readyz, in milliseconds. */
  readyMs: number;
  memory(): { nowMiB: number; peakMiB: number };
  stop(): Promise<void>;
};

const TOKEN = 'bench-token-bench-token-bench-token-bench';
const root = new URL('..', import.meta.url).pathname;
/** Ports of the benchmark; the first start that finds them taken says so. */
const PORTS = { receiver: 28_080, api: 28_081 };

/** The same HTTP server: verifies, answers 204, stores nothing. */
export function startCeiling(): Promise<Side> {
  return start(['bench/ceiling.ts'], {}, null);
}

/** `benefits-sidecar serve`, built, on a fresh SQLite file. */
export function startSidecar(): Promise<Side> {
  const folder = mkdtempSync(join(tmpdir(), 'benefits-sidecar-bench-'));
  return start(['dist/main.js', 'serve'], { DATABASE_URL: `sqlite:${folder}/sidecar.db` }, folder);
}

async function start(args: string[], env: Record<string, string>, folder: string | null): Promise<Side> {
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...BASE_ENV, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: child.stdout }).on('line', () => {});
  await untilReady(child);
  return {
    port: PORTS.receiver,
    api: folder === null ? null : { url: `http://127.0.0.1:${PORTS.api}`, token: TOKEN },
    databaseFile: folder === null ? null : join(folder, 'sidecar.db'),
    readyMs: performance.now() - began,
    memory: () => memoryOf(child),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      if (folder !== null) rmSync(folder, { recursive: true });
    },
  };
}

const BASE_ENV = {
  PATH: process.env.PATH ?? '',
  BENEFITS_ENVIRONMENT: 'sandbox',
  BENEFITS_BASE_URL: 'http://127.0.0.1:9',
  BENEFITS_API_KEY: 'bench',
  WEBHOOK_SECRETS: SECRET,
  DATA_KEYS: `bench:${Buffer.alloc(32, 1).toString('base64')}`,
  RECEIVER_HOST: '127.0.0.1',
  RECEIVER_PORT: String(PORTS.receiver),
  API_PORT: String(PORTS.api),
  API_TOKEN: TOKEN,
  LOG_LEVEL: 'info',
};

async function untilReady(child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with code ${child.exitCode}`);
    const ready = await fetch(`http://127.0.0.1:${PORTS.receiver}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function memoryOf(child: ChildProcess): { nowMiB: number; peakMiB: number } {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  const mib = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024;
  return { nowMiB: mib('VmRSS'), peakMiB: mib('VmHWM') };
}
