import { type ParsedJson, parseJson } from '../contract/json.ts';
import { validUtf8 } from './bytes.ts';
import { ELEMENT_BYTES_MAX, TOO_LARGE, unreadable } from './unreadable.ts';

const LINE_FEED = 0x0a;

/**
 * The values of newline-delimited JSON, each parsed by the contract's strict parser; empty lines are left out. `here`
 * says where the reading is, for what ends it. Throws `Unreadable`, and what the content throws.
 */
export async function* ndjsonValues(
  content: AsyncIterable<Uint8Array>,
  here: () => string,
): AsyncGenerator<ParsedJson> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of validUtf8(content)) {
    const bytes: Buffer = Buffer.concat([rest, part]);
    let from = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
      if (end > from) yield* valueIn(bytes.subarray(from, end), here);
      from = end + 1;
    }
    rest = bytes.subarray(from);
    if (rest.length > ELEMENT_BYTES_MAX) throw unreadable(here(), TOO_LARGE);
  }
  yield* valueIn(rest, here);
}

function* valueIn(line: Buffer, here: () => string): Generator<ParsedJson> {
  if (line.length > ELEMENT_BYTES_MAX) throw unreadable(here(), TOO_LARGE);
  const text = line.toString('utf8');
  if (text.trim() !== '') yield parseJson(text);
}
