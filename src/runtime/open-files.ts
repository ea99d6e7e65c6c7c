import { readFileSync } from 'node:fs';

/** Two listeners accept 768 connections, and the database, the service and the log need files too. */
export const OPEN_FILES_LEAST = 1_024;

/** Returns how many files this process may open, in the text of `/proc/self/limits`; null if it is unlimited or unknown. */
export function openFilesLimit(limits: string): number | null {
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? null : Number(soft);
}

/** Reads the limits of this process. Only Linux has them in a file. */
export function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
