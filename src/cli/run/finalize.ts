/** The commands that check, finalize, void, verify and delete runs. */
import type { CheckResult, Question, ReadinessReport } from '../../checks.ts';
import { sharedClock } from '../../database/engine.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { dollars } from '../../money.ts';
import type { Acceptance } from '../../payroll/lifecycle/acceptances.ts';
import type { Finalized } from '../../payroll/lifecycle/finalize.ts';
import { deleteOpenRun } from '../../payroll/lifecycle/overrides.ts';
import { viewRun } from '../../payroll/lifecycle/results.ts';
import { outlineOf, viewStoredRun } from '../../payroll/lifecycle/run-view.ts';
import { verifyRun, whyOtherRules } from '../../payroll/lifecycle/verify.ts';
import { type Concerned, concernedByVoid } from '../../payroll/reconciliation/concerned-by-void.ts';
import { bodyOf, type StoredRun, voidRun } from '../../payroll/records/runs.ts';
import { settledBy } from '../../payroll/records/settlements.ts';
import { viewReadiness } from '../../readiness/report.ts';
import { approvalOf, finalizeChecked, notAcceptable, readinessOfRun } from '../../readiness/run-report.ts';
import { reasonOf } from '../arguments.ts';
import {
  actingIn,
  type Command,
  type Context,
  confirm,
  type DatabaseContext,
  isAgreed,
  isTerminal,
  withDatabase,
} from '../command.ts';
import { type CommandError, failed, unknownId, wrongUsage } from '../failure.ts';
import { counted, createOutput, type Output, printable, printResult } from '../output.ts';
import { keepHead } from '../performing.ts';
import { printCheck, printFailed, printReadiness, questionOf, type ReadinessOptions } from '../readiness.ts';
import { printTotals } from './print-run.ts';
import { printStoredRun, storedRun } from './show.ts';

export function addFinalizeCommands(run: Command): void {
  run
    .subcommand('readiness', 'Check whether an open run can be finalized.')
    .records('none')
    .examples('run readiness mb-2026-07')
    .argument('<run-id>', 'The id of the run')
    .checks()
    .doesOnDatabase(async (context, runId: string, { all = false }: ReadinessOptions) => {
      const { db, out } = context;
      const stored = await storedRun(db, runId);
      if (stored.state !== 'open') {
        throw failed(
          `the run is ${stored.state}, and readiness is for open runs: use "benefits-sidecar run verify"`,
        );
      }
      const report = await readinessOfRun(db, bodyOf(stored), runId, await questionOf(context));
      const approval = await approvalOf(db, stored, report, null);
      printResult(out, { ...viewReadiness(report, true), approval }, () => {
        printReadiness(out, report, all);
        if (approval !== null) {
          const by = approval.approved_by;
          out.print(
            by === null ? 'Another person must approve this run.' : `Approved by ${printable(by.name)}.`,
          );
        }
        out.print(`ETag: ${report.etag}`);
      });
      return report.ready ? 0 : 1;
    });
  run
    .subcommand('finalize', 'Freeze the reviewed lines of a run.')
    .records('run.finalize')
    .examples(
      'run finalize mb-2026-07',
      'run finalize mb-2026-07 --etag 5f0c2e',
      'run finalize mb-2026-07 --etag 5f0c2e.81d4aa --accept overlap --reason "two dental plans until August"',
    )
    .argument('<run-id>', 'The id of the run')
    .option('--etag <etag>', 'The ETag of the reviewed run or readiness report. Required without a terminal')
    .option('--yes', 'Show the current totals and their ETag, and finalize them without asking')
    .option('--accept <check...>', 'Accept the findings of these readiness checks')
    .option('--reason <text>', 'Why the findings are accepted (required with --accept)')
    .json()
    .does(async (context, runId: string, options: Options) => {
      const { now, actor } = context;
      const accept = acceptanceOf(options);
      if (options.etag === undefined && !isTerminal(context)) throw wrongUsage(ETAG_MISSING);
      await withDatabase(context, async (db) => {
        const onDatabase = { ...context, db };
        const question = await questionOf(onDatabase);
        const ifMatch = options.etag ?? (await agreed(onDatabase, runId, question));
        if (ifMatch === null) throw failed('canceled: nothing was finalized');
        const finalized = await finalizeChecked(db, runId, {
          ifMatch,
          accept,
          actor,
          sharedNow: sharedClock(now),
          question,
        });
        if (!('stored' in finalized)) throw failed(await whyRefused(onDatabase, finalized, runId, accept));
        if (finalized.outcome === 'finalized') await keepHead(onDatabase);
        await printStoredRun(onDatabase, finalized.stored);
      });
    });
  run
    .subcommand('void', 'Void a finalized run. It stays readable, but no longer counts.')
    .records('run.void')
    .examples('run void mb-2026-07 --reason "wrong pay period"')
    .argument('<run-id>', 'The id of the run')
    .reason('Why; stored with the run')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, runId: string, { reason }: { reason: string }) => {
      const { db, out, yes } = context;
      const finalized = await storedRun(db, runId);
      if (finalized.state !== 'finalized') throw notFinalized(finalized);
      const settled_by = await settledBy(db, finalized.run_id);
      const concerned = await concernedByVoid(db, runId);
      const effects = await effectsOfVoiding(db, finalized, settled_by, concerned);
      await confirm(context, effects, `Void ${printable(runId)}? It cannot be finalized again.`);
      const how = { reason, ...actingIn(context) };
      const outcome = await transact(db, (trx) => voidRun(trx, runId, how));
      const stored = await storedRun(db, runId);
      if (outcome === 'approval-missing') throw failed(APPROVAL_MISSING);
      if (outcome !== 'voided') throw notFinalized(stored);
      const shown = await viewStoredRun(db, await viewRun(db, stored), stored);
      printResult(out, { ...shown, settled_by, ...concerned }, `Voided ${runId}`);
      if (yes) for (const effect of effects) out.note(printable(effect));
    });
  run
    .subcommand('verify', 'Compute a finalized run again and compare every line.')
    .records('none')
    .examples('run verify mb-2026-07')
    .argument('<run-id>', 'The id of the run')
    .json()
    .doesOnDatabase(async ({ db, out }, runId: string) => {
      const stored = await storedRun(db, runId);
      if (stored.state === 'open') {
        throw failed(
          'the run is open, so there are no frozen lines: finalize it with "benefits-sidecar run finalize"',
        );
      }
      const otherRules = whyOtherRules(stored);
      if (otherRules !== null) throw failed(otherRules);
      const verified = await verifyRun(db, stored);
      const { identical, lines, difference_count, differences } = verified;
      printResult(out, verified, () => {
        if (identical) {
          const where = `at ledger position ${stored.position} with rules ${stored.rules_version}`;
          return out.print(`Identical: ${counted(lines, 'line')}, computed again ${where}`);
        }
        for (const { employee_id, line, frozen, computed } of differences) {
          out.print(printable(`${employee_id}  ${line ?? 'membership in the run'}`));
          out.print(printable(`    frozen    ${JSON.stringify(frozen)}`));
          out.print(printable(`    computed  ${JSON.stringify(computed)}`));
        }
        const left = difference_count - differences.length;
        if (left > 0) out.print(`… and ${left} more`);
        out.print(`NOT identical: ${difference_count} of ${counted(lines, 'line')} differ`);
      });
      return identical ? 0 : 1;
    });
  run
    .subcommand('delete', 'Delete an open run.')
    .records('run.delete')
    .examples('run delete mb-2026-07')
    .argument('<run-id>', 'The id of the run')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, runId: string) => {
      const { db, out } = context;
      const { state, employer_id, pay_date } = await storedRun(db, runId);
      if (state === 'open') {
        const effect = `${runId}: ${employer_id}, pay date ${pay_date}. It was never finalized.`;
        await confirm(context, [effect], 'Delete it?');
      }
      const outcome = await transact(db, (trx) => deleteOpenRun(trx, runId, actingIn(context)));
      if (outcome === 'unknown') throw unknownId('run', runId, 'run list');
      if (outcome === 'not-open') {
        throw failed('the run was finalized, so it is kept: void it with "benefits-sidecar run void"');
      }
      printResult(out, { id: runId, deleted: true }, `Deleted ${runId}`);
    });
}

type Options = { etag?: string; accept?: string[]; reason?: string };

function acceptanceOf({ accept, reason }: Options): Acceptance | null {
  if (accept === undefined && reason === undefined) return null;
  if (accept === undefined) throw wrongUsage('--reason needs --accept');
  if (reason === undefined) throw wrongUsage('--accept needs --reason, which is stored with the findings');
  const wrong = notAcceptable(accept);
  if (wrong.length > 0)
    throw wrongUsage(
      `--accept must name checks of "benefits-sidecar run readiness" that can be accepted. These cannot: ${wrong.join(', ')}`,
    );
  return { checks: accept, reason: reasonOf(reason) };
}

const ETAG_MISSING =
  'without a terminal, add the --etag of the reviewed lines, which "benefits-sidecar run show" and "run readiness" print';

/** Prints the totals, the failed checks and the ETag. Returns the ETag of the report, or null if the user does not agree. */
async function agreed(context: DatabaseContext, runId: string, at: Question): Promise<string | null> {
  const { db, yes } = context;
  const stored = await storedRun(db, runId);
  if (stored.state !== 'open') throw failed(notOpen(stored));
  const view = await viewRun(db, stored);
  const report = await readinessOfRun(db, bodyOf(stored), runId, at);
  const stderr = onStderr(context);
  printTotals(stderr, { ...view, employees: view.outcome.employees, etag: report.etag });
  printFailed(stderr, report);
  if (yes) return report.etag;
  const question = `Finalize ${counted(view.totals.lines, 'line')} of ${printable(runId)}? A finalized run can only be voided.`;
  return (await isAgreed(context, question)) ? report.etag : null;
}

/** Returns an output whose results go to stderr. */
function onStderr({ out: { stderr }, env }: Context): Output {
  return createOutput({ stdout: stderr, stderr }, env, () => {});
}

function failedOf({ checks }: ReadinessReport): CheckResult[] {
  return checks.filter(({ result }) => result === 'fail');
}

async function whyRefused(
  context: DatabaseContext,
  finalized: Exclude<Finalized, { stored: unknown }>,
  runId: string,
  accept: Acceptance | null,
): Promise<string> {
  const { db } = context;
  switch (finalized.outcome) {
    case 'unknown':
    case 'not-open':
      return notOpen(await storedRun(db, runId));
    case 'etag-missing':
      return ETAG_MISSING;
    case 'stale': {
      const stored = await storedRun(db, runId);
      if (stored.state !== 'open') return notOpen(stored);
      const { etag } = await viewRun(db, stored);
      return `the lines changed since the review: review them again. Their ETag is now ${etag}`;
    }
    case 'changed':
      return 'payroll data changed while the run was being finalized: review the run, then finalize it again';
    case 'date-taken':
      return `the run ${finalized.by} is finalized for this pay date, frequency and pay group: void that run, or delete this one`;
    case 'not-ready': {
      const checks = failedOf(finalized.report).filter(({ id }) => accept?.checks.includes(id) !== true);
      for (const check of checks) printCheck(onStderr(context), check);
      return `these readiness checks fail: ${checks.map(({ id }) => id).join(', ')}. Fix them, or accept them with --accept and --reason`;
    }
    case 'approval-missing':
      return APPROVAL_MISSING;
    case 'findings-changed':
      return 'with --accept, --etag must be the ETag of the current readiness report: review "benefits-sidecar run readiness", then add the ETag that it prints';
  }
}

const APPROVAL_MISSING =
  'this employer requires a second approval: have a person approve the current lines and findings with POST …/approval or in the console';

function notOpen({ state }: StoredRun): string {
  return `the run is ${state}: ${state === 'voided' ? '' : 'void it, then '}create another run`;
}

function notFinalized({ state }: StoredRun): CommandError {
  const advice = state === 'open' ? 'delete it with "benefits-sidecar run delete"' : 'nothing is left to do';
  return failed(`the run is ${state}, not finalized: ${advice}`);
}

/** Returns sentences for people about what voiding a finalized run changes elsewhere. */
async function effectsOfVoiding(
  db: Db,
  stored: StoredRun,
  settledBy: readonly string[],
  { decisions, overrides }: Concerned,
): Promise<string[]> {
  const { totals, taken_reports } = await outlineOf(db, stored);
  const { employer_id, pay_date, pay_frequency } = stored;
  const effects = [
    `${counted(totals?.lines ?? 0, 'line')}, employees pay ${dollars(totals?.member_amount ?? '0')}: later runs return what payroll took for them.`,
    `Another ${pay_frequency} run of ${employer_id} can then be finalized for ${pay_date}.`,
  ];
  const reports = taken_reports.map(({ id, lines }) => `${id} (${counted(lines, 'line')})`).join(', ');
  if (reports !== '')
    effects.push(`Report these deductions taken again for the run that replaces it: ${reports}.`);
  const runs = settledBy.join(', ');
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
