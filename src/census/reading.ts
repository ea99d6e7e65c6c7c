import type { Problem } from '../contract/check.ts';

/** What both formats share: the pieces a census is read into, and the limits of reading. */

/**
 * One census. Upwards of 400,000 employees at 600 bytes each: more than any employer of the country has in one
 * census, and few enough seconds to check and upload.
 */
export const CENSUS_BYTES_MAX = 256 * 1024 * 1024;
/** What is kept of every row is its id, to see it twice: this bounds them. No more fit into the bytes above. */
export const EMPLOYEES_MAX = 1_000_000;

export type CensusFormat = 'json' | 'csv';

export type CensusContent = {
  readonly format: CensusFormat;
  readonly content: AsyncIterable<Uint8Array>;
  /** The organization as JSON, for a CSV, which has no place for it. */
  readonly organization?: Uint8Array | null;
};

/** Employees come in the order of the rows; one that can't be read has its place too. */
export type Piece =
  | { readonly kind: 'organization'; readonly value: unknown }
  | { readonly kind: 'employee'; readonly value: unknown }
  /** An employee that could not be read; the reading goes on behind it. */
  | { readonly kind: 'unreadable-employee'; readonly rule: string }
  | { readonly kind: 'problem'; readonly problem: Problem };

/** The path of a row, the first one being 0. */
export function employeePath(index: number): string {
  return `employees[${index}]`;
}
