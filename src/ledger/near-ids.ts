/** Ids that differ only by what spreadsheets and people change: zeros at the front, blanks at the ends, and case. Pure. */

/** Returns what an id has in common with its near matches: `123` for `00123`, ` 123` and `0123`. */
export function nearKey(id: string): string {
  return id
    .trim()
    .replace(/^0+(?=.)/, '')
    .toLowerCase();
}
