import { Agent, request } from 'undici';
import { ConfigError } from '../../config.ts';
import { codeOf } from '../../database/errors.ts';
import { VERSION } from '../../version.ts';
import { describeFailure } from '../failure.ts';

/** What one check found. `unknown`: it could not be told, and the message says why. */
export type Finding = {
  id: string;
  result: 'pass' | 'warn' | 'fail' | 'unknown';
  message: string;
  /** What to do; null when nothing is to be done. */
  advice: string | null;
};

export function pass(id: string, message: string): Finding {
  return { id, result: 'pass', message, advice: null };
}
export function warn(id: string, message: string, advice: string): Finding {
  return { id, result: 'warn', message, advice };
}
export function fail(id: string, message: string, advice: string): Finding {
  return { id, result: 'fail', message, advice };
}
export function unknown(id: string, message: string, advice: string | null = null): Finding {
  return { id, result: 'unknown', message, advice };
}

/**
 * The findings of some checks. A malformed variable is told once, where the configuration is checked, and leaves
 * what needs it unknown here; anything else that goes wrong is a failure of what was looked at.
 */
export async function findingsOf(id: string, check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof ConfigError) return [unknown(id, `not checked: it needs ${error.variable}`)];
    return [fail(id, describeFailure(error), 'Mend this and run doctor again.')];
  }
}

/** Whoever does not answer within this would not do for an upload either. */
const ANSWER_MS = 10_000;
/** Answers are not read beyond this: only their status and date matter. */
const READ_BYTES = 64 * 1024;

export type Answer = { status: number; date: Date | null } | { failure: string };

/** One GET, with a bearer token or without; nothing is followed, nothing kept. Never throws. */
export async function get(url: string, token: string | null): Promise<Answer> {
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
