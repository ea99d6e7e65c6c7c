import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { CensusContent } from '../census/reading.ts';
import { codeOf } from '../database/errors.ts';
import { ELEMENT_BYTES_MAX } from '../formats/bytes.ts';
import { CommandFailed, WrongUsage } from './failure.ts';

/**
 * A census from a file that a person names: `.json`, or `.csv` with its organization in `NAME.organization.json`
 * beside it. Throws when there is no such file; what is wrong inside of it the check tells.
 */
export async function openCensusFile(path: string): Promise<CensusContent> {
  const [, stem, ending] = /^(.*)\.(json|csv)$/i.exec(path) ?? [];
  if (stem === undefined || ending === undefined) {
    throw new WrongUsage('a census is a .json or .csv file: its name tells how it is read');
  }
  if (!(await stat(path)).isFile()) throw new CommandFailed(`${path} is not a file: give a .json or .csv`);
  const content = createReadStream(path);
  if (ending.toLowerCase() === 'json') return { format: 'json', content };
  return { format: 'csv', content, organization: await organizationBeside(stem) };
}

/** Null when there is none: the check then says that the organization is required. */
async function organizationBeside(stem: string): Promise<Buffer | null> {
  const path = `${stem}.organization.json`;
  try {
    const { size } = await stat(path);
    if (size > ELEMENT_BYTES_MAX) throw new CommandFailed(`${path} is too large to be one organization`);
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
