import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { engineOfUrl } from '../../database/engine.ts';
import { sqlitePath } from '../../database/open.ts';
import { type Finding, fail, pass, warn } from './finding.ts';

const MIB = 1024 * 1024;
/** The log beside the database may grow to 64 MiB, and must be able to. */
const LEAST_BYTES = 128 * MIB;
/** Some hundred thousand events, with their versions. */
const FEW_BYTES = 1024 * MIB;

/** Whether there is room where the database lies; that of a server is for its keeper to watch. */
export async function checkDisk(databaseUrl: string): Promise<Finding[]> {
  if (engineOfUrl(databaseUrl) === 'postgres') return [];
  const { bavail, bsize } = await statfs(nearestFolder(sqlitePath(databaseUrl)));
  const free = bavail * bsize;
  const message = `${Math.floor(free / MIB)} MiB are free where the database lies`;
  const id = 'disk-space';
  if (free >= FEW_BYTES) return [pass(id, message)];
  const advice = 'Make room: a full disk makes the receiver answer 503 until there is some.';
  return [free < LEAST_BYTES ? fail(id, message, advice) : warn(id, message, advice)];
}

/** The folder of a path, or the nearest one above that exists. */
export function nearestFolder(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) || folder === path ? folder : nearestFolder(folder);
}
