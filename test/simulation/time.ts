/**
 * Virtual time. Timers of the process run on it, and the agenda has what happens around the sidecar. One thing runs at a
 * time, and everything that it started settles before the next one.
 */
import { syncBuiltinESMExports } from 'node:module';
import FakeTimers from '@sinonjs/fake-timers';
import type { Simulation } from './simulation.ts';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A shorter timer is a pause in the middle of work, for example between two queries. */
const PAUSE_MS = 10;

const realImmediate = globalThis.setImmediate;
const { waitAsync } = Atomics;

/** Work that reads files of the packages, and ends without virtual time. */
let loading = 0;

/** Lets this work end before time moves. */
export function load<R>(work: PromiseLike<R>): PromiseLike<R> {
  loading += 1;
  const ended = () => {
    loading -= 1;
  };
  work.then(ended, ended);
  return work;
}

type Timer = { id: number; callAt: number; delay: number; immediate: boolean | undefined };
type Clock = Omit<FakeTimers.Clock, 'timers' | 'timerHeap'> & {
  timers?: Map<number, Timer>;
  timerHeap?: { peek(): Timer | undefined };
};
type Appointment = { at: number; name: string; work: () => unknown };

export type Time = ReturnType<typeof createTime>;

/**
 * Installs virtual time from `startMs` on, in milliseconds since 1970. `uninstall` restores the real timers. `failed` is
 * called with what an appointment throws.
 */
export function createTime(startMs: number, failed: (error: unknown) => void) {
  const clock = FakeTimers.install({
    now: startMs,
    loopLimit: Number.POSITIVE_INFINITY,
    toFake: [
      ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const),
      ...(['setImmediate', 'clearImmediate', 'Date', 'performance'] as const),
    ],
  }) as unknown as Clock;
  // Named imports of node:timers/promises follow the replaced functions.
  syncBuiltinESMExports();
  // Another thread would end such a wait in real time. Here, the timer of the same wait ends it.
  Atomics.waitAsync = () => ({ async: true, value: new Promise(() => {}) });
  let agenda: Appointment[] = [];
  let isHeld = false;

  const timers = (): Timer[] => [...(clock.timers?.values() ?? [])];
  const nextTimer = (): Timer | undefined => clock.timerHeap?.peek() ?? undefined;

  /**
   * Waits until all promises are settled and no file is being read. Virtual timers wait, too: how long a read takes in real
   * time must not decide what else happens first.
   */
  const settle = async (): Promise<void> => {
    const isReading = () => process.getActiveResourcesInfo().some((name) => name.includes('Req'));
    do await new Promise((resolve) => realImmediate(resolve));
    while (loading > 0 || isReading());
  };

  /** Moves to a time and runs a timer that is due then. Timers until then fire late and once, as after a sleep. */
  const jump = (to: number): void => {
    if ((nextTimer()?.callAt ?? to) < to) {
      for (const timer of timers()) timer.callAt = Math.max(timer.callAt, to);
      // Orders the timers again without firing any.
      clock.jump(0);
    }
    if (nextTimer()?.callAt === to) clock.next();
    else clock.tick(to - clock.now);
  };

  return {
    now: (): number => clock.now,
    settle,
    /** Adds what happens after `ms`. */
    after(ms: number, name: string, work: () => unknown): void {
      const at = clock.now + Math.max(0, Math.round(ms));
      const index = agenda.findLastIndex((appointment) => appointment.at <= at) + 1;
      agenda.splice(index, 0, { at, name, work });
    },
    /** Resolves after `ms`. */
    pass(ms: number): Promise<void> {
      return new Promise((resolve) => this.after(ms, 'pass', () => resolve()));
    },
    /** Forgets appointments, and with them what would have happened. */
    cancel(which: (name: string) => boolean): void {
      agenda = agenda.filter(({ name }) => !which(name));
    },
    /** Lets no appointment happen until it is called with false. */
    hold(held: boolean): void {
      isHeld = held;
    },
    /**
     * Removes the timers of processes that ended. Pauses end at once, so that interrupted work meets errors and leaves the queues
     * that all simulated processes share.
     */
    clearTimers(): void {
      for (const timer of timers()) {
        if (timer.immediate === true || timer.delay < PAUSE_MS) timer.callAt = clock.now;
        else clock.clearTimeout(timer.id as never);
      }
      // Orders the timers again, and fires those that are due.
      clock.jump(0);
    },
    /**
     * Runs the next thing that is due, or else moves to the next one, at the latest to `until`. While `mayJump` returns a
     * time, timers before it do not matter, and time moves there at once, unless work is pausing.
     */
    async step(until: number, mayJump: () => number | null): Promise<void> {
      await settle();
      const first = isHeld ? undefined : agenda[0];
      const timer = nextTimer();
      if (first !== undefined && first.at <= clock.now && (timer === undefined || timer.callAt >= first.at)) {
        agenda.shift();
        // The work may wait for later steps, so this does not.
        Promise.resolve().then(first.work).catch(failed);
      } else if (timer !== undefined && timer.callAt <= clock.now) clock.next();
      else {
        const at = first?.at ?? Number.POSITIVE_INFINITY;
        const jumpTo = timers().some(({ delay }) => delay < PAUSE_MS) ? null : mayJump();
        const target = Math.min(until, at, jumpTo ?? timer?.callAt ?? Number.POSITIVE_INFINITY);
        if (target > clock.now) jump(Math.max(target, clock.now + 1));
      }
    },
    uninstall(): void {
      clock.uninstall();
      syncBuiltinESMExports();
      Atomics.waitAsync = waitAsync;
    },
  };
}

/** Returns a signal that aborts after this time, as `AbortSignal.timeout` does in real time. */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), ms);
  return controller.signal;
}

/** Reports whether a clock fault has begun. From then on, the ages of censuses are unreliable. */
export function areClocksOff({ faults, restFrom, days, time }: Simulation): boolean {
  const start = restFrom - days * DAY_MS;
  return faults.planned.some(({ kind, at }) => kind === 'clock' && start + at <= time.now());
}
