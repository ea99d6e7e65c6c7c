import { setFlagsFromString } from 'node:v8';

/** By how much V8 enlarges a young generation that fills with what stays: not at all, and its own default. */
const GROWTH = { none: 1, usual: 2 };

/**
 * Keeps the young generations of this process as small as they begin, while it loads. Modules stay, which V8 takes for a
 * sign that new objects need more room; it never gives that back, and at rest nobody needs it: 15 MiB of three threads.
 */
export function holdYoungGenerations(): void {
  grow(GROWTH.none);
}

/** Everything is loaded: from now on they grow as the work needs it. */
export function releaseYoungGenerations(): void {
  grow(GROWTH.usual);
}

function grow(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}
