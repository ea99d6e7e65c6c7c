import { constants } from 'node:fs';
import { access, type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { CensusConfig } from '../config.ts';
import { codeOf, isAppError } from '../errors.ts';
import { ELEMENT_BYTES_MAX } from '../formats/bytes.ts';
import { wholeFile } from '../formats/whole-file.ts';
import { CENSUS_BYTES_MAX } from './reading.ts';
import { type CensusFetcher, sourceFailed } from './source.ts';

/** Refuses a link, and does not block on a FIFO. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** File systems allow 255 bytes; `.organization.json` needs 18. */
const NAME_BYTES_MAX = 230;

/** Creates a source that reads a folder: `{employer_id}.json`, or `.csv` or `.xlsx` with `.organization.json`. */
export function createDirSource(folder: string): CensusFetcher {
  const openIn = (name: string, bytesMax: number) => openRegular(join(folder, name), name, bytesMax);
  return {
    async fetch(employerId) {
      if (!isPlainName(employerId)) {
        throw sourceFailed('the employer ID cannot be a file name: stage its census over the API');
      }
      const json = await openIn(`${employerId}.json`, CENSUS_BYTES_MAX);
      if (json !== null) return { format: 'json', content: contentOf(json) };
      const csv =
        (await openIn(`${employerId}.csv`, CENSUS_BYTES_MAX)) ??
        (await openIn(`${employerId}.xlsx`, CENSUS_BYTES_MAX));
      if (csv === null) {
        throw sourceFailed(
          'the census folder has no file for this employer: add a .json, .csv or .xlsx file',
        );
      }
      try {
        const name = `${employerId}.organization.json`;
        const file = await openIn(name, ELEMENT_BYTES_MAX);
        const organization = file && (await file.readFile().finally(() => file.close()));
        return { format: 'csv', content: contentOf(csv), organization, organizationFrom: name };
      } catch (error) {
        await csv.close();
        throw error;
      }
    },
  };
}

/**
 * Returns whether the configured source may have a census of an employer. Payroll's endpoint may have one of any
 * employer; with `push`, nothing is fetched.
 */
export async function mayFetch(source: CensusConfig['source'], employerId: string): Promise<boolean> {
  if (source.kind !== 'dir') return source.kind === 'http';
  if (!isPlainName(employerId)) return false;
  for (const extension of ['json', 'csv', 'xlsx']) {
    // A file that cannot be opened is there: its sync reports why.
    const code = await access(join(source.path, `${employerId}.${extension}`)).then(() => null, codeOf);
    if (code !== 'ENOENT') return true;
  }
  return false;
}

/** Returns whether an id is a file name: not hidden, and without a path. */
function isPlainName(id: string): boolean {
  return /^[^./\\\0][^/\\\0]*$/.test(id) && id.isWellFormed() && Buffer.byteLength(id) <= NAME_BYTES_MAX;
}

/** Returns null if there is no such file. */
async function openRegular(path: string, name: string, bytesMax: number): Promise<FileHandle | null> {
  let file: FileHandle;
  try {
    file = await open(path, FLAGS);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP')
      throw sourceFailed(`${name} is a link: the census folder must contain the file itself`);
    throw sourceFailed(`${name} cannot be opened: ${code}`);
  }
  const stat = await file.stat();
  const problem = !stat.isFile()
    ? 'is not a regular file'
    : stat.size > bytesMax
      ? `is larger than ${bytesMax / 1024 / 1024} MiB`
      : null;
  if (problem === null) return file;
  await file.close();
  throw sourceFailed(`${name} ${problem}`);
}

async function* contentOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    yield* wholeFile(file);
  } catch (error) {
    if (isAppError(error, 'FILE_CHANGED')) throw sourceFailed(error.message);
    throw sourceFailed(`the census file cannot be read: ${codeOf(error)}`);
  }
}
