/** Reads an employer's census through its file format. */
import { CENSUS_FILE, type CensusContent } from '../../census/reading.ts';
import type { CensusFetcher } from '../../census/source.ts';
import type { SharedNow } from '../../database/engine.ts';
import type { Db } from '../../database/tables.ts';
import { dayAt } from '../../database/time-zone.ts';
import { noRepairs, recordsThrough, storedFormat } from '../../formats/repair.ts';
import type { Encryptor } from '../../security/encryption.ts';
import { noteRead, organizationOf, readFormat } from './file-formats.ts';

type Reading = { db: Db; encryptor: Encryptor; sharedNow: SharedNow };

/** Returns a CSV census with the rows and the organization that the employer's format makes of it, if it has one. */
export async function throughFormat(
  { db, encryptor, sharedNow }: Reading,
  employer_id: string,
  content: CensusContent,
): Promise<CensusContent> {
  const stored = content.format === 'csv' ? await readFormat(db, employer_id, 'census') : null;
  if (stored === null) return content;
  const repairs = noRepairs();
  const today = dayAt(db, await sharedNow(db));
  const reading = { kind: CENSUS_FILE, find: storedFormat(stored.format, CENSUS_FILE), today };
  return {
    ...content,
    organization: content.organization ?? organizationOf(encryptor, employer_id, 'census', stored),
    through: {
      records: (bytes) => recordsThrough(bytes, reading, repairs),
      repairs,
      noteRead: (trx, now) => noteRead(trx, { employer_id, kind: 'census', version: stored.version }, now),
    },
  };
}

/** Returns a source whose censuses are read through the formats of their employers. */
export function sourceThroughFormats(reading: Reading, source: CensusFetcher): CensusFetcher {
  return {
    fetch: async (employerId, signal) =>
      throughFormat(reading, employerId, await source.fetch(employerId, signal)),
  };
}
