const MEGABYTE = 1_000_000;

/** Whole megabytes, one at least: for people. */
export function megabytes(bytes: number): number {
  return Math.max(1, Math.round(bytes / MEGABYTE));
}
