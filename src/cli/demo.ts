/** The demo: the whole loop on this machine, each step checked by what is read back. */
import { systemClock } from '../clock.ts';
import { CENSUS_ACTS } from './demo/census-acts.ts';
import { DEDUCTION_ACTS } from './demo/deduction-acts.ts';
import { StepFailed } from './demo/expectation.ts';
import { introduce, invite } from './demo/frame.ts';
import { LEDGER_ACT, printLedger } from './demo/ledger-act.ts';
import { PAYROLL_ACTS } from './demo/payroll-acts.ts';
import type { Act, Scene } from './demo/scene.ts';
import { type Stage, setStage } from './demo/stage.ts';
import { describeFailure } from './failure.ts';
import type { Output } from './output.ts';

export type DemoOptions = {
  /** Ends after the last step instead of staying up. */
  readonly once: boolean;
  readonly out: Output;
  /** Ends the demo, at any moment. */
  readonly signal: AbortSignal;
  /** Sets up what is played on. */
  readonly set?: () => Promise<Stage>;
};

const ACTS: readonly Act[] = [...CENSUS_ACTS, ...DEDUCTION_ACTS, LEDGER_ACT, ...PAYROLL_ACTS];
/** Longer than any one wait within an act, so that the one that ran out is named. */
const ACT_WITHIN_MS = 30_000;

/**
 * Plays the demo and, unless `once`, stays up until `signal`. Answers the exit code: 0 when every step came out as
 * it must. Whatever happens, everything is stopped and the scratch folder removed.
 */
export async function runDemo({ once, out, signal, set = setStage }: DemoOptions): Promise<number> {
  const began = performance.now();
  const stage = await set();
  const ending = new AbortController();
  const stopping = AbortSignal.any([signal, ending.signal]);
  void stage.sidecar.failed.then((error) => ending.abort(error));
  try {
    introduce(out, stage);
    if (!(await playDemo(out, stage, stopping))) return 1;
    for (const employerId of stage.censuses.keys()) await printLedger(out, stage, employerId);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    out.print(`\n${out.colour('green', `All ${ACTS.length} steps came out as they must, in ${seconds} s.`)}`);
    if (once) return 0;
    await invite(out, stage);
    await aborted(stopping);
    if (signal.aborted) return 0;
    out.note(`The sidecar ended by itself: ${describeFailure(stopping.reason)}`);
    return 1;
  } finally {
    await stage.clear();
    out.print('Everything is stopped, and the scratch folder is removed.');
  }
}

/** Plays act after act. Answers whether all came out as they must; of the first that did not it says why. */
export async function playDemo(out: Output, stage: Stage, stopping: AbortSignal): Promise<boolean> {
  const scene: Scene = {
    stage,
    now: systemClock,
    tell: (text) => out.print(`   ${text}`),
    holds: (text) => out.print(`   ${out.colour('green', 'ok')}  ${text}`),
  };
  for (const [index, act] of ACTS.entries()) {
    out.print(`\n${out.colour('bold', `${index + 1}. ${act.title}`)}`);
    try {
      await within(act.play(scene), stopping);
    } catch (error) {
      out.note(`\nThe demo ended at step ${index + 1}, before it came out as it must.\n${reasonOf(error)}`);
      return false;
    }
  }
  return true;
}

/** Waits for an act until it takes too long or the demo is stopped; then the act is left alone. */
async function within(act: Promise<void>, stopping: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([stopping, AbortSignal.timeout(ACT_WITHIN_MS)]);
  const over = aborted(limit).then(() => Promise.reject(limit.reason));
  await Promise.race([act, over]);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function reasonOf(error: unknown): string {
  if (error instanceof StepFailed) return `  expected: ${error.expected}\n  found:    ${error.found}`;
  if (error instanceof DOMException) {
    return error.name === 'TimeoutError'
      ? `  It took longer than ${ACT_WITHIN_MS / 1_000} s.`
      : '  It was stopped.';
  }
  return `  ${describeFailure(error)}`;
}
