/** The demo: the whole loop on this machine, each step checked by what is read back. */
import { once as eventOf } from 'node:events';
import { type Clock, systemClock } from '../clock.ts';
import { CENSUS_ACTS } from './demo/census-acts.ts';
import { DEDUCTION_ACTS } from './demo/deduction-acts.ts';
import { StepFailed } from './demo/expectation.ts';
import { introduce, invite } from './demo/frame.ts';
import { LEDGER_ACT, printLedger } from './demo/ledger-act.ts';
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
  readonly now?: Clock;
  /** Sets up what is played on. */
  readonly set?: () => Promise<Stage>;
};

const ACTS: readonly Act[] = [...CENSUS_ACTS, ...DEDUCTION_ACTS, LEDGER_ACT];
/** More than any wait within an act takes, so that the one that ran out is named. */
const ACT_WITHIN_MS = 30_000;

/**
 * Plays the demo and, unless `once`, stays up until `signal`. Answers the exit code: 0 when every step came out as
 * it must. Whatever happens, everything is stopped and the scratch folder removed.
 */
export async function runDemo(options: DemoOptions): Promise<number> {
  const { once, out, signal, now = systemClock, set = setStage } = options;
  const began = performance.now();
  const stage = await set();
  const ending = new AbortController();
  const stopping = AbortSignal.any([signal, ending.signal]);
  void stage.sidecar.failed.then((error) => ending.abort(error));
  try {
    introduce(out, stage);
    const played = await play({ out, stage, now, stopping });
    if (!played) return 1;
    for (const employerId of stage.censuses.keys()) await printLedger(out, stage, employerId);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    out.print(`\n${out.colour('green', `All ${ACTS.length} steps came out as they must, in ${seconds} s.`)}`);
    if (once) return 0;
    await invite(out, stage);
    if (!stopping.aborted) await eventOf(stopping, 'abort');
    if (signal.aborted) return 0;
    out.note(`The demo ended: ${describeFailure(stopping.reason)}`);
    return 1;
  } finally {
    await stage.clear();
    out.print('Everything is stopped, and the scratch folder is removed.');
  }
}

type Playing = { out: Output; stage: Stage; now: Clock; stopping: AbortSignal };

/** Plays act after act. Answers whether all came out as they must; the one that did not is described. */
async function play({ out, stage, now, stopping }: Playing): Promise<boolean> {
  const scene: Scene = {
    stage,
    now,
    tell: (text) => out.print(`   ${text}`),
    holds: (text) => out.print(`   ${out.colour('green', 'ok')}  ${text}`),
  };
  for (const [index, act] of ACTS.entries()) {
    out.print(`\n${out.colour('bold', `${index + 1}. ${act.title}`)}`);
    try {
      await within(act.play(scene), stopping);
    } catch (error) {
      const { expected, found } = failureOf(error, stopping);
      out.note(`\nThe demo failed at step ${index + 1}.\n  expected: ${expected}\n  found:    ${found}`);
      return false;
    }
  }
  return true;
}

/** Waits for an act until it takes too long or the demo is stopped; then the act is left alone. */
async function within(act: Promise<void>, stopping: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([stopping, AbortSignal.timeout(ACT_WITHIN_MS)]);
  const over = Promise.withResolvers<never>();
  const leave = (): void => over.reject(limit.reason);
  limit.addEventListener('abort', leave);
  if (limit.aborted) leave();
  try {
    await Promise.race([act, over.promise]);
  } finally {
    limit.removeEventListener('abort', leave);
  }
}

function failureOf(error: unknown, stopping: AbortSignal): { expected: string; found: string } {
  if (error instanceof StepFailed) return error;
  if (stopping.aborted && !(stopping.reason instanceof Error)) {
    return { expected: 'the step to end', found: 'it was stopped before' };
  }
  if (error instanceof DOMException) {
    return { expected: `the step to end within ${ACT_WITHIN_MS / 1_000} s`, found: 'it still waits' };
  }
  return { expected: 'the step to be played', found: describeFailure(error) };
}
