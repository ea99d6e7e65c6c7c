/** Randomness that a seed decides: the same seed makes the same world, the same ids and the same order. */
import { createHash } from 'node:crypto';

/** The next number of a stream, 0 <= number < 1. */
export type Random = () => number;

/** Hexadecimal digits of an id: 96 bits, so that ids made from different parts don't meet. */
const ID_DIGITS = 24;

/** A stream of its own for each combination of parts (mulberry32, seeded with their hash). */
export function seededRandom(...parts: readonly (string | number)[]): Random {
  let state = hashOf(parts).readUInt32LE(0);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An id that these parts always give, such as `ded_5f0c…`. */
export function seededId(prefix: string, ...parts: readonly (string | number)[]): string {
  return `${prefix}_${hashOf(parts).toString('hex').slice(0, ID_DIGITS)}`;
}

/** 32 bytes that these parts always give: a secret of a simulator, which keeps none. */
export function seededBytes(...parts: readonly (string | number)[]): Buffer {
  return hashOf(parts);
}

/** A whole number, both ends included. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** One of a list that is not empty. */
export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!;
}

/** A shuffled copy (Fisher and Yates). */
export function shuffle<T>(random: Random, list: readonly T[]): T[] {
  const shuffled = [...list];
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    const other = between(random, 0, last);
    [shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!];
  }
  return shuffled;
}

function hashOf(parts: readonly (string | number)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}
