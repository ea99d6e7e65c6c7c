import type { FileHandle } from 'node:fs/promises';
import { AppError } from '../errors.ts';

/** Yields the content of an open file, and closes it. Throws FILE_CHANGED at its end if it was written to in between. */
export async function* wholeFile(file: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    const before = await file.stat({ bigint: true });
    for await (const part of file.createReadStream({ autoClose: false })) yield part as Buffer;
    const after = await file.stat({ bigint: true });
    if (after.size !== before.size || after.mtimeNs !== before.mtimeNs)
      throw new AppError('FILE_CHANGED', 'the file changed while it was read: try again');
  } finally {
    await file.close();
  }
}
