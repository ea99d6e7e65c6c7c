import { Agent, request } from 'undici';
import { codeOf, isAppError } from '../../errors.ts';
import { VERSION } from '../../version.ts';
import { describeFailure } from '../failure.ts';

/** The result of one check. `unknown`: it could not be determined; the message has the reason. */
export type Verdict = {
  result: 'pass' | 'warn' | 'fail' | 'unknown';
  message: string;
  /** Null if there is nothing to do. */
  advice: string | null;
};
export type Finding = { id: string } & Verdict;
/** Null if there is nothing to check. */
type Checked = Verdict | Finding[] | null;

export const pass = (message: string): Verdict => ({ result: 'pass', message, advice: null });
export const warn = (message: string, advice: string): Verdict => ({ result: 'warn', message, advice });
export const fail = (message: string, advice: string): Verdict => ({ result: 'fail', message, advice });
export const unknown = (message: string): Verdict => ({ result: 'unknown', message, advice: null });

/**
 * Returns the findings of a check. A malformed variable is reported by the configuration check and leaves what
 * needs it unknown. Any other error is a failure.
 */
export async function findingsOf(id: string, check: () => Checked | Promise<Checked>): Promise<Finding[]> {
  try {
    const checked = await check();
    if (Array.isArray(checked)) return checked;
    return checked === null ? [] : [{ id, ...checked }];
  } catch (error) {
    if (isAppError(error, 'CONFIG')) return [{ id, ...unknown(`not checked: it needs ${error.subject}`) }];
    return [{ id, ...fail(describeFailure(error), 'Fix this and run doctor again.') }];
  }
}

/** A slower server would not do for an upload either. */
const ANSWER_MS = 10_000;

export type Answer = { status: number; date: Date | null } | { failure: string };

/** Sends one GET, with or without a bearer token. Follows no redirect. Never throws. */
export async function get(url: string, token: string | null): Promise<Answer> {
  const agent = new Agent({ allowH2: false });
  try {
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
    const { statusCode, headers, body } = await request(url, {
      headers: { 'user-agent': `benefits-sidecar/${VERSION}`, ...authorization },
      dispatcher: agent,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    await body.dump({ limit: 64 * 1024 });
    const date = new Date([headers.date].flat()[0] ?? '');
    return { status: statusCode, date: Number.isNaN(date.getTime()) ? null : date };
  } catch (error) {
    return { failure: codeOf(error) || (error as Error).name };
  } finally {
    await agent.destroy();
  }
}
