import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Question } from '../checks.ts';
import { readReadinessLimits } from '../config.ts';
import type { Db } from '../database/tables.ts';
import { viewStoredRun } from '../payroll/run-view.ts';
import type { Acceptance } from '../payroll/runs/acceptances.ts';
import type { Finalized } from '../payroll/runs/finalize.ts';
import { bodyOf, viewRun } from '../payroll/runs/store.ts';
import { finalizeChecked, readinessOfRun } from '../readiness/run-report.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { createOutput, type Output, printable } from './output.ts';
import { printReadiness } from './readiness.ts';
import { reasonOf } from './reason.ts';
import { storedRun, unknownRun } from './run-find.ts';
import { printRun, printTotals } from './run-print.ts';

type Options = { etag?: string; yes?: true; accept?: string[]; reason?: string; json?: true };

/**
 * Freezes the lines of an open run: those that were reviewed, by their ETag. Without `--etag` it shows the totals on
 * stderr and asks; `--yes` takes what is computed now.
 */
export async function runFinalize(context: Context, runId: string, options: Options): Promise<number> {
  const { out, env, now } = context;
  const accept = acceptanceOf(options);
  if (options.etag !== undefined && options.yes) throw new WrongUsage('give either --etag or --yes');
  const limits = readReadinessLimits(env);
  return withDatabase(context, async (db) => {
    const question = { now: now(), ...limits };
    const ifMatch = options.etag ?? (await agreed(context, db, runId, question, options.yes === true));
    if (ifMatch === null) throw new CommandFailed('nothing was finalized');
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
  if (accept === undefined) throw new WrongUsage('--reason is for --accept');
  if (reason === undefined)
    throw new WrongUsage('--accept needs a --reason, which is kept with the findings');
  return { checks: accept, reason: reasonOf(reason), acceptedBy: 'command line' };
}

/** Shows the totals and the failed checks, and returns the ETag of the readiness report; null if the person does not agree. */
async function agreed(
  { out, env, stdin = process.stdin, stopped }: Context,
  db: Db,
  runId: string,
  question: Question,
  yes: boolean,
): Promise<string | null> {
  const isAsked = !yes && stdin.isTTY === true && out.stderr.isTTY === true;
  if (!yes && !isAsked) {
    throw new WrongUsage(
      'give the --etag of the lines that were reviewed ("benefits-sidecar run show" prints it), or --yes for those of now',
    );
  }
  const stored = await storedRun(db, runId);
  if (stored.state !== 'open') throw notOpen(stored.state);
  const view = await viewRun(db, stored);
  const report = await readinessOfRun(db, bodyOf(stored), runId, question);
  if (yes) return report.etag;
  const beside = createOutput({ stdout: out.stderr, stderr: out.stderr }, env, () => {});
  printTotals(beside, { ...view, employees: view.outcome.employees });
  printReadiness(beside, { ...report, checks: report.checks.filter((check) => check.result === 'fail') });
  const asked = `Finalize ${view.totals.lines} lines of ${printable(runId)}? It can only be voided afterward. [yes/no] `;
  const answer = await ask(stdin, out, `\n${asked}`, stopped());
  return /^\s*y(es)?\s*$/i.test(answer ?? '') ? report.etag : null;
}

/** What a person answers; null when there is no answer, as after Ctrl-C or Ctrl-D. */
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
): Promise<CommandFailed> {
  switch (finalized.outcome) {
    case 'unknown':
      return unknownRun(runId);
    case 'not-open':
      return notOpen((await storedRun(db, runId)).state);
    case 'stale': {
      const { etag } = await viewRun(db, await storedRun(db, runId));
      return new CommandFailed(
        `the lines changed since they were reviewed: look at them again; their ETag is ${etag} now`,
      );
    }
    case 'changed':
      return new CommandFailed('payroll changed while the run was frozen: look at it, then finalize');
    case 'date-taken':
      return new CommandFailed(
        `the run ${finalized.by} is finalized for this pay date, frequency and pay group: void it first, or delete this one`,
      );
    case 'not-ready': {
      const checks = finalized.report.checks.filter((check) => check.result === 'fail');
      const beside = createOutput({ stdout: out.stderr, stderr: out.stderr }, env, () => {});
      printReadiness(beside, { ...finalized.report, checks });
      return new CommandFailed(
        `readiness fails: ${checks.map(({ id }) => id).join(', ')}; fix it, or accept the checks with --accept and a --reason`,
      );
    }
    case 'failures-changed':
      return new CommandFailed(
        'to accept findings, review "benefits-sidecar run readiness" and give the ETag that it prints as --etag',
      );
  }
}

function notOpen(state: string): CommandFailed {
  return new CommandFailed(`the run is ${state}: void it, and create another one`);
}
