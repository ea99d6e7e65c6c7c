/** Removes what differs between processes: randomness comes from one seed, and the memory and disk in use are fixed. */
import crypto from 'node:crypto';
import { statSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { type Random, seededRandom } from '../../src/simulator/random.ts';

const MEMORY = { rss: 1e8, heapTotal: 1e8, heapUsed: 1e8, external: 0, arrayBuffers: 0 };
const DISK = { bavail: 1e9, bsize: 4096 };

/** Replaces the sources of randomness until the returned function is called. */
export function seedProcess(seed: number): () => void {
  // A package that draws numbers at its first use only must not move the ids.
  const [ids, bytes] = [seededRandom(seed, 'ids'), seededRandom(seed, 'bytes')];
  const { randomUUID, randomBytes } = crypto;
  const { random: realRandom } = Math;
  const { memoryUsage } = process;
  const { stat, statfs } = files;
  crypto.randomBytes = ((size: number) => bytesOf(bytes, size)) as typeof randomBytes;
  crypto.randomUUID = (() => {
    const hex = bytesOf(ids, 16).toString('hex');
    const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`];
    return [...parts, hex.slice(20)].join('-');
  }) as typeof randomUUID;
  Math.random = seededRandom(seed, 'process');
  // The receiver and the API read it every second, which takes a fifth of the simulation.
  process.memoryUsage = Object.assign(() => MEMORY, { rss: () => MEMORY.rss });
  Object.assign(files, { stat: async (path: string) => statSync(path), statfs: async () => DISK });
  syncBuiltinESMExports();
  return () => {
    Object.assign(crypto, { randomUUID, randomBytes });
    Math.random = realRandom;
    process.memoryUsage = memoryUsage;
    Object.assign(files, { stat, statfs });
    syncBuiltinESMExports();
  };
}

function bytesOf(random: Random, size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
}
