/** A strict JSON parser: it rejects what two parsers may read differently, and what a database cannot store. */

/** Levels of arrays and objects. The contract needs 5; the limit bounds the recursion of every reader. */
export const NESTING_MAX = 32;

export type ParsedJson = { ok: true; value: unknown } | { ok: false; reason: string };

/** Parses a JSON text. The reason of a refusal quotes nothing of the text. */
export function parseJson(text: string): ParsedJson {
  const { nesting, members } = measure(text);
  if (nesting > NESTING_MAX) return { ok: false, reason: `is nested deeper than ${NESTING_MAX} levels` };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, reason: 'is not valid JSON' };
  }
  const inspection: Inspection = { fields: 0, reason: null };
  inspect(value, inspection);
  // Each member has one colon outside strings, and parsing merges members with the same name.
  if (inspection.fields !== members) inspection.reason ??= 'names a field twice in one object';
  return inspection.reason === null ? { ok: true, value } : { ok: false, reason: inspection.reason };
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
// Only this bit distinguishes `[` from `{`, and `]` from `}`.
const CASE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/** Returns the deepest nesting and the number of colons outside strings, if the JSON is valid. */
function measure(text: string): { nesting: number; members: number } {
  let level = 0;
  let nesting = 0;
  let members = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) inString = !inString;
    else if (inString) {
      if (code === BACKSLASH) at += 1;
    } else if (code === COLON) members += 1;
    else if ((code | CASE_BIT) === OPENING) nesting = Math.max(nesting, ++level);
    else if ((code | CASE_BIT) === CLOSING) level -= 1;
  }
  return { nesting, members };
}

type Inspection = { fields: number; reason: string | null };

/** Counts the fields and records the first reason to refuse. The depth was checked before. */
function inspect(value: unknown, inspection: Inspection): void {
  if (typeof value === 'string') inspectString(value, inspection);
  else if (Array.isArray(value)) for (const element of value) inspect(element, inspection);
  else if (typeof value === 'object' && value !== null) {
    for (const name of Object.keys(value)) {
      inspection.fields += 1;
      if (name === '__proto__') inspection.reason ??= 'has a field named __proto__';
      inspectString(name, inspection);
      inspect((value as Record<string, unknown>)[name], inspection);
    }
  }
}

function inspectString(text: string, inspection: Inspection): void {
  if (text.includes('\0')) inspection.reason ??= 'has a NUL character in a string';
  else if (!text.isWellFormed()) inspection.reason ??= 'has half a surrogate pair in a string';
}
