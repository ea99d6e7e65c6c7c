/** Splits a CSV into rows of cells. */
import { pipeline, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CsvError, type Options, parse } from 'csv-parse';
import { ELEMENT_BYTES_MAX, TOO_LARGE, unreadable } from './bytes.ts';

/** The cells of a row, and the line of the file on which it begins, counting from 1. */
export type Parsed = { record: string[]; line: number };

/** Yields the rows of a CSV in UTF-8, without empty lines. Errors have the path of `here`. `isRelaxed`: a quote within a value is a part of it. */
export async function* parsedRows(
  content: AsyncIterable<Uint8Array>,
  here: () => string,
  { delimiter = ',', isRelaxed = false } = {},
): AsyncGenerator<Parsed> {
  /** The lines at the end of the last record, as the parser counts them: CRLF in a quoted cell is two. */
  let counted = 0;
  let excess = 0;
  const options: Options<Parsed, string[]> = {
    delimiter,
    relax_quotes: isRelaxed,
    relax_column_count: true,
    skip_empty_lines: true,
    // By default cells keep a part of line endings that differ from the header's.
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: ELEMENT_BYTES_MAX,
    on_record: (record, { lines }) => {
      const inside = lines > counted + 1 ? record.join(',').match(/\r\n|\r|\n/g) : null;
      const pairs = inside?.filter((ending: string) => ending === '\r\n').length ?? 0;
      counted = lines;
      excess += pairs;
      // The parser compares each row with the first one, and builds a slow error if their lengths differ. So each row counts as the first.
      (parser.info as { records: number }).records = 0;
      return { record, line: counted - excess - (inside?.length ?? 0) };
    },
  };
  // The types of the package know other records only with `columns`.
  const parser = parse(options as unknown as Options);
  // Its errors reach the loop below as errors of the parser.
  pipeline(Readable.from(withinColumns(content, delimiter), { highWaterMark: 1 }), parser, () => {});
  try {
    yield* parser as AsyncIterable<Parsed>;
  } catch (error) {
    // The parser's messages quote cells, so only its code and the line are kept.
    const { code, lines } = error as Partial<CsvError> & { lines?: number };
    // The rest of the file is one value after such a quote, so the end of the row tells nothing.
    const unclosed = `find the quote after line ${counted - excess} that has no second one`;
    if (code === 'CSV_MAX_RECORD_SIZE') throw unreadable(here(), `${TOO_LARGE}: ${unclosed}`);
    if (typeof code !== 'string' || lines === undefined) throw error;
    const advice = /INVALID_/.test(code)
      ? `: ${QUOTES}`
      : code === 'CSV_QUOTE_NOT_CLOSED'
        ? `: ${unclosed}`
        : '';
    throw unreadable(here(), `is not valid CSV at line ${lines - excess} (${code})${advice}`);
  }
}

/** What to do about a quote in the middle of a value, as in `="00123"`. */
const QUOTES = 'a value with a quote must be in quotes, with its own quotes doubled';

/** There are fewer than 200 columns; each costs time for every row. */
const COLUMNS_MAX = 1_000;

const [QUOTE, LF, CR] = [0x22, 0x0a, 0x0d];

/** Bytes that the parser gets at once: it parses all their records, hundreds of tiny ones, before other work runs. */
const PARSED_AT_ONCE = 1024;

/** Yields the same bytes in small parts. Throws UNREADABLE for a record with too many columns: the parser's bound counts no columns. */
async function* withinColumns(
  content: AsyncIterable<Uint8Array>,
  delimiter: string,
): AsyncGenerator<Uint8Array> {
  const separator = delimiter.charCodeAt(0);
  let separators = 0;
  let isQuoted = false;
  for await (const part of content) {
    for (let at = 0; at < part.length; at += 1) {
      const byte = part[at];
      if (byte === QUOTE) isQuoted = !isQuoted;
      else if (isQuoted) continue;
      else if (byte === separator) separators += 1;
      else if (byte === LF || byte === CR) separators = 0;
      if (separators === COLUMNS_MAX) throw unreadable('', `must have at most ${COLUMNS_MAX} columns`);
    }
    for (let at = 0; at < part.length; at += PARSED_AT_ONCE) {
      yield part.subarray(at, at + PARSED_AT_ONCE);
      await nextTurn();
    }
  }
}
