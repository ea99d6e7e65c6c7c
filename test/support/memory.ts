import { mkdtempSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const LEAST_FREE_BYTES = 1 << 30;

/** Returns a new folder in memory, or null: for fault tests, and on systems without room for one. */
export function memoryFolder(name: string): string | null {
  if (process.env.TEST_MEMORY === undefined) return null;
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize < LEAST_FREE_BYTES ? null : mkdtempSync(join(MEMORY, `benefits-sidecar-${name}-`));
  } catch {
    return null;
  }
}
