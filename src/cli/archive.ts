/** Writes what an operation streams to a new file. */
import { once } from 'node:events';
import { createWriteStream, rmSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { codeOf } from '../errors.ts';
import type { Context } from './command.ts';
import { failed, ifStopped } from './failure.ts';
import { printResult } from './output.ts';

/** The options of a command with an archive. */
export type ArchiveOptions = { readonly file: string; readonly personalData?: boolean };

/** Creates the file, readable by its owner only, before `perform`, which may record a read of personal data. */
export async function writeArchive(
  { out, stopped }: Context,
  file: string,
  perform: () => Promise<unknown>,
): Promise<void> {
  const target = createWriteStream(file, { mode: 0o600, flags: 'wx' });
  await once(target, 'open').catch((error) => {
    throw codeOf(error) === 'EEXIST' ? failed(`${file} exists: choose another file`) : error;
  });
  try {
    const archive = (await perform()) as Readable;
    const signal = stopped();
    await pipeline(archive, target, { signal }).catch(
      ifStopped(signal, 'stopped before the end: no file was created'),
    );
  } catch (error) {
    target.destroy();
    rmSync(file, { force: true });
    throw error;
  }
  printResult(out, { file, bytes: target.bytesWritten }, `Wrote ${file}`);
}
