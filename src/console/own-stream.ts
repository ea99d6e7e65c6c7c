/** Answers of the API that are too large to hold: passed on as they are written. */
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ProblemDetails } from '../api/problem.ts';
import { ApiRefusal, personOf } from './own-api.ts';

/**
 * What the API answers this person at a path, as a stream: it is written no faster than it is read, and ends with an
 * error where the answer broke off, so that nobody takes half of it for the whole. Throws `ApiRefusal`.
 */
export async function streamFromApi(
  app: FastifyInstance,
  request: FastifyRequest,
  path: string,
  accept: string,
): Promise<{ stream: Readable; headers: Readonly<Record<string, unknown>> }> {
  const answer = await app.inject({
    method: 'GET',
    url: path,
    headers: { ...personOf(request), accept },
    payloadAsStream: true,
  });
  const stream = answer.stream();
  // Nobody reads on, because the person has left: then nobody has to write on.
  stream.once('close', () => answer.raw.res.destroy());
  if (answer.statusCode >= 400) throw new ApiRefusal(JSON.parse(await text(stream)) as ProblemDetails);
  return { stream, headers: answer.headers };
}
