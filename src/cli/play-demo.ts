import type { Context } from './context.ts';
import { runDemo } from './demo.ts';

/** Plays the demo; without `--once` it stays up until Ctrl-C. */
export function demo({ out, stopped }: Context, { once = false }: { once?: boolean }): Promise<number> {
  return runDemo({ once, out, signal: stopped() });
}
