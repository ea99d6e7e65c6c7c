/** The commands that check, finalize, void, verify and delete runs. */
import type { ResultOf } from '../../api/operation.ts';
import { acceptFindings } from '../../api/operations/payroll-run-acceptances.ts';
import { listPayrollRunFindings } from '../../api/operations/payroll-run-findings.ts';
import {
  AFTER_VOIDING,
  finalizePayrollRun,
  previewVoidOfPayrollRun,
  voidPayrollRun,
} from '../../api/operations/payroll-run-work.ts';
import {
  deletePayrollRun,
  getPayrollRun,
  getPayrollRunOutline,
  getPayrollRunReadiness,
  verifyPayrollRun,
} from '../../api/operations/payroll-runs.ts';
import { dollars } from '../../money.ts';
import { markOf } from '../checks.ts';
import { type Command, type Context, confirm, isAgreed, isTerminal } from '../command.ts';
import { failed, wrongUsage } from '../failure.ts';
import { addOperation } from '../operation-command.ts';
import type { OperationContext } from '../operation-run.ts';
import { counted, createOutput, type Output, printable } from '../output.ts';
import { printFailed, printReadiness, type ReadinessOptions, textOf } from '../readiness.ts';
import { printRun, printTotals } from './print-run.ts';

export function addFinalizeCommands(run: Command): void {
  addOperation(run, 'readiness', getPayrollRunReadiness, {
    description: 'Check whether an open run can be finalized.',
    examples: ['mb-2026-07'],
    arguments: ['run_id'],
    more: (command) => command.checks(),
    print(out, report, { all = false }: ReadinessOptions) {
      printReadiness(out, report, all);
      const { approval, etag } = report;
      if (approval !== null) {
        const by = approval.approved_by;
        out.print(
          by === null ? 'Another person must approve this run.' : `Approved by ${printable(by.name)}.`,
        );
      }
      out.print(`ETag: ${etag}`);
    },
    exitCode: ({ ready }) => (ready ? 0 : 1),
  });
  addOperation(run, 'findings', listPayrollRunFindings, {
    description: 'List all readiness findings of an open run, or the accepted ones of a final run.',
    examples: ['mb-2026-07', 'mb-2026-07 --check overlap'],
    arguments: ['run_id'],
    print(out, { findings, next_cursor }) {
      for (const finding of findings)
        out.print(`${markOf(out, finding.result)}${finding.check}: ${textOf(finding)}`);
      if (findings.length === 0) out.note('No findings.');
      if (next_cursor !== null) out.note(`There are more. Continue with --cursor ${next_cursor}`);
    },
  });
  addOperation(run, 'accept-findings', acceptFindings, {
    description: 'Accept findings of an open run, so that finalizing needs no acceptance of them.',
    examples: ['mb-2026-07 --etag 5f0c2e.81d4aa --accept overlap --reason "two dental plans until August"'],
    arguments: ['run_id'],
    flags: { accept: '--accept <check...>', reason: '--reason <text>' },
    help: { accept: 'Accept the findings of these readiness checks', reason: 'Why they are accepted' },
    more: (command) =>
      command.requiredOption('--etag <etag>', 'The ETag of the reviewed readiness report (required)'),
    input: async (_context, named, { etag }: { etag: string }) => ({ ...named, ifMatch: etag }),
    print: (out, { findings }) => out.print(`Accepted ${counted(findings, 'finding')}`),
  });
  addOperation(run, 'finalize', finalizePayrollRun, {
    description: 'Freeze the reviewed lines of a run.',
    examples: [
      'mb-2026-07',
      'mb-2026-07 --etag 5f0c2e',
      'mb-2026-07 --etag 5f0c2e.81d4aa --accept overlap --reason "two dental plans until August"',
    ],
    arguments: ['run_id'],
    flags: { accept: '--accept <check...>', reason: '--reason <text>' },
    help: {
      accept: 'Accept the findings of these readiness checks',
      reason: 'Why the findings are accepted (required with --accept)',
    },
    more: (command) =>
      command
        .option(
          '--etag <etag>',
          'The ETag of the reviewed run or readiness report. Required without a terminal',
        )
        .option('--yes', 'Show the current totals and their ETag, and finalize them without asking'),
    async input(context, named, { runId, etag }: { runId: string; etag?: string }) {
      if (etag === undefined && !isTerminal(context)) throw wrongUsage(ETAG_MISSING);
      const ifMatch = etag ?? (await agreed(context, runId));
      if (ifMatch === null) throw failed('canceled: nothing was finalized');
      return { ...named, ifMatch };
    },
    print: printRun,
  });
  addOperation(run, 'void', voidPayrollRun, {
    description: 'Void a finalized run. It stays readable, but no longer counts.',
    examples: ['mb-2026-07 --reason "wrong pay period"'],
    arguments: ['run_id'],
    flags: { reason: '--reason <text>' },
    more: (command) => command.confirmed(),
    async input(context, named, { runId }: { runId: string }) {
      const outline = await context.perform(getPayrollRunOutline, { params: { run_id: runId } });
      if (outline.state !== 'finalized') return named;
      const concerned = await context.perform(previewVoidOfPayrollRun, { params: { run_id: runId } });
      const effects = effectsOfVoiding(outline, concerned);
      await confirm(context, effects, `Void ${printable(runId)}? It cannot be finalized again.`);
      if (context.yes) for (const effect of effects) context.out.note(printable(effect));
      return named;
    },
    print: (out, { id }) => out.print(`Voided ${id}`),
  });
  addOperation(run, 'verify', verifyPayrollRun, {
    description: 'Compute a finalized run again and compare every line.',
    examples: ['mb-2026-07'],
    arguments: ['run_id'],
    print: printVerification,
    exitCode: ({ identical }) => (identical ? 0 : 1),
  });
  addOperation(run, 'delete', deletePayrollRun, {
    description: 'Delete an open run.',
    examples: ['mb-2026-07'],
    arguments: ['run_id'],
    more: (command) => command.confirmed(),
    async input(context, named, { runId }: { runId: string }) {
      const outline = await context.perform(getPayrollRunOutline, { params: { run_id: runId } });
      const { state, employer_id, pay_date } = outline;
      const effect = `${runId}: ${employer_id}, pay date ${pay_date}. It was never finalized.`;
      if (state === 'open') await confirm(context, [effect], 'Delete it?');
      return named;
    },
    print: (out, _, { runId }) => out.print(`Deleted ${runId}`),
  });
}

const ETAG_MISSING =
  'without a terminal, add the --etag of the reviewed lines, which "benefits-sidecar run show" and "run readiness" print';

/** Prints the totals, the failed checks and the ETag. Returns the ETag of the report, or null if the user does not agree. */
async function agreed(context: OperationContext, runId: string): Promise<string | null> {
  const params = { run_id: runId };
  const report = await context.perform(getPayrollRunReadiness, { params });
  const { totals, employees } = await context.perform(getPayrollRun, { params });
  const stderr = onStderr(context);
  printTotals(stderr, { totals, employees, etag: report.etag });
  printFailed(stderr, report);
  if (context.yes) return report.etag;
  const question = `Finalize ${counted(totals.lines, 'line')} of ${printable(runId)}? A finalized run can only be voided.`;
  return (await isAgreed(context, question)) ? report.etag : null;
}

/** Returns an output whose results go to stderr. */
function onStderr({ out: { stderr }, env }: Context): Output {
  return createOutput({ stdout: stderr, stderr }, env, () => {});
}

function printVerification(out: Output, verified: ResultOf<typeof verifyPayrollRun>): void {
  const { identical, lines, difference_count, differences } = verified;
  if (identical) {
    out.print(`Identical: ${counted(lines, 'line')}, computed again`);
    return;
  }
  for (const { employee_id, line, frozen, computed } of differences) {
    out.print(printable(`${employee_id}  ${line ?? 'membership in the run'}`));
    out.print(printable(`    frozen    ${JSON.stringify(frozen)}`));
    out.print(printable(`    computed  ${JSON.stringify(computed)}`));
  }
  const left = difference_count - differences.length;
  if (left > 0) out.print(`… and ${left} more`);
  out.print(`NOT identical: ${counted(difference_count, 'difference')} in ${counted(lines, 'line')}`);
}

type Outline = ResultOf<typeof getPayrollRunOutline>;

/** Returns sentences for people about what voiding a finalized run changes elsewhere. */
function effectsOfVoiding(
  { employer_id, pay_date, pay_frequency, totals, taken_reports }: Outline,
  { settled_by, decisions, overrides }: ResultOf<typeof previewVoidOfPayrollRun>,
): string[] {
  const effects = [
    `${counted(totals?.lines ?? 0, 'line')}, employees pay ${dollars(totals?.member_amount ?? '0')}: they no longer count. ${AFTER_VOIDING}`,
    `Another ${pay_frequency} run of ${employer_id} can then be finalized for ${pay_date}.`,
  ];
  const reports = taken_reports.map(({ id, lines }) => `${id} (${counted(lines, 'line')})`).join(', ');
  if (reports !== '')
    effects.push(`Report these deductions taken again for the run that replaces it: ${reports}.`);
  const runs = settled_by.join(', ');
  if (runs !== '') effects.push(`These finalized runs have adjustments or arrears of it: ${runs}.`);
  const repeated = decisions.filter(({ action }) => action === 'take' || action === 'hold').length;
  if (repeated > 0)
    effects.push(
      `${counted(repeated, 'decision')} about its open items must be repeated for the run that replaces it.`,
    );
  if (overrides.length > 0)
    effects.push(`${counted(overrides.length, 'override')} must be repeated in the run that replaces it.`);
  return effects;
}
