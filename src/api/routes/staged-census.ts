import { Readable } from 'node:stream';
import Type from 'typebox';
import { readUploadBody } from '../../census/staged.ts';
import { employerSubject } from '../../outbox/queue.ts';
import { by } from '../auth.ts';
import { CENSUS_TYPES } from '../census-body.ts';
import type { ApiParts } from '../parts.ts';
import { writeReadDown } from '../pii-read.ts';
import { notFound } from '../problem.ts';
import type { Api } from '../schemas.ts';
import { EmployerId } from './census.ts';

/** The staged census, opened and streamed: whoever may read this may read every employee's data. */
export function stagedCensusRoutes(app: Api, parts: ApiParts): void {
  const { db, encryptor, log } = parts;
  app.get(
    '/v1/employers/:employer_id/census',
    {
      config: { scope: 'pii:read', refuses: ['not-found'] },
      schema: {
        operationId: 'getCensus',
        tags: ['Census'],
        summary: "Get an employer's census",
        description:
          'The staged census as it would be uploaded, for embedding it in a request for quotes. It holds personal data: ' +
          'who reads it is written down.',
        params: EmployerId,
        response: { 200: Type.Unsafe<Readable>({ $ref: 'Census#' }) },
      },
    },
    async (request, reply) => {
      const { employer_id } = request.params;
      const body = await readUploadBody(db, encryptor, employer_id);
      if (body === null) throw notFound('staged census of an employer');
      const subject = employerSubject(employer_id);
      await writeReadDown(parts, request, { what: 'census', whatId: body.census.censusId, subject });
      log.info({ employer_id, census_id: body.census.censusId, ...by(request) }, 'a census was read');
      return reply.type(CENSUS_TYPES.json).send(Readable.from(whole(body), { objectMode: false }));
    },
  );
}

/** The body's bytes. When some are missing the connection is cut: half a census must not look like a whole one. */
async function* whole(body: {
  length: number;
  chunks: AsyncIterable<Uint8Array>;
}): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of body.chunks) {
    bytes += part.length;
    yield part;
  }
  if (bytes !== body.length) throw new Error('the census was replaced while it was read');
}
