import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import type { CensusConfig } from '../../config.ts';
import { codeOf } from '../../database/errors.ts';
import { ask } from './ask.ts';
import { type Finding, fail, pass, warn } from './finding.ts';

const ID = 'census-source';
/** No employer has this id, so whatever comes is no census of anybody. */
const NO_EMPLOYER = 'benefits-sidecar-doctor';

/** Whether the place that censuses are fetched from is there. For `push` the database tells (staged-censuses.ts). */
export async function checkCensusSource({ source, token }: CensusConfig): Promise<Finding[]> {
  if (source.kind === 'dir') return [checkFolder(source.path)];
  if (source.kind === 'http') return [await checkEndpoint(source.url, token)];
  return [];
}

function checkFolder(path: string): Finding {
  const advice = 'Set CENSUS_SOURCE=dir:PATH to a folder that this user can read.';
  try {
    if (!statSync(path).isDirectory()) return fail(ID, `${path} is not a folder`, advice);
    accessSync(path, constants.R_OK | constants.X_OK);
  } catch (error) {
    return fail(ID, `${path} can not be read: ${codeOf(error)}`, advice);
  }
  const censuses = readdirSync(path).filter(
    (name) => /\.(json|csv)$/.test(name) && !name.endsWith('.organization.json'),
  ).length;
  if (censuses > 0) return pass(ID, `${path} can be read and has ${censuses} censuses`);
  return warn(ID, `${path} has no census`, 'Put EMPLOYER_ID.json or EMPLOYER_ID.csv there.');
}

/** Asks for the census of an employer that does not exist: 404 is the answer of a source that is well. */
async function checkEndpoint(url: string, token: string | null): Promise<Finding> {
  const answer = await ask(url.replaceAll('{employer_id}', NO_EMPLOYER), token);
  const advice = "Mend CENSUS_SOURCE, CENSUS_SOURCE_TOKEN or payroll's endpoint.";
  if ('failure' in answer) return fail(ID, `it can not be reached: ${answer.failure}`, advice);
  const { status } = answer;
  if (status === 401 || status === 403) return fail(ID, `it refuses the token (${status})`, advice);
  if (status >= 300 && status < 400)
    return fail(ID, `it redirects (${status}), which is not followed`, advice);
  if (status >= 500) return warn(ID, `it answers ${status} for an employer that does not exist`, advice);
  return pass(ID, `it answers (${status} for an employer that does not exist)`);
}
