/** The commands that check, finalize, void, verify and delete runs. */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { Question } from '../../checks.ts';
import { readReadinessLimits } from '../../config.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { AppError } from '../../errors.ts';
import { viewStoredRun } from '../../payroll/run-view.ts';
import type { Acceptance } from '../../payroll/runs/acceptances.ts';
import { settledBy } from '../../payroll/runs/compute.ts';
import type { Finalized } from '../../payroll/runs/finalize.ts';
import { bodyOf, deleteRun, viewRun, voidRun } from '../../payroll/runs/store.ts';
import { type Difference, verifyRun, whyOtherRules } from '../../payroll/runs/verify.ts';
import { viewReadiness } from '../../readiness/report.ts';
import { finalizeChecked, readinessOfRun, unknownChecks } from '../../readiness/run-report.ts';
import { jsonOption, reasonOf } from '../arguments.ts';
import { type Act, type Context, withDatabase } from '../context.ts';
import { counted, createOutput, type Output, printable } from '../output.ts';
import { printReadiness } from '../readiness.ts';
import { printRun, printTotals } from './print.ts';
import { storedRun, unknownRun } from './show.ts';

export function addFinalizeCommands(run: Command, act: Act): void {
  run
    .command('readiness')
    .description('say whether an open run can be finalized')
    .argument('<run-id>')
    .addOption(jsonOption())
    .action(act(runReadiness));
  run
    .command('finalize')
    .description('freeze the lines that were reviewed')
    .argument('<run-id>')
    .option(
      '--etag <etag>',
      'of the run or of the readiness report that was reviewed; without it you are asked',
    )
    .option('--yes', 'finalize the current lines without being asked')
    .option('--accept <check...>', 'failed readiness checks whose findings you accept; needs --reason')
    .option('--reason <text>', 'why the findings are accepted; kept with them')
    .addOption(jsonOption())
    .action(act(runFinalize));
  run
    .command('void')
    .description('take a finalized run back; it stays readable, and counts as nothing')
    .argument('<run-id>')
    .requiredOption('--reason <text>', 'why; kept with the run (required)')
    .addOption(jsonOption())
    .action(act(runVoid));
  run
    .command('verify')
    .description('compute a finalized run again from what was known then; 0 when it is identical')
    .argument('<run-id>')
    .addOption(jsonOption())
    .action(act(runVerify));
  run
    .command('delete')
    .description('remove an open run')
    .argument('<run-id>')
    .addOption(jsonOption())
    .action(act(runDelete));
}

/** Runs every check for an open run. Returns 0 if none failed. */
function runReadiness(context: Context, runId: string, { json }: { json?: true }): Promise<number> {
  const { out, env, now } = context;
  const limits = readReadinessLimits(env);
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    if (stored.state !== 'open') {
      throw new AppError(
        'COMMAND_FAILED',
        `the run is ${stored.state}: readiness is checked before that, "benefits-sidecar run verify" proves it afterward`,
      );
    }
    const report = await readinessOfRun(db, bodyOf(stored), runId, { now: now(), ...limits });
    if (json) out.json(viewReadiness(report));
    else {
      printReadiness(out, report);
      out.print(`etag: ${report.etag}`);
    }
    return report.ready ? 0 : 1;
  });
}

type Options = { etag?: string; yes?: true; accept?: string[]; reason?: string; json?: true };

/**
 * Freezes the reviewed lines of an open run, named by their ETag. Without `--etag` it prints the totals on stderr
 * and asks; `--yes` takes the current lines.
 */
async function runFinalize(context: Context, runId: string, options: Options): Promise<number> {
  const { out, env, now } = context;
  const accept = acceptanceOf(options);
  if (options.etag !== undefined && options.yes)
    throw new AppError('WRONG_USAGE', 'give either --etag or --yes');
  const limits = readReadinessLimits(env);
  return withDatabase(context, async (db) => {
    const question = { now: now(), ...limits };
    const ifMatch = options.etag ?? (await agreed(context, db, runId, question, options.yes === true));
    if (ifMatch === null) throw new AppError('COMMAND_FAILED', 'nothing was finalized');
    const finalized = await finalizeChecked(db, runId, { ifMatch, accept, question });
    if (!('stored' in finalized)) throw await refusalOf(context, db, finalized, runId);
    const { stored } = finalized;
    const shown = await viewStoredRun(db, await viewRun(db, stored), stored);
    if (options.json) out.json(shown);
    else printRun(out, shown);
    return 0;
  });
}

function acceptanceOf({ accept, reason }: Options): Acceptance | null {
  if (accept === undefined && reason === undefined) return null;
  if (accept === undefined) throw new AppError('WRONG_USAGE', '--reason is for --accept');
  if (reason === undefined)
    throw new AppError('WRONG_USAGE', '--accept needs a --reason, which is kept with the findings');
  const unknown = unknownChecks(accept);
  if (unknown.length > 0)
    throw new AppError(
      'WRONG_USAGE',
      `--accept must name checks that "benefits-sidecar run readiness" prints. These are unknown: ${unknown.join(', ')}`,
    );
  return { checks: accept, reason: reasonOf(reason), acceptedBy: 'command line' };
}

/**
 * Prints the totals and the failed checks and returns the ETag of the readiness report, or null if the person does
 * not agree.
 */
async function agreed(
  { out, env, stdin = process.stdin, stopped }: Context,
  db: Db,
  runId: string,
  question: Question,
  yes: boolean,
): Promise<string | null> {
  const isAsked = !yes && stdin.isTTY === true && out.stderr.isTTY === true;
  if (!yes && !isAsked) {
    throw new AppError(
      'WRONG_USAGE',
      'give the --etag of the lines that were reviewed ("benefits-sidecar run show" prints it), or --yes for those of now',
    );
  }
  const stored = await storedRun(db, runId);
  if (stored.state !== 'open') throw notOpen(stored.state);
  const view = await viewRun(db, stored);
  const report = await readinessOfRun(db, bodyOf(stored), runId, question);
  if (yes) return report.etag;
  const stderr = onStderr(out, env);
  printTotals(stderr, { ...view, employees: view.outcome.employees });
  printReadiness(stderr, { ...report, checks: report.checks.filter((check) => check.result === 'fail') });
  const asked = `Finalize ${view.totals.lines} lines of ${printable(runId)}? It can only be voided afterward. [yes/no] `;
  const answer = await ask(stdin, out, `\n${asked}`, stopped());
  return /^\s*y(es)?\s*$/i.test(answer ?? '') ? report.etag : null;
}

/** Returns an output whose results go to stderr. */
function onStderr({ stderr }: Output, env: Context['env']): Output {
  return createOutput({ stdout: stderr, stderr }, env, () => {});
}

/** Returns the person's answer, or null after Ctrl-C or Ctrl-D. */
async function ask(
  input: NonNullable<Context['stdin']>,
  { stderr: output }: Output,
  question: string,
  signal: AbortSignal,
): Promise<string | null> {
  const asking = createInterface({ input, output });
  const ended = once(asking, 'close').then(() => null);
  try {
    return await Promise.race([asking.question(question, { signal }).catch(() => null), ended]);
  } finally {
    asking.close();
  }
}

async function refusalOf(
  { out, env }: Context,
  db: Db,
  finalized: Exclude<Finalized, { stored: unknown }>,
  runId: string,
): Promise<AppError> {
  switch (finalized.outcome) {
    case 'unknown':
      return unknownRun(runId);
    case 'not-open':
      return notOpen((await storedRun(db, runId)).state);
    case 'stale': {
      const { etag } = await viewRun(db, await storedRun(db, runId));
      return new AppError(
        'COMMAND_FAILED',
        `the lines changed since they were reviewed: look at them again; their ETag is ${etag} now`,
      );
    }
    case 'changed':
      return new AppError(
        'COMMAND_FAILED',
        'Payroll data changed while the run was being finalized. Review the run, then finalize it again.',
      );
    case 'date-taken':
      return new AppError(
        'COMMAND_FAILED',
        `the run ${finalized.by} is finalized for this pay date, frequency and pay group: void it first, or delete this one`,
      );
    case 'not-ready': {
      const checks = finalized.report.checks.filter((check) => check.result === 'fail');
      printReadiness(onStderr(out, env), { ...finalized.report, checks });
      return new AppError(
        'COMMAND_FAILED',
        `readiness fails: ${checks.map(({ id }) => id).join(', ')}; fix it, or accept the checks with --accept and a --reason`,
      );
    }
    case 'failures-changed':
      return new AppError(
        'COMMAND_FAILED',
        'to accept findings, review "benefits-sidecar run readiness" and give the ETag that it prints as --etag',
      );
  }
}

function notOpen(state: string): AppError {
  return new AppError('COMMAND_FAILED', `the run is ${state}: void it, and create another one`);
}

/** Voids a finalized run. It stays readable, and its adjustments of earlier runs are due again. */
async function runVoid(
  context: Context,
  runId: string,
  options: { reason: string; json?: true },
): Promise<number> {
  const { out, now } = context;
  const reason = reasonOf(options.reason);
  return withDatabase(context, async (db) => {
    const at = now().toISOString();
    const outcome = await transact(db, (trx) => voidRun(trx, runId, { reason, now: at }));
    if (outcome === 'unknown') throw unknownRun(runId);
    const stored = await storedRun(db, runId);
    if (outcome === 'not-finalized') {
      const todo =
        stored.state === 'open' ? '"benefits-sidecar run delete" removes it' : 'it counts as nothing';
      throw new AppError('COMMAND_FAILED', `the run is ${stored.state}, not finalized: ${todo}`);
    }
    const settled_by = await settledBy(db, stored);
    if (options.json)
      out.json({ ...(await viewStoredRun(db, await viewRun(db, stored), stored)), settled_by });
    else out.print(`voided ${printable(runId)}`);
    if (settled_by.length > 0) {
      out.note(`Finalized runs that settled something for it: ${settled_by.map(printable).join(', ')}`);
    }
    return 0;
  });
}

/** Recomputes a finalized run from the ledger position of then. Returns 0 if every line is identical. */
function runVerify(context: Context, runId: string, { json }: { json?: true }): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const stored = await storedRun(db, runId);
    if (stored.state === 'open') {
      throw new AppError(
        'COMMAND_FAILED',
        'the run is open, so nothing is frozen yet: "benefits-sidecar run finalize" it first',
      );
    }
    const otherRules = whyOtherRules(stored);
    if (otherRules !== null) throw new AppError('COMMAND_FAILED', otherRules);
    const verified = await verifyRun(db, stored);
    const { identical, lines, difference_count, differences } = verified;
    if (json) out.json(verified);
    else if (identical) {
      out.print(
        `identical: ${counted(lines, 'line')}, computed again from ledger position ${stored.position} by rules ${stored.rules_version}`,
      );
    } else {
      for (const difference of differences) printDifference(out, difference);
      const left = difference_count - differences.length;
      if (left > 0) out.print(`… and ${left} more`);
      out.print(`NOT identical: ${difference_count} of ${lines} lines differ`);
    }
    return identical ? 0 : 1;
  });
}

function printDifference(out: Output, { employee_id, line, frozen, computed }: Difference): void {
  out.print(printable(`${employee_id}  ${line ?? 'being in the run'}`));
  out.print(printable(`    frozen    ${JSON.stringify(frozen)}`));
  out.print(printable(`    computed  ${JSON.stringify(computed)}`));
}

function runDelete(context: Context, runId: string, { json }: { json?: true }): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const outcome = await transact(db, (trx) => deleteRun(trx, runId));
    if (outcome === 'unknown') throw unknownRun(runId);
    if (outcome === 'not-open') {
      throw new AppError(
        'COMMAND_FAILED',
        'the run is not open any more, so it stays as proof: "benefits-sidecar run void" it',
      );
    }
    if (json) out.json({ id: runId, deleted: true });
    else out.print(`deleted ${printable(runId)}`);
    return 0;
  });
}
