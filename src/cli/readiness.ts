import { getReadiness, textsOfCheck } from '../api/operations/readiness.ts';
import type { CheckResult, Finding, ReadinessReport } from '../checks.ts';
import { markOf, printChecks, summaryOf } from './checks.ts';
import type { Command } from './command.ts';
import { addOperation } from './operation-command.ts';
import { type Output, printable, printWrapped } from './output.ts';

export type ReadinessOptions = { all?: boolean };

export function addReadinessCommand(program: Command): void {
  addOperation(program, 'readiness', getReadiness, {
    description: 'Check whether payroll runs can rely on the ledger now.',
    examples: ['', '--employer maple-bakery', '--all'],
    help: { employer_id: 'Check this employer (default: all employers)' },
    more: (command) => command.checks(),
    print: (out, report, { all = false }: ReadinessOptions) => printReadiness(out, report, all),
    exitCode: ({ ready }) => (ready ? 0 : 1),
  });
}

type Report = Pick<ReadinessReport, 'checks' | 'ready'>;

export function printReadiness(out: Output, { checks, ready }: Report, all: boolean): void {
  const outcome = (summary: string) => outcomeOf({ checks, ready }, summary);
  printChecks(out, { checks, all }, (check) => printCheck(out, check), outcome);
}

/** Prints the failed checks of a report on all. */
export function printFailed(out: Output, { checks, ready }: Report): void {
  for (const check of checks) if (check.result === 'fail') printCheck(out, check);
  printWrapped(out, '', outcomeOf({ checks, ready }, summaryOf(checks)));
}

function outcomeOf({ checks, ready }: Report, summary: string): string {
  if (ready) return `Ready: ${summary}.`;
  const isBlocked = checks.some(({ id, result }) => result === 'fail' && textsOfCheck(id).isBlocking);
  const todo = isBlocked ? 'Fix the failed checks.' : 'Fix the failed checks, or accept them with a reason.';
  return `Not ready: ${summary}. ${todo}`;
}

function printCheck(
  out: Output,
  { id, result, count, advice, findings, accepted, unapplied = [] }: CheckResult,
): void {
  out.print(`${markOf(out, result)}${id}${count > 0 ? `: ${count}` : ''}`);
  const print = (text: string): void => printWrapped(out, '      ', text);
  print(advice);
  const { command } = textsOfCheck(id).fixed ?? {};
  if (command !== undefined && (result === 'warn' || result === 'fail'))
    print(`Command: benefits-sidecar ${command}`);
  if (findings.length > 0) print(findings.map(textOf).join(', '));
  for (const { employee_id, message } of unapplied) print(`${printable(employee_id)}: ${message}`);
  for (const { reason, accepted_by, ...finding } of accepted)
    print(`Accepted by ${printable(accepted_by.name)}: ${textOf(finding)}, ${printable(reason)}`);
}

/** Returns the sentence of a finding, or that the token may not see it. */
export function textOf({ text, count }: Finding): string {
  return text === undefined ? `${count} that your token may not see` : printable(text);
}
