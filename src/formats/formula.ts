/**
 * Texts in a CSV that a spreadsheet would take for a formula. Pure. An apostrophe before them makes them texts; one
 * that has apostrophes before it already gets another, so that each text can be told back from its cell.
 */

/** What spreadsheets begin a formula with, the wide forms of East Asian keyboards among them. */
const FORMULA = "'*[=+\\-@\\t\\r\\n\uFF1D\uFF0B\uFF0D\uFF20]";
const LOOKS_LIKE_ONE = new RegExp(`^${FORMULA}`);
const IS_MADE_HARMLESS = new RegExp(`^'${FORMULA}`);

export function harmless(text: string): string {
  return LOOKS_LIKE_ONE.test(text) ? `'${text}` : text;
}

/** The text that a cell was made of. */
export function asWritten(cell: string): string {
  return IS_MADE_HARMLESS.test(cell) ? cell.slice(1) : cell;
}
