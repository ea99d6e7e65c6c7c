/** Writes tar archives (POSIX.1-1988, ustar). */
import { Readable } from 'node:stream';
import { Header } from 'tar/header';

/** A file of an archive. Its name has at most 100 ASCII characters. */
export type ArchiveFile = { readonly name: string; readonly content: string };

const BLOCK_BYTES = 512;

/** Returns an archive of files that are made on request, so memory holds one file at a time. `modified` is their time. */
export function tarOf(files: AsyncIterable<ArchiveFile>, modified: Date): Readable {
  const blocks = async function* (): AsyncGenerator<Buffer> {
    for await (const { name, content } of files) {
      const bytes = Buffer.from(content);
      yield headerOf(name, bytes.length, modified);
      yield bytes;
      yield Buffer.alloc(-bytes.length & (BLOCK_BYTES - 1));
    }
    yield Buffer.alloc(2 * BLOCK_BYTES);
  };
  return Readable.from(blocks(), { objectMode: false });
}

function headerOf(path: string, size: number, mtime: Date): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  new Header({ type: 'File', path, mode: 0o600, uid: 0, gid: 0, size, mtime }).encode(header);
  return header;
}
