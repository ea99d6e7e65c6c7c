import { ConfigError } from '../../config.ts';
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
