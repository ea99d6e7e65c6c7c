import { inspect } from 'node:util';

/**
 * Characters that move the cursor, recolor the terminal, or reorder the text around them: C0, DEL and C1 (category Cc),
 * line and paragraph separators, and the controls of the bidirectional algorithm.
 */
const UNPRINTABLE = '\\p{Cc}\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069';
const EACH = new RegExp(`[${UNPRINTABLE}]`, 'gu');
const EACH_OR_STYLE = new RegExp(`[${UNPRINTABLE}](?:\\[\\d{1,2}m)?`, 'gu');

/** The sequences that `styleText` writes for the colors of the command line, such as ESC `[31m`. */
const STYLES: ReadonlySet<string> = new Set(
  (['bold', 'dim', 'green', 'red', 'yellow'] as const).flatMap((name) =>
    (inspect.colors[name] ?? []).map((code) => `\u001b[${code}m`),
  ),
);

/** Returns text that is safe for a terminal, on one line: unprintable characters become `\uXXXX`. */
export function printable(text: string): string {
  return text.replace(EACH, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Does the same for text of several lines. JSON keeps its value: it has such characters in strings only. `styled` keeps colors. */
export function printableLines(text: string, styled = false): string {
  return text.replace(EACH_OR_STYLE, (sequence) => {
    if (sequence.startsWith('\n') || (styled && STYLES.has(sequence))) return sequence;
    return printable(sequence);
  });
}
