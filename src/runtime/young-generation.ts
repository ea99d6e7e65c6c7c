import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** The factor by which V8 enlarges a young generation that fills up: not at all, and V8's own default. */
const GROWTH = { none: 1, usual: 2 };
/**
 * The young generation of the main thread stays at this. V8 lets it grow beyond 100 MiB within minutes of steady work,
 * and has no limit that can be set after the start; worker threads have theirs (runtime/threads.ts).
 */
const MAIN_MIB = 12;
const MIB = 1024 * 1024;
const LOOK_EVERY_MS = 1_000;
/** The initial size for worker threads, which stop growing when the main thread's does. */
const WORKER_SEMI_SPACE_MIB = 8;
/**
 * A heap may double before it is collected. V8 lets it grow up to fourfold, and keeps the pages after a payroll run of
 * 30,000 lines. With half of this, such a run takes a tenth more processor time and the process no less memory.
 */
const HEAP_GROWING_PERCENT = 100;

/**
 * Keeps the young generations of this process at their initial size while it loads. Loaded modules survive, so V8 would
 * enlarge them and never shrink them again: 15 MiB for three threads, unused at rest.
 */
export function holdYoungGenerations(): void {
  grow(GROWTH.none);
}

/** Lets them grow again, once everything is loaded. */
export function releaseYoungGenerations(): void {
  grow(GROWTH.usual);
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
    grow((young?.space_size ?? 0) < MAIN_MIB * MIB ? GROWTH.usual : GROWTH.none);
  }, LOOK_EVERY_MS);
  timer.unref();
}

function grow(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}
