/** Splits a batch in memory, so that an unreadable value affects no other. json-list.ts streams. Pure. */
import { isUtf8 } from 'node:buffer';
import { type ParsedJson, parseJson } from '../contract/json.ts';
import { BYTE_ORDER_MARK } from './bytes.ts';

/** The position of a value. `line` counts from 1: lines of a text or elements of an array. */
export type Cut = { readonly line: number; readonly from: number; readonly end: number };

const SPACES = Buffer.from(' \t\n\r');

/** Splits newline-delimited JSON into lines, without blank ones. */
export function cutLines(bytes: Buffer): Cut[] {
  const cuts: Cut[] = [];
  let line = 1;
  for (let from = begin(bytes); from < bytes.length; line += 1) {
    const found = bytes.indexOf('\n', from);
    const end = found === -1 ? bytes.length : found;
    if (!isBlank(bytes, from, end)) cuts.push({ line, from, end });
    from = end + 1;
  }
  return cuts;
}

/** Splits a JSON array at its commas. Returns null if its end is not found. */
export function cutArray(bytes: Buffer): Cut[] | null {
  const cuts: Cut[] = [];
  // One character per byte: what is not ASCII does not matter.
  const text = bytes.toString('latin1');
  let depth = 0;
  let inString = false;
  let from = -1;
  let isEnded = false;
  for (let at = begin(bytes); at < bytes.length; at += 1) {
    const char = text[at] as string;
    if (inString) {
      if (char === '\\') at += 1;
      else if (char === '"') inString = false;
    } else if (isEnded || depth === 0) {
      if (SPACES.includes(char)) continue;
      if (isEnded || char !== '[') return null;
      depth = 1;
      from = at + 1;
    } else if (char === '"') inString = true;
    else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') {
      depth -= 1;
      if (depth > 0) continue;
      if (char !== ']') return null;
      if (cuts.length > 0 || !isBlank(bytes, from, at)) cuts.push({ line: cuts.length + 1, from, end: at });
      isEnded = true;
    } else if (char === ',' && depth === 1) {
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

function isBlank(bytes: Buffer, from: number, end: number): boolean {
  return bytes.subarray(from, end).every((byte) => SPACES.includes(byte));
}
