/** Seeded randomness: the same seed gives the same world, ids and order. */
import { createHash } from 'node:crypto';

/** Returns the next number of a stream in [0, 1). */
export type Random = () => number;

/** Returns a stream for a combination of parts (mulberry32, seeded with their hash). */
export function seededRandom(...parts: readonly (string | number)[]): Random {
  let state = seededBytes(...parts).readUInt32LE(0);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns the id for these parts, such as `ded_5f0c…`: 96 bits, so that ids do not collide. */
export function seededId(prefix: string, ...parts: readonly (string | number)[]): string {
  return `${prefix}_${seededBytes(...parts)
    .toString('hex')
    .slice(0, 24)}`;
}

/** Returns a whole number, both ends included. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!;
}

export function shuffle<T>(random: Random, list: readonly T[]): T[] {
  const shuffled = [...list];
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    const swapped = between(random, 0, last);
    [shuffled[last], shuffled[swapped]] = [shuffled[swapped]!, shuffled[last]!];
  }
  return shuffled;
}

export function seededBytes(...parts: readonly (string | number)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}
