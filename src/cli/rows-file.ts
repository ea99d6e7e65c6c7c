import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Columns, type RowFormat, type Rows, readRows } from '../formats/rows.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { printable } from './output.ts';

/** What the end of a file's name says of its content. */
const FORMATS: Readonly<Record<string, RowFormat>> = { csv: 'csv', json: 'json', ndjson: 'ndjson' };

export type RowsFile = {
  /** In bytes. */
  size: number;
  format: RowFormat;
  /** The bytes from the first one on; `onBytes` is told of each part that was read. */
  read(onBytes?: (bytes: number) => void): AsyncIterable<Uint8Array>;
  /** Reads the rows from the first one on; `onBytes` is told of each part that was read. */
  open(columns: Columns, onBytes?: (bytes: number) => void): Rows;
};

/** A file of rows that a person names. Throws when there is none, or its name does not say how it is read. */
export async function findRowsFile(path: string): Promise<RowsFile> {
  const format = FORMATS[/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''];
  if (format === undefined)
    throw new WrongUsage('rows are in a .csv, .json or .ndjson file: its name tells how');
  const found = await stat(path);
  if (!found.isFile())
    throw new CommandFailed(`${printable(path)} is not a file: give a .csv, .json or .ndjson`);
  const read: RowsFile['read'] = (onBytes = () => {}) => counted(createReadStream(path), onBytes);
  return {
    size: found.size,
    format,
    read,
    open: (columns, onBytes) => readRows(read(onBytes), format, columns),
  };
}

async function* counted(
  parts: AsyncIterable<Buffer>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const part of parts) {
    onBytes(part.length);
    yield part;
  }
}
