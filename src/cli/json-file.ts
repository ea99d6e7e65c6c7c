import { readFile, stat } from 'node:fs/promises';
import { parseJson } from '../contract/json.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';

/** What the API takes as the body of a run or a setting. */
const BYTES_MAX = 8 * 1024 * 1024;

/** The value in a JSON file, which the caller checks. Throws when the file is not there or holds no JSON. */
export async function readJsonFile(path: string): Promise<unknown> {
  const name = printable(path);
  const { size } = await stat(path);
  if (size > BYTES_MAX) throw new CommandFailed(`${name} is larger than ${BYTES_MAX / 1024 / 1024} MiB`);
  const parsed = parseJson((await readFile(path, 'utf8')).replace(/^\uFEFF/, ''));
  if (!parsed.ok) throw new CommandFailed(`${name} ${parsed.reason}`);
  return parsed.value;
}
