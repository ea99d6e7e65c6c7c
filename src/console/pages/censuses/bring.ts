/** Bringing a census: a file is checked and compared first, then the same file is staged. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../../../api/problem.ts';
import type { ConsoleParts } from '../../parts.ts';
import { type Upload, upload } from '../../upload.ts';
import { outcome } from './outcome.ts';
import { censusPath, employerPath } from './paths.ts';
import type { Report, Staged } from './report.ts';

export function bringActions(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'census:write';

  upload(app, parts, { url: '/census/:employer/check', scope, file: 'census' }, async (given) => {
    const employerId = given.params.employer ?? '';
    const content = contentOf(given);
    const report = (await given.send({
      method: 'POST',
      path: `${censusPath(employerId)}/validate`,
      headers: content.headers,
      body: content.body,
    })) as Report;
    return outcome(report, { employerId, checked: content.digest(), visit: given });
  });

  upload(app, parts, { url: '/census/:employer/stage', scope, file: 'census' }, async (given) => {
    const employerId = given.params.employer ?? '';
    const { headers, body } = contentOf(given, given.query.checked ?? '');
    const staged = (await given.send({
      method: 'PUT',
      path: censusPath(employerId),
      headers,
      body,
    })) as Staged;
    return { go: `${employerPath(employerId)}?staged=${staged.census_id}` };
  });
}

/**
 * The file as the API takes it. `digest` is that of all that was sent, and complete when the API has answered.
 * `checked`: the digest of what a person has seen the check of; another file ends in an error before its last bytes
 * are passed on, so that nothing of it is staged.
 */
function contentOf({ filename, file, small }: Upload, checked: string | null = null) {
  const [, ending] = /\.(json|csv)$/i.exec(filename) ?? [];
  if (ending === undefined) {
    throw new Refusal('invalid-request', 'a census is a .json or .csv file: its name tells how it is read');
  }
  const isCsv = ending.toLowerCase() === 'csv';
  const organization = isCsv ? small.organization : undefined;
  const hash = createHash('sha256')
    .update(isCsv ? 'csv\n' : 'json\n')
    .update(organization ?? '')
    .update('\n');
  let digest = '';
  async function* passing(): AsyncGenerator<Buffer> {
    let held: Buffer | null = null;
    for await (const part of file as AsyncIterable<Buffer>) {
      hash.update(part);
      if (held !== null) yield held;
      held = part;
    }
    digest = hash.digest('base64url');
    if (checked !== null && checked !== digest) {
      throw new Refusal('conflict', 'this is another file than the one that was checked: check it first');
    }
    if (held !== null) yield held;
  }
  return {
    headers: {
      'content-type': isCsv ? 'text/csv' : 'application/json',
      // As bytes, as the header of a request over the network would come in.
      ...(organization !== undefined && { 'census-organization': organization.toString('latin1') }),
    },
    body: Readable.from(passing(), { objectMode: false }),
    digest: () => digest,
  };
}
