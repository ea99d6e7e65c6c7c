/** The result goes to stdout, progress and notes to stderr: what a pipe or a file gets is the result alone. */
import { styleText } from 'node:util';
import type { Environment } from '../environment.ts';
import { printableLines } from '../telemetry/printable.ts';

export { printable } from '../telemetry/printable.ts';

/** What a command writes to; a process has its own, tests pass theirs. */
export type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

export type Colour = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

export type Output = {
  readonly stdout: Stream;
  readonly stderr: Stream;
  /**
   * Lines of the result. Here and in `note` control characters are escaped, whatever they are part of. Text from
   * elsewhere that must stay on one line needs `printable`.
   */
  print(text: string): void;
  /** The result for a program: one JSON value, indented only for a person. Escapes in it are JSON's own. */
  json(value: unknown): void;
  /** Lines beside the result. */
  note(text: string): void;
  /** Coloured where the result is read on a terminal, and NO_COLOR (no-color.org) is not set. */
  colour(colour: Colour, text: string): string;
};

/** `readerGone` is called when the reader of the result has left, as `| head` does; what follows is dropped. */
export function createOutput(
  streams: { stdout: Stream; stderr: Stream },
  env: Environment,
  readerGone: () => void,
): Output {
  const { stdout, stderr } = streams;
  const colours = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  let gone = false;
  stdout.on('error', (error: { code?: string }) => {
    if (error.code !== 'EPIPE') throw error;
    gone = true;
    readerGone();
  });
  stderr.on('error', (error: { code?: string }) => {
    if (error.code !== 'EPIPE') throw error;
  });

  const print = (text: string): void => {
    if (!gone) stdout.write(`${printableLines(text, colours)}\n`);
  };
  return {
    stdout,
    stderr,
    print,
    json: (value) => print(JSON.stringify(value, null, stdout.isTTY ? 2 : 0)),
    note: (text) => void stderr.write(`${printableLines(text, colours)}\n`),
    colour: (colour, text) => (colours ? styleText(colour, text, { validateStream: false }) : text),
  };
}
