/** Replaces values that differ between runs, so that a recording depends on behavior alone. */
import { inspect } from 'node:util';

const INSTANT = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g;
const DAY_MS = 86_400_000;
/** Instants this close to the test's own are replaced. Every fixed instant of the recordings is years earlier. */
const RECENT_MS = 400 * DAY_MS;

/** Patterns whose matches get a number within one golden file, so that equal values stay recognizable. */
const NUMBERED: readonly [string, RegExp][] = [
  ['id', /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g],
  ['hash', /\b[0-9a-f]{16,64}\b/g],
  ['token', /\btok_[0-9a-f]+\b/g],
];

/** Patterns whose matches are replaced by a word. */
const REPLACED: readonly [string, RegExp][] = [
  ['<cursor>', /(?<=--cursor )\S+/g],
  ['<token>', /\bbsc_[\w-]{20,}/g],
  ['<day>', /(?<=\b(?:received|reported) )[A-Z][a-z]+ \d+(?:, \d{4})?/g],
  ['<age>', /\b\d+ (?:s|minutes|hours|days)(?= ago)/g],
  ['<duration>', /\b\d+(?:\.\d+)? ?(?:ms|s)\b/g],
  ['<bytes>', /\b\d+(?:\.\d+)? (?:bytes|[KMGT]i?B)\b/g],
];

/** Fields whose values are always replaced. Positions get a number, as above. */
const CURSORS = ['next_cursor'];
const POSITIONS = ['position', 'ledger_position'];
const MEASURED = 'age_days ms acknowledged p50_ms p99_ms slowest_ms database_bytes disk_free_bytes'.split(
  ' ',
);

const LAYOUT = { depth: null, breakLength: 110, maxArrayLength: null, maxStringLength: null, compact: 4 };

/** @param names what to replace the folder, the database and the ports of this run with */
export function normalizer(names: readonly (readonly [string, string])[]) {
  const began = Date.now();
  const numbers = new Map<string, Map<string, number>>();
  const numbered = (kind: string, value: string): string => {
    const known = numbers.get(kind) ?? new Map<string, number>();
    numbers.set(kind, known);
    if (!known.has(value)) known.set(value, known.size + 1);
    return `<${kind} ${known.get(value)}>`;
  };
  const text = (value: string): string => {
    let normal = value;
    // Identifiers first: one may contain the digits of a port.
    for (const [kind, pattern] of NUMBERED) normal = normal.replace(pattern, (one) => numbered(kind, one));
    for (const [name, word] of names) normal = normal.replaceAll(name, word);
    for (const [word, pattern] of REPLACED) normal = normal.replace(pattern, word);
    normal = normal.replace(INSTANT, (one) => {
      const time = Date.parse(one.replace(' ', 'T').replace(/Z?$/, 'Z'));
      return Math.abs(time - began) < RECENT_MS ? '<time>' : one;
    });
    for (const day of [-1, 0, 1]) {
      const date = new Date(began + day * DAY_MS).toISOString().slice(0, 10);
      normal = normal.replaceAll(date, '<today>');
    }
    return normal;
  };
  const field = (key: string, value: unknown): unknown => {
    if (MEASURED.includes(key)) return '<measured>';
    if (value === null || typeof value === 'object') return value;
    if (CURSORS.includes(key)) return '<cursor>';
    if (POSITIONS.includes(key) || (key === 'id' && /^\d+$/.test(String(value))))
      return numbered('position', String(value));
    return typeof value === 'string' ? text(value) : value;
  };
  const parse = (value: string): string | null => {
    if (!/^\s*[{[]/.test(value)) return null;
    try {
      return inspect(JSON.parse(value, field), LAYOUT);
    } catch {
      return null;
    }
  };
  return {
    /** Starts counting from 1 again. */
    beginFile: () => numbers.clear(),
    text,
    /** Returns a normalized text. JSON, including single lines of it, is pretty-printed. */
    output(value: string): string {
      const read = parse(value) ?? value.split('\n').map((line) => parse(line) ?? text(line));
      return Array.isArray(read) ? read.join('\n') : read;
    },
  };
}
