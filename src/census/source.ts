import type { CensusContent } from './reading.ts';

/** Where a census is fetched from when the service asks for one; with `push` there is none, payroll brings it. */
export type CensusSource = {
  /**
   * Begins to read an employer's newest census. Throws `SourceFailed` when it can't be had; the content may throw
   * it later, when it breaks off.
   */
  fetch(employerId: string, signal: AbortSignal): Promise<CensusContent>;
};

/** The kinds of sources: none, a folder, an address, a function of the program that embeds the sidecar. */
export const CENSUS_FROM = ['push', 'dir', 'http', 'function'] as const;
export type CensusFrom = (typeof CENSUS_FROM)[number];

/** The source gave no census. The message says why and what to do, names no path of a file, and holds no data. */
export class SourceFailed extends Error {
  readonly code = 'CENSUS_SOURCE_FAILED';
}
