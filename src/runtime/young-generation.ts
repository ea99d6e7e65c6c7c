/** Bounds the part of V8's heap where objects begin: V8 enlarges it whenever it fills up, and never shrinks it again. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * The main thread's stays at this. V8 lets it grow beyond 100 MiB within minutes of steady work, and has no limit that can be
 * set after the start; worker threads have theirs (runtime/threads.ts).
 */
const MAIN_BYTES = 12 * 1024 * 1024;
const LOOK_EVERY_MS = 1_000;
/** The initial size for worker threads, which stop growing when the main thread's does. */
const WORKER_SEMI_SPACE_MIB = 8;
/**
 * A heap may double before it is collected. V8 lets it grow up to fourfold, and keeps the pages after a payroll run of
 * 30,000 lines. With half of this, such a run takes a tenth more processor time and the process no less memory.
 */
const HEAP_GROWING_PERCENT = 100;

/** Keeps the initial sizes while modules load, which survive: 15 MiB for three threads, unused at rest. */
export function holdYoungGenerations(): void {
  growBy(1);
}

/** Lets them grow again as V8 does, once everything is loaded. */
export function releaseYoungGenerations(): void {
  growBy(2);
}

/** Bounds the heaps of a process that serves for months. Call it before its worker threads start. */
export function boundHeaps(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  setFlagsFromString(`--min-semi-space-size=${WORKER_SEMI_SPACE_MIB}`);
}

/** Like `releaseYoungGenerations`, but stops once the main thread's, which calls it, is large enough. */
export function releaseBoundYoungGenerations(): void {
  releaseYoungGenerations();
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if ((young?.space_size ?? 0) < MAIN_BYTES) releaseYoungGenerations();
    else holdYoungGenerations();
  }, LOOK_EVERY_MS);
  timer.unref();
}

function growBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}
