import type { Clock } from '../clock.ts';
import type { Environment } from '../environment.ts';
import type { Output } from './output.ts';

export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** What every command gets. */
export type Context = {
  readonly env: Environment;
  readonly out: Output;
  readonly now: Clock;
  /** Where a person's answers come from; without it, the process's own. */
  readonly stdin?: Input;
  /**
   * Aborts at Ctrl-C or SIGTERM, and when nobody reads the result any more. Signals are caught from the first call
   * on, once: a second one ends the process at once, and commands that never ask are ended by the first.
   */
  readonly stopped: () => AbortSignal;
};

/** A command answers its exit code: 0 only when it worked. */
export type Command<Rest extends unknown[]> = (context: Context, ...rest: Rest) => Promise<number>;

/** Makes an action of a command that is loaded when it is run. */
export type Lazily = (load: () => Promise<Command<never[]>>) => (...given: unknown[]) => Promise<void>;

/** Catches the signals that ask a process to stop. */
export function catchSignals(stopping: AbortController): () => AbortSignal {
  let caught = false;
  return () => {
    if (!caught) {
      caught = true;
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
    }
    return stopping.signal;
  };
}
