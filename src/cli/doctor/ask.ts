import { Agent, request } from 'undici';
import { codeOf } from '../../database/errors.ts';
import { VERSION } from '../../version.ts';

/** Whoever does not answer within this would not do for an upload either. */
const ANSWER_MS = 10_000;
/** Answers are not read beyond this: only their status and date matter. */
const READ_BYTES = 64 * 1024;

export type Answer = { status: number; date: Date | null } | { failure: string };

/** One GET, with a bearer token or without; nothing is followed, nothing kept. Never throws. */
export async function ask(url: string, token: string | null): Promise<Answer> {
  const agent = new Agent({ allowH2: false });
  try {
    const { statusCode, headers, body } = await request(url, {
      method: 'GET',
      headers: {
        'user-agent': `benefits-sidecar/${VERSION}`,
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      dispatcher: agent,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    await body.dump({ limit: READ_BYTES });
    const date = new Date([headers.date].flat()[0] ?? '');
    return { status: statusCode, date: Number.isNaN(date.getTime()) ? null : date };
  } catch (error) {
    return { failure: codeOf(error) || (error as Error).name };
  } finally {
    await agent.destroy();
  }
}
