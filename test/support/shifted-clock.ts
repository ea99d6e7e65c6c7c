/**
 * Preloaded into the executable: shifts its wall clock in all threads by the milliseconds in the file CLOCK_SHIFT_FILE,
 * and jumps when the file changes. Timers use another clock, as on a machine whose time is set.
 */
import { readFileSync } from 'node:fs';

const LOOK_EVERY_MS = 20;
const file = process.env.CLOCK_SHIFT_FILE as string;
const RealDate = Date;
let shiftMs = 0;

const look = (): void => {
  shiftMs = Number(readFileSync(file, 'utf8'));
};
look();
setInterval(look, LOOK_EVERY_MS).unref();

globalThis.Date = class extends RealDate {
  // biome-ignore lint/suspicious/noExplicitAny: the parameters of Date.
  constructor(...parts: any[]) {
    if (parts.length === 0) super(RealDate.now() + shiftMs);
    else super(...(parts as [number]));
  }
  static override now(): number {
    return RealDate.now() + shiftMs;
  }
} as DateConstructor;
