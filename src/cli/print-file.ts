/** Prints all rows of a list while they are read. */
import { once } from 'node:events';
import type { Files } from '../api/operation.ts';
import { printableLines } from '../telemetry/printable.ts';
import type { Context } from './command.ts';
import { failed } from './failure.ts';
import type { Output } from './output.ts';

/** Files and programs receive the exact CSV, a terminal receives it without control characters. */
export async function printCsv(
  { out, stopped }: Pick<Context, 'out' | 'stopped'>,
  file: Files,
): Promise<void> {
  const signal = stopped();
  for await (const records of file.csv(file.rows) as AsyncIterable<Buffer>) {
    const text = out.stdout.isTTY ? printableLines(records.toString().replaceAll('\r\n', '\n')) : records;
    await write(out, text, signal);
  }
}

/** Writes a part and waits for a slow reader. Throws if the command was stopped or the reader is gone. */
export async function write({ stdout }: Output, text: string | Buffer, signal: AbortSignal): Promise<void> {
  const isTaken = stdout.write(text);
  if (!isTaken && !signal.aborted) await once(stdout, 'drain', { signal }).catch(() => {});
  if (signal.aborted) throw failed('stopped before the end: the printed rows are incomplete');
}
