import { engineOfUrl } from '../../database/engine.ts';
import { sqlitePath } from '../../database/open.ts';
import { diskInWords, judgeDisk, readDisk } from '../../observe/disk.ts';
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
