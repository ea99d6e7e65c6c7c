/** Writes tar archives (POSIX.1-1988, ustar). */
import { Readable } from 'node:stream';

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

function headerOf(name: string, size: number, modified: Date): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(name, 0, 100);
  header.write(octal(0o600, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(Math.floor(modified.getTime() / 1_000), 11), 136);
  // The checksum counts its own field as spaces.
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}
