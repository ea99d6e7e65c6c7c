/** What reading a file through its format changed, as responses show it. */
import Type, { type Static } from 'typebox';
import * as field from '../contract/fields.ts';
import { REPAIR_RULES } from '../formats/file-format.ts';
import type { Repairs } from '../formats/repair.ts';
import type { Caller } from '../security/tokens.ts';
import { mayAlso } from './auth.ts';

const Example = field.closed({
  line: field.integer('The line on which the row begins.'),
  before: field.text('The value in the file.'),
  after: field.text('The value that is read.'),
});

const Change = field.closed({
  field: field.text('The field of the contract.'),
  header: field.text('The column of the file.'),
  rule: field.oneOfDescribed(REPAIR_RULES, 'The rule by which the values change.'),
  cells: field.integer('How many values it changes.'),
  confirmed: field.boolean('Whether the file format confirms the rule for this column.'),
  examples: field.nullable(
    Type.Array(Example, { description: 'The first three. Null without the scope `pii:read`.' }),
  ),
});

export const FileRepairs = field.component(
  'FileRepairs',
  {
    encoding: field.nullableText('The encoding of a text file. Null if nothing was read.'),
    separator: field.nullableText('What separates the columns of a text file. Null if nothing was read.'),
    sheet: field.nullableText('The sheet of a workbook that was read. Null for a text file.'),
    hidden_rows: field.integer('Its rows that a filter or a person hides. They are read like the others.'),
    header_line: field.nullable(field.integer('The line of the header. Null if none was found.')),
    rows: field.integer('The rows that were read, without those that are left out.'),
    left_out: Type.Array(
      field.closed({
        reason: field.text('Why the rows are left out.'),
        rows: field.integer('The number of rows.'),
      }),
      { description: 'The rows that the format leaves out, by reason.' },
    ),
    changes: Type.Array(Change, { description: 'The changes of values, by column and rule.' }),
  },
  'What reading a file through its format changes.',
);
export type FileRepairs = Static<typeof FileRepairs>;

export const NullableRepairs = field.nullable({
  ...FileRepairs,
  description: 'What reading the file through its format changed. Null for JSON, and without a file format.',
});

const NOTHING_READ = { encoding: null, separator: null, sheet: null, hidden_rows: 0 };

/** Returns the repairs as the caller may see them. */
export function viewRepairs(repairs: Repairs, caller: Caller | null): FileRepairs {
  const { header_line, rows, left_out, changes } = repairs;
  const { encoding, separator, sheet, hidden_rows } = { ...NOTHING_READ, ...repairs.form };
  const seesValues = mayAlso(caller, 'pii:read');
  return {
    ...{ encoding, separator, sheet, hidden_rows, header_line, rows, left_out },
    changes: changes.map(({ examples, ...change }) => ({
      ...change,
      examples: seesValues ? examples : null,
    })),
  };
}
