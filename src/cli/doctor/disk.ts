import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { engineOfUrl } from '../../database/engine.ts';
import { sqliteFile, sqlitePath } from '../../database/open.ts';
import { diskInWords, judgeDisk, readDisk } from '../../telemetry/disk.ts';
import { type Finding, fail, pass, unknown, warn } from './finding.ts';

const ID = 'disk-space';

/** Whether there is room where the database lies; that of a server is for its keeper to watch. */
export async function checkDisk(databaseUrl: string): Promise<Finding[]> {
  if (engineOfUrl(databaseUrl) === 'postgres') {
    return [unknown(ID, "the disk of a PostgreSQL server can't be seen from here: watch it there")];
  }
  const disk = await readDisk(sqlitePath(databaseUrl));
  const found = judgeDisk(disk);
  const message = diskInWords(disk);
  if (found === 'pass') return [pass(ID, message)];
  const advice =
    'Make room: a larger volume, or other files away from it; a full disk makes the receiver answer 503. Retention stops the growth; a file that was not begun with it gets smaller by backup and restore only (docs/retention.md).';
  return [found === 'fail' ? fail(ID, message, advice) : warn(ID, message, advice)];
}

/** Group and others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Checks that other users cannot replace the files of a SQLite database. A folder that does not exist yet is created
 * for its owner only. Windows reports no such permission bits.
 */
export function checkDataFolder(databaseUrl: string): Finding[] {
  if (engineOfUrl(databaseUrl) === 'postgres' || process.platform === 'win32') return [];
  const id = 'data-folder';
  const folder = dirname(sqliteFile(databaseUrl));
  if (!existsSync(folder)) return [];
  const mode = statSync(folder).mode & 0o777;
  if ((mode & WRITABLE_BY_OTHERS) === 0) return [pass(id, `only the owner of ${folder} can write to it`)];
  return [
    warn(
      id,
      `other users can write to ${folder} (mode ${mode.toString(8)}) and replace the database`,
      'Run "chmod go-w" on the folder, or move the database into a subfolder: the sidecar creates it with mode 700.',
    ),
  ];
}
