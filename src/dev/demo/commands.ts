/** The demo: the whole loop on this machine. Each step is checked by reading back its result. */
import { aborted, type Command, type Context } from '../../cli/command.ts';
import { describeFailure } from '../../cli/failure.ts';
import { type Output, printPairs, printWrapped } from '../../cli/output.ts';
import { systemClock } from '../../clock.ts';
import type { VersionView } from '../../ledger/deduction-views.ts';
import type { PayrollRunSummary } from '../../payroll/lifecycle/run-view.ts';
import { LEDGER_STEPS, printLedger } from './ledger-steps.ts';
import { PAYROLL_STEPS } from './payroll-steps.ts';
import { type Scene, type Stage, StepFailed, setStage } from './stage.ts';

export function addDemoCommand(program: Command): void {
  program
    .subcommand('demo', 'Run the complete data flow with simulated systems, on this machine.')
    .records('none')
    .examples('demo', 'demo --once --verbose')
    .option('--once', 'Stop after the last step (default: keep running until Ctrl-C)')
    .option('--verbose', 'Show each event, run, line and deduction (default: only the results of each step)')
    .does(({ out, stopped }: Context, { once = false, verbose = false }: DemoFlags) =>
      runDemo({ once, verbose, out, signal: stopped() }),
    );
}

type DemoFlags = { once?: boolean; verbose?: boolean };
/** `once`: ends after the last step instead of staying up. Tests replace the stage by `set`. */
type DemoOptions = DemoFlags & { out: Output; signal: AbortSignal; set?: () => Promise<Stage> };

const STEPS = [...LEDGER_STEPS, ...PAYROLL_STEPS];
/** Maximum time of a step. Each wait within a step ends earlier, so the error names the wait. */
const STEP_WITHIN_MS = 90_000;

/**
 * Plays the demo and, unless `once`, stays up until `signal`. Returns 0 if every step succeeded. Always stops
 * everything and removes the scratch folder.
 */
export async function runDemo({ once, verbose, out, signal, set = setStage }: DemoOptions): Promise<number> {
  const began = performance.now();
  const stage = await set();
  const ending = new AbortController();
  const stopping = AbortSignal.any([signal, ending.signal]);
  void stage.sidecar.failed.then((error) => ending.abort(error));
  try {
    out.print(`${out.color('bold', 'benefits-sidecar demo: census upload, deductions, payroll runs')}\n`);
    if (!(await playDemo(out, stage, stopping, verbose))) return 1;
    if (verbose) for (const employerId of stage.censuses.keys()) await printLedger(out, stage, employerId);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    out.print(`\n${out.color('green', `All ${STEPS.length} steps succeeded in ${seconds} s.`)}`);
    if (once) return 0;
    if (verbose) printAddresses(out, stage);
    await invite(out, stage);
    await aborted(stopping);
    if (signal.aborted) return 0;
    out.note(`The sidecar ended unexpectedly: ${describeFailure(stopping.reason)}`);
    return 1;
  } finally {
    await stage.clear();
    out.print('Everything stopped. The scratch folder was deleted.');
  }
}

/** Plays the steps in order. Returns false after the first one that fails, and prints the reason. */
export async function playDemo(
  out: Output,
  stage: Stage,
  stopping: AbortSignal,
  verbose = false,
): Promise<boolean> {
  const scene: Scene = {
    stage,
    now: systemClock,
    show: (text, indent = 3) => verbose && printWrapped(out, ' '.repeat(indent), text),
    confirm: (text) => printWrapped(out, `   ${out.color('green', 'ok')}  `, text),
  };
  for (const [index, step] of STEPS.entries()) {
    out.print(`${verbose ? '\n' : ''}${out.color('bold', `${index + 1}. ${step.title}`)}`);
    try {
      const limit = AbortSignal.any([stopping, AbortSignal.timeout(STEP_WITHIN_MS)]);
      // A step that takes too long or is stopped is abandoned.
      await Promise.race([step.play(scene), aborted(limit).then(() => Promise.reject(limit.reason))]);
    } catch (error) {
      out.note(`\nThe demo ended at step ${index + 1}.\n${reasonOf(error)}`);
      return false;
    }
  }
  return true;
}

function reasonOf(error: unknown): string {
  if (error instanceof StepFailed) return error.message;
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return `  It took longer than ${STEP_WITHIN_MS / 1_000} s.`;
  if (error instanceof DOMException) return '  It was stopped.';
  return `  ${describeFailure(error)}`;
}

function printAddresses(out: Output, { simulator, payroll, censuses, sidecar, folder }: Stage): void {
  out.print('');
  printPairs(out, {
    'benefits service': `${simulator.url}, simulated`,
    'payroll system': `${payroll.url}, simulated: ${[...censuses.keys()].join(' and ')}`,
    sidecar: `${sidecar.receiver} for webhooks, ${sidecar.api} for payroll`,
    'scratch folder': `${folder}, with its SQLite database`,
  });
}

/** Prints commands for another terminal. The token is valid only for this demo. */
async function invite(out: Output, stage: Stage): Promise<void> {
  const { api, token, sidecar, censuses } = stage;
  const versions = await api.list<VersionView>('/v1/deduction-versions');
  const late = versions.find((version) => version.late);
  const [employerId = ''] = censuses.keys();
  const runs = await api.list<PayrollRunSummary>('/v1/payroll-runs', { employer_id: employerId });
  const paths = [
    `/v1/deductions?employer_id=${encodeURIComponent(employerId)}`,
    ...(late === undefined ? [] : [`/v1/deductions/${encodeURIComponent(late.deduction_id)}/versions`]),
    '/v1/readiness',
    ...runs.slice(0, 1).map(({ id }) => `/v1/payroll-runs/${id}/lines`),
  ];
  out.print('\nEverything keeps running. To try the API, in another terminal:\n');
  out.print(`  export API=${sidecar.api} TOKEN=${token}`);
  for (const path of paths) out.print(`  curl -H "Authorization: Bearer $TOKEN" "$API${path}"`);
  out.print(`\nIn a browser: ${sidecar.api} (sign in with the token)`);
  out.print('Ctrl-C ends the demo and removes its files. `demo --verbose` shows each event, run and line.');
}
