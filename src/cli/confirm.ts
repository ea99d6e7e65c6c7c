/** Confirmation of commands whose effect no other command undoes. */

import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Context, Input } from './context.ts';
import { failed, wrongUsage } from './failure.ts';
import { type Output, printable } from './output.ts';

/**
 * Prints the effects on stderr and asks for a yes, unless `--yes` is given. Throws COMMAND_FAILED without one,
 * and WRONG_USAGE without a terminal.
 */
export async function confirm(
  { stdin, out, stopped, yes }: Context,
  effects: readonly string[],
  question: string,
): Promise<void> {
  if (yes) return;
  for (const effect of effects) out.note(printable(effect));
  if (!isTerminal(stdin, out)) {
    throw wrongUsage('this needs a confirmation, and there is no terminal to ask on: add --yes');
  }
  if (!(await isAgreed(stdin, out, question, stopped()))) throw failed('canceled: nothing changed');
}

export function isTerminal(stdin: Input, { stderr }: Output): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** Asks on stderr. Ctrl-C and Ctrl-D mean no. */
export async function isAgreed(
  input: Input,
  { stderr: output }: Output,
  question: string,
  signal: AbortSignal,
): Promise<boolean> {
  const asking = createInterface({ input, output });
  const ended = once(asking, 'close').then(() => null);
  try {
    const answer = await Promise.race([
      asking.question(`\n${question} [yes/no] `, { signal }).catch(() => null),
      ended,
    ]);
    return /^\s*y(es)?\s*$/i.test(answer ?? '');
  } finally {
    asking.close();
  }
}
