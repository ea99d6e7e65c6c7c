import type { Dispatcher } from 'undici';
import { type Content, type Outcome, retryAfterMs } from './retry.ts';

/**
 * A body is read up to here, and the connection dropped if there is more. A success that is longer is retried, so this
 * leaves room for a service that returns a line for each employee of a census.
 */
export const ANSWER_READ_BYTES = 1024 * 1024;

/** Reads what the service answered. Throws when the connection breaks before the answer's end. */
export async function readAnswer(answer: Dispatcher.ResponseData, now: Date): Promise<Outcome> {
  const { statusCode: status, headers } = answer;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of answer.body as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    // Leaving the loop destroys the body and with it the connection.
    if (bytes > ANSWER_READ_BYTES) break;
  }
  const body = Buffer.concat(parts).subarray(0, ANSWER_READ_BYTES);
  const dated = Date.parse(textOf(headers.date) ?? '');
  const at = Number.isNaN(dated) ? now : new Date(dated);
  return {
    answered: true,
    status,
    content: bytes > ANSWER_READ_BYTES ? 'too-long' : contentOf(body),
    retryAfterMs: retryAfterMs(textOf(headers['retry-after']), at),
    answer: body,
  };
}

/** The content type is not looked at: some services send JSON as text. */
function contentOf(body: Buffer): Content {
  // Also removes a byte order mark, which JSON.parse rejects.
  const text = body.toString('utf8').trim();
  if (text === '') return 'empty';
  try {
    const value: unknown = JSON.parse(text);
    const isError = typeof value === 'object' && value !== null && 'error' in value && Boolean(value.error);
    return isError ? 'json-error' : 'json';
  } catch {
    return 'not-json';
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
