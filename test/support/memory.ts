import { mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const LEAST_FREE_BYTES = 1 << 30;
const ABANDONED_MS = 3_600_000;

/** Returns a new folder in memory, or null: for fault tests, and on systems without room for one. */
export function memoryFolder(name: string): string | null {
  if (process.env.TEST_MEMORY === undefined) return null;
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize < LEAST_FREE_BYTES ? null : temporaryFolder(name, MEMORY);
  } catch {
    return null;
  }
}

/** Returns a new folder of this process. Removes the folders of processes that were killed before they could. */
export function temporaryFolder(name: string, within = tmpdir()): string {
  for (const entry of readdirSync(within)) {
    const owner = /^benefits-sidecar-[a-z]+-(\d+)-\w+$/.exec(entry)?.[1];
    if (owner === undefined || isRunning(Number(owner))) continue;
    try {
      // A process in another container has an id that is unknown here.
      if (statSync(join(within, entry)).mtimeMs > Date.now() - ABANDONED_MS) continue;
      rmSync(join(within, entry), { recursive: true, force: true });
    } catch {
      // Another process is removing it, or it belongs to another user.
    }
  }
  return mkdtempSync(join(within, `benefits-sidecar-${name}-${process.pid}-`));
}

/** Returns whether a process exists, also a process that a different user owns. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
