/** Folders in `.tap` that are costly to create. The first run creates them, and later runs use them again. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './memory.ts';

export const TAP_FOLDER = fileURLToPath(new URL('../../.tap/', import.meta.url));

/**
 * Returns the path of a folder that `create` creates if it does not exist. Processes that need it at the same time each
 * create one, and the first complete one is kept: no process ever sees a part of it, even after one was killed.
 */
export async function keptFolder(
  name: string,
  create: (folder: string) => Promise<void> | void,
  within = TAP_FOLDER,
): Promise<string> {
  const kept = join(within, name);
  if (existsSync(kept)) return kept;
  mkdirSync(within, { recursive: true });
  const workplace = temporaryFolder('kept', within);
  try {
    const created = join(workplace, name);
    await create(created);
    keepFirst(created, kept);
  } finally {
    rmSync(workplace, { recursive: true, force: true });
  }
  return kept;
}

function keepFirst(created: string, kept: string): void {
  try {
    renameSync(created, kept);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
  }
}
