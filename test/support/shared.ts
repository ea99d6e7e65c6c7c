/**
 * Resources that all test files of a run share, such as a PostgreSQL server. The first file that needs it starts it in a process
 * of its own, which ends with tap's runner.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';

export type Resource = { address: string; stop(): Promise<void> };
/** A module whose `start` starts the resource. */
export type ResourceName = 'shared-postgres';

const KEEPER = fileURLToPath(new URL('./shared-keeper.ts', import.meta.url));

/** Whether tap's runner started this process. Otherwise nothing would end a shared resource. */
export const isRunByTap = process.env.TAP_CHILD_ID !== undefined;

/** Returns the address of a resource, which one of the files that call this starts. */
export async function shared(name: ResourceName): Promise<string> {
  const folder = join(tmpdir(), `benefits-sidecar-run-${process.ppid}-${name}`);
  const [address, failure] = [join(folder, 'address'), join(folder, 'failure')];
  if (isNew(folder)) {
    const args = [KEEPER, name, folder, String(process.ppid)];
    const { NODE_OPTIONS: _, ...env } = process.env;
    spawn(process.execPath, args, { detached: true, stdio: 'ignore', env }).unref();
  }
  await eventually(
    `${name} has started or failed`,
    () => [address, failure],
    (files) => files.some((file) => existsSync(file)),
  );
  if (existsSync(failure)) throw new Error(readFileSync(failure, 'utf8'));
  return readFileSync(address, 'utf8');
}

function isNew(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}
