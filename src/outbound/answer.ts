import type { Dispatcher } from 'undici';
import { type Outcome, retryAfterMs } from './retry.ts';

/** An error's JSON is read whole up to here; of anything longer the rest is not awaited and the connection dropped. */
const ANSWER_READ_BYTES = 64 * 1024;

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
    jsonError: hasJsonError(body),
    retryAfterMs: retryAfterMs(textOf(headers['retry-after']), at),
    answer: body,
  };
}

/** Whether the service itself speaks (`{"error": …}`), or something in front of it that knows no such path. */
function hasJsonError(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && 'error' in value && Boolean(value.error);
  } catch {
    return false;
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
