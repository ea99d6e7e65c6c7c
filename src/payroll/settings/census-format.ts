/** Reads an employer's census through its file format. */
import { CENSUS_FILE, type CensusContent } from '../../census/reading.ts';
import type { CensusFetcher } from '../../census/source.ts';
import type { Staging } from '../../census/staged.ts';
import { dayAt } from '../../database/time-zone.ts';
import { fileReader, storedFormat } from '../../formats/repair.ts';
import { noteRead, organizationOf, readFormat } from './file-formats.ts';

/** Returns a CSV census with the rows and the organization that the employer's format makes of it, if it has one. */
export async function throughFormat(
  { db, encryptor, sharedNow }: Staging,
  employer_id: string,
  content: CensusContent,
): Promise<CensusContent> {
  const stored = content.format === 'csv' ? await readFormat(db, employer_id, 'census') : null;
  if (stored === null) return content;
  const today = dayAt(db, await sharedNow(db));
  const find = storedFormat(stored.format, CENSUS_FILE);
  return {
    ...content,
    organization: content.organization ?? organizationOf(encryptor, employer_id, 'census', stored),
    through: {
      ...fileReader({ kind: CENSUS_FILE, find, today }),
      noteRead: (trx, now) => noteRead(trx, { employer_id, kind: 'census', version: stored.version }, now),
    },
  };
}

/** Returns a source whose censuses are read through the formats of their employers. */
export function sourceThroughFormats(parts: Staging, source: CensusFetcher): CensusFetcher {
  return {
    fetch: async (employerId, signal) =>
      throughFormat(parts, employerId, await source.fetch(employerId, signal)),
  };
}
