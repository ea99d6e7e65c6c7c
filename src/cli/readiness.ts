import type { CheckResult, ReadinessReport } from '../checks.ts';
import { readReadinessLimits } from '../config.ts';
import { readReadiness, viewReadiness } from '../readiness/report.ts';
import type { Command } from './command.ts';
import { type Output, printable, printResult, printWrapped } from './output.ts';

export function addReadinessCommand(program: Command): void {
  program
    .subcommand('readiness', 'Check whether payroll runs can rely on the ledger now.')
    .examples('readiness', 'readiness --employer maple-bakery')
    .option('--employer <id>', 'Check this employer (default: all employers)')
    .json()
    .doesOnDatabase(async ({ db, out, env, now }, { employer }: { employer?: string }) => {
      const question = { now: now(), employerId: employer, ...readReadinessLimits(env) };
      const report = await readReadiness(db, question);
      printResult(out, viewReadiness(report), () => printReadiness(out, report));
      return report.ready ? 0 : 1;
    });
}

const MARKS = {
  pass: ['green', 'pass'],
  accepted: ['green', 'accepted'],
  warn: ['yellow', 'warn'],
  fail: ['red', 'FAIL'],
} as const;

/** Commands that help with a check, in addition to its advice. */
const COMMANDS: Readonly<Record<string, string>> = {
  'data-loss': 'accept-loss --reason TEXT',
  'events-stale': 'doctor',
  'signatures-refused': 'doctor',
  'sending-stalled': 'doctor',
  'start-moved': 'deductions decide --help',
  'census-syncs': 'census show --employer ID --response',
};

export function printReadiness(
  out: Output,
  { checks, ready }: Pick<ReadinessReport, 'checks' | 'ready'>,
): void {
  for (const check of checks) printCheck(out, check);
  out.print(ready ? 'Ready' : 'Not ready. Fix the failed checks, or accept them with a reason.');
}

function printCheck(out: Output, { id, result, count, advice, examples, accepted }: CheckResult): void {
  const [color, word] = MARKS[result];
  out.print(`${out.color(color, word)}  ${id}${count > 0 ? `: ${count}` : ''}`);
  const print = (text: string): void => printWrapped(out, '      ', text);
  print(advice);
  const command = COMMANDS[id];
  if (command !== undefined && (result === 'warn' || result === 'fail'))
    print(`Command: benefits-sidecar ${command}`);
  if (examples.length > 0) print(examples.map(printable).join(', '));
  for (const { example, reason, accepted_by } of accepted)
    print(`Accepted by ${printable(accepted_by)}: ${printable(example)}, ${printable(reason)}`);
}
