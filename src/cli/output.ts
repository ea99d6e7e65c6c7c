/** The result goes to stdout, progress and notes to stderr: what a pipe or a file gets is the result alone. */
import { styleText } from 'node:util';
import type { Environment } from '../environment.ts';

/** What a command writes to; a process has its own, tests pass theirs. */
export type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

export type Colour = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

export type Output = {
  readonly stdout: Stream;
  readonly stderr: Stream;
  /** Lines of the result. */
  print(text: string): void;
  /** The result for a program: one JSON value, indented only for a person. */
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
    if (!gone) stdout.write(`${text}\n`);
  };
  return {
    stdout,
    stderr,
    print,
    json: (value) => print(JSON.stringify(value, null, stdout.isTTY ? 2 : 0)),
    note: (text) => void stderr.write(`${text}\n`),
    colour: (colour, text) => (colours ? styleText(colour, text, { validateStream: false }) : text),
  };
}

/** Characters that move the cursor, recolour the terminal or turn the direction of what follows. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text from elsewhere, made safe for a terminal and kept on one line. */
export function printable(text: string): string {
  return text.replace(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
