/** The free disk space of a SQLite database. The disk of a PostgreSQL server is not visible here. */
import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SUFFIX } from '../database/files.ts';
import { fileOf } from '../database/open.ts';
import type { Db } from '../database/tables.ts';

const MIB = 1024 * 1024;
/** The log next to the database may grow to 128 MiB, and a checkpoint needs space as well. */
export const DISK_LEAST_BYTES = 256 * MIB;
/** Room for hundreds of thousands of events with their versions: days or weeks in which to act. */
export const DISK_FEW_BYTES = 1024 * MIB;

/** Free bytes of the disk, and the bytes of the database with its log. */
export type Disk = { free: number; database: number };

/** Returns the disk of the database at this path, which may not exist yet. */
export async function readDisk(path: string): Promise<Disk> {
  const { bavail, bsize } = await statfs(nearestFolder(path));
  return { free: bavail * bsize, database: (await sizeOf(path)) + (await sizeOf(path + SUFFIX.log)) };
}

/** Returns the disk of an open database, or null on PostgreSQL. */
export async function diskOf(db: Db): Promise<Disk | null> {
  const file = await fileOf(db);
  return file === null ? null : readDisk(file);
}

/** Fails while there is still some room, and warns when a backup, which is as large as the database, might not fit. */
export function judgeDisk({ free, database }: Disk): 'pass' | 'warn' | 'fail' {
  if (free < DISK_LEAST_BYTES) return 'fail';
  return free < Math.max(DISK_FEW_BYTES, database) ? 'warn' : 'pass';
}

export function diskInWords({ free, database }: Disk): string {
  return `${Math.floor(free / MIB)} MiB free, the database has ${Math.ceil(database / MIB)} MiB`;
}

/** Returns the folder of a path, or its nearest ancestor that exists. */
export function nearestFolder(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) || folder === path ? folder : nearestFolder(folder);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}
