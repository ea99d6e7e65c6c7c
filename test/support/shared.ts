/**
 * Resources that all test files of a run share, such as a PostgreSQL server. The first file that needs it starts it in a process
 * of its own, which ends with tap's runner.
 */
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';
import { TAP_FOLDER } from './kept.ts';
import { isRunning } from './memory.ts';

export type Resource = { address: string; stop(): Promise<void> };

const KEEPER = fileURLToPath(new URL('./shared-keeper.ts', import.meta.url));

/** Whether tap's runner started this process. Otherwise nothing would end a shared resource. */
export const isRunByTap = process.env.TAP_CHILD_ID !== undefined;

/** Returns the name of a folder in `.tap` that only this run uses. The next run removes it. */
export const nameInRun = (name: string): string => `run-${process.ppid}-${name}`;

/** Returns the address of a resource, which one of the files that call this starts. The module exports `start`. */
export async function shared(module: URL): Promise<string> {
  const name = basename(module.pathname, '.ts');
  const folder = join(TAP_FOLDER, nameInRun(name));
  const [address, failure] = [join(folder, 'address'), join(folder, 'failure')];
  if (isNew(folder)) startKeeper(module, folder, failure);
  await eventually(
    `${name} has started or failed`,
    () => [address, failure],
    (files) => files.some((file) => existsSync(file)),
  );
  if (existsSync(failure)) throw new Error(`${name} did not start: ${readFileSync(failure, 'utf8')}`);
  return readFileSync(address, 'utf8');
}

/** Starts the keeper. Every file that waits for it sees its output if it ends, however it does. */
function startKeeper(module: URL, folder: string, failure: string): void {
  const output = join(folder, 'output');
  const log = openSync(output, 'w');
  const { NODE_OPTIONS: _, ...env } = process.env;
  const keeper = spawn(process.execPath, [KEEPER, module.href, folder, String(process.ppid)], {
    detached: true,
    stdio: ['ignore', log, log],
    env,
  });
  keeper.once('exit', (code, signal) => {
    writeWhole(failure, `it ended with ${code ?? signal}\n${readFileSync(output, 'utf8')}`);
  });
  keeper.unref();
}

/** Writes a file that readers see complete or not at all. */
export function writeWhole(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

/**
 * Removes the folders of runs that ended too early to do so. Process ids are used again: before the first test file, a
 * folder with the id of this run's runner belongs to an earlier one.
 */
export function removeEndedRuns(within = TAP_FOLDER): void {
  for (const entry of readdirSync(within)) {
    const runner = /^run-(\d+)-/.exec(entry)?.[1];
    if (runner === undefined) continue;
    if (runner === String(process.ppid) || !isRunning(Number(runner)))
      rmSync(join(within, entry), { recursive: true, force: true });
  }
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
