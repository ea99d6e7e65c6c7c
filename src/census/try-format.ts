/** Tries a census file with a proposed format. Stores nothing. */
import type { FileFormat } from '../formats/file-format.ts';
import { proposeFormat, type Tried, tried } from '../formats/proposal.ts';
import { wholeFileReader } from '../formats/repair.ts';
import { checkCensus } from './check.ts';
import { CENSUS_FILE } from './reading.ts';

/** Proposes a format, and checks the file as it would be read with it. `before`: the employer's format. */
export async function proposeCensusFormat(
  content: AsyncIterable<Uint8Array>,
  before: FileFormat | null,
  today: string,
): Promise<Tried> {
  const proposal = proposeFormat(CENSUS_FILE, before);
  const through = wholeFileReader({ kind: CENSUS_FILE, find: proposal.find, today });
  const { repairs } = through;
  const checked = await checkCensus({ format: 'csv', content, through });
  await through.readRest();
  // The file has no organization.
  const problems = checked.problems.filter(({ path }) => path !== 'organization');
  const problem_count = checked.problemCount - (checked.problems.length - problems.length);
  return tried(CENSUS_FILE, proposal, repairs, { problem_count, problems });
}
