/** Responses that stream a whole list as one file while it is computed. */
import { Readable } from 'node:stream';
import { isFatal } from '../database/errors.ts';
import { codeOf } from '../errors.ts';
import { causeOf, type Refused } from './refusal-log.ts';
import type { ApiParts } from './route.ts';

/** Returns a function that logs an error of a response that has started, which cannot become an error response. */
export function interruptedOf(
  { method, routeOptions }: Pick<Refused, 'method' | 'routeOptions'>,
  { log, onFatal }: Pick<ApiParts, 'log' | 'onFatal'>,
): (error: unknown) => void {
  return (error) => {
    const route = `${method} ${routeOptions.url}`;
    log.error({ route, code: codeOf(error), cause: causeOf(error) }, 'a response was interrupted');
    if (isFatal(error)) onFatal(error);
  };
}

/** Reads the first page, so that what cannot be computed is refused before the response starts. */
export async function begun<Row>(
  pages: AsyncGenerator<Row[]>,
  interrupted: (error: unknown) => void,
): Promise<AsyncGenerator<Row[]>> {
  const first = await pages.next();
  return (async function* () {
    try {
      if (!first.done) yield first.value;
      yield* pages;
    } catch (error) {
      interrupted(error);
      throw error;
    }
  })();
}

/** Returns rows as newline-delimited JSON. */
export function ndjsonOf(pages: AsyncIterable<readonly object[]>): Readable {
  const texts = async function* (): AsyncGenerator<string> {
    for await (const rows of pages) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  };
  return Readable.from(texts(), { objectMode: false });
}
