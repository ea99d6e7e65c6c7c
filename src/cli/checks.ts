/** The marks and the summary of checks, which readiness and doctor print. */
import { counted, type Output, printWrapped } from './output.ts';

const MARKS = {
  pass: ['green', 'pass'],
  accepted: ['green', 'accepted'],
  warn: ['yellow', 'warn'],
  unknown: ['dim', ' ?  '],
  fail: ['red', 'FAIL'],
} as const;

type CheckResult = keyof typeof MARKS;

export function markOf(out: Output, result: CheckResult): string {
  const [color, word] = MARKS[result];
  return `${out.color(color, word)}  `;
}

/**
 * Prints the checks that did not pass, or all, then the summary, which `outcome` wraps into a line, and a note on stderr
 * if some are left out.
 */
export function printChecks<Check extends { result: CheckResult }>(
  out: Output,
  { checks, all }: { checks: readonly Check[]; all: boolean },
  print: (check: Check) => void,
  outcome: (summary: string) => string,
): void {
  const shown = all ? checks : checks.filter(({ result }) => result !== 'pass');
  for (const check of shown) print(check);
  printWrapped(out, '', outcome(summaryOf(checks)));
  if (shown.length < checks.length) out.note('Add --all to see the checks that passed.');
}

/** Returns `2 failures and 1 warning of 42 checks`. */
export function summaryOf(checks: readonly { result: CheckResult }[]): string {
  const count = (result: CheckResult): number => checks.filter((check) => check.result === result).length;
  const [failures, warnings, accepted, unknown] = [
    count('fail'),
    count('warn'),
    count('accepted'),
    count('unknown'),
  ];
  const parts = [
    ...(failures > 0 ? [counted(failures, 'failure')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ...(accepted > 0 ? [`${accepted} accepted`] : []),
    ...(unknown > 0 ? [`${unknown} not checked`] : []),
  ];
  const total = counted(checks.length, 'check');
  if (parts.length === 0) return `all ${total} passed`;
  return `${new Intl.ListFormat('en-US').format(parts)} of ${total}`;
}
