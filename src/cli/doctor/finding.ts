import { isAppError } from '../../errors.ts';
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
