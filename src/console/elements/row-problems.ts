/** What is wrong with a file, in a table: the row, the field, and the rule that it breaks. */
import { type Html, html } from '../html.ts';
import type { FieldProblem } from './field.ts';
import { table } from './table.ts';

/** Where a path of the API lies in the file, as people call it. */
export type RowPlace = { readonly row: string; readonly field: string };

export function rowProblems(problems: readonly FieldProblem[], placeOf: (path: string) => RowPlace): Html {
  return table({
    caption: 'What is wrong, by row and field',
    captionHidden: true,
    columns: [
      { title: 'Row', kind: 'name', cell: ({ row }) => row },
      { title: 'Field', cell: ({ field }) => html`<code>${field}</code>` },
      { title: 'Rule', cell: ({ rule }) => rule },
    ],
    rows: problems.map(({ path, rule }) => ({ ...placeOf(path), rule })),
  });
}
