/** Splits a batch in memory, so that an unreadable value affects no other. json-list.ts streams. Pure. */
import { isUtf8 } from 'node:buffer';
import { type ParsedJson, parseJson } from '../contract/json.ts';
import { BYTE_ORDER_MARK, isBlank, SPACES } from './bytes.ts';

/** The position of a value. `line` counts from 1: lines of a text or elements of an array. */
export type Cut = { readonly line: number; readonly from: number; readonly end: number };

// Compared as bytes: as characters, an array of 16 MiB blocks the thread four times as long, one of white space thirty.
const [QUOTE, BACKSLASH, COMMA, LINE_FEED] = [0x22, 0x5c, 0x2c, 0x0a];
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Splits newline-delimited JSON into lines, without blank ones. */
export function cutLines(bytes: Buffer): Cut[] {
  const cuts: Cut[] = [];
  let line = 1;
  for (let from = begin(bytes); from < bytes.length; line += 1) {
    const lineEnd = bytes.indexOf(LINE_FEED, from);
    const end = lineEnd === -1 ? bytes.length : lineEnd;
    if (!isBlank(bytes, from, end)) cuts.push({ line, from, end });
    from = end + 1;
  }
  return cuts;
}

/** Splits a JSON array at its commas. Returns null if its end is not found. */
export function cutArray(bytes: Buffer): Cut[] | null {
  const cuts: Cut[] = [];
  let depth = 0;
  let inString = false;
  let from = -1;
  let isEnded = false;
  for (let at = begin(bytes); at < bytes.length; at += 1) {
    const code = bytes[at] as number;
    if (inString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) inString = false;
    } else if (isEnded || depth === 0) {
      if (SPACES.has(code)) continue;
      if (isEnded || code !== OPENING_BRACKET) return null;
      depth = 1;
      from = at + 1;
    } else if (code === QUOTE) inString = true;
    else if (code === OPENING_BRACKET || code === OPENING_BRACE) depth += 1;
    else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) {
      depth -= 1;
      if (depth > 0) continue;
      if (code !== CLOSING_BRACKET) return null;
      if (cuts.length > 0 || !isBlank(bytes, from, at)) cuts.push({ line: cuts.length + 1, from, end: at });
      isEnded = true;
    } else if (code === COMMA && depth === 1) {
      cuts.push({ line: cuts.length + 1, from, end: at });
      from = at + 1;
    }
  }
  return isEnded ? cuts : null;
}

/** Parses one value with the contract's strict parser. */
export function parseCut(bytes: Buffer, { from, end }: Cut, bytesMax: number): ParsedJson {
  if (end - from > bytesMax) return { ok: false, reason: `must be at most ${bytesMax / 1024} KiB` };
  const value = bytes.subarray(from, end);
  return isUtf8(value) ? parseJson(value.toString('utf8')) : { ok: false, reason: 'must be valid UTF-8' };
}

function begin(bytes: Buffer): number {
  return bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
}
