/** Runs a command of the built executable to its end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { environment, ROOT } from './server.ts';

/** Often enough to sample the peak memory. */
const LOOK_EVERY_MS = 50;

/** Returns the `--json` output and the peak memory. Throws unless the exit code is 0. */
export async function runCommand<T>(
  databaseUrl: string,
  argv: readonly string[],
): Promise<{ answer: T; peakMiB: number; tookMs: number }> {
  const began = performance.now();
  const child = spawn(process.execPath, ['dist/main.js', ...argv, '--json'], {
    cwd: ROOT,
    env: environment(databaseUrl),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let peakMiB = 0;
  const timer = setInterval(() => {
    peakMiB = Math.max(peakMiB, peakOf(child.pid as number));
  }, LOOK_EVERY_MS);
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  clearInterval(timer);
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${printed}`);
  return { answer: JSON.parse(printed) as T, peakMiB, tookMs: performance.now() - began };
}

function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}
