import type { CheckResult, ReadinessReport } from '../checks.ts';
import { readReadinessLimits } from '../config.ts';
import { readReadiness, viewReadiness } from '../readiness/report.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { type Output, printable } from './output.ts';

const MARKS = {
  pass: ['green', 'pass'],
  accepted: ['green', 'accepted'],
  warn: ['yellow', 'warn'],
  fail: ['red', 'FAIL'],
} as const;

/** Prints each check with what to do about it; exit code 0 when no check failed. */
export function readiness(
  context: Context,
  { employer, json }: { employer?: string; json?: true },
): Promise<number> {
  const { out, env, now } = context;
  const limits = readReadinessLimits(env);
  return withDatabase(context, async (db) => {
    const report = await readReadiness(db, { now: now(), employerId: employer, ...limits });
    if (json) out.json(viewReadiness(report));
    else printReadiness(out, report);
    return report.ready ? 0 : 1;
  });
}

/** Prints each check, and whether all passed. */
export function printReadiness(
  out: Output,
  { checks, ready }: Pick<ReadinessReport, 'checks' | 'ready'>,
): void {
  for (const check of checks) printCheck(out, check);
  out.print(ready ? 'ready' : 'not ready: fix what failed, or accept it with a reason');
}

function printCheck(out: Output, { id, result, count, advice, examples, accepted }: CheckResult): void {
  const [colour, word] = MARKS[result];
  out.print(`${out.colour(colour, word)}  ${id}${count > 0 ? `: ${count}` : ''}`);
  out.print(`      ${advice}`);
  if (examples.length > 0) out.print(`      ${examples.map(printable).join(', ')}`);
  for (const { example, reason, accepted_by } of accepted)
    out.print(`      accepted by ${printable(accepted_by)}: ${printable(example)}, ${printable(reason)}`);
}
