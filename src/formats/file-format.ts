/** How an employer's files of one kind are read: a setting that a person confirms. Pure. */
import Type, { type Static, type TSchema } from 'typebox';
import { compile, didYouMean, PROBLEMS_MAX } from '../contract/check.ts';
import { closed, nullable, oneOfDescribed, reasonField, text } from '../contract/fields.ts';
import { MEANING_RULES } from '../contract/meant.ts';
import type { Problem } from '../errors.ts';
import type { NamedColumns } from './csv-header.ts';
import { nearestName, type OtherWords } from './usual-headers.ts';

export const FILE_KINDS = ['census', 'deductions', 'payroll'] as const;
export type FileKindName = (typeof FILE_KINDS)[number];

/** The fields that a kind of file has, with the schema of those whose values may be repaired. */
export type FileKind = NamedColumns & {
  readonly schemas: ReadonlyMap<string, TSchema>;
  /** Reports whether a strict file may have a column: `names` has the first element of a list only. */
  isName(name: string): boolean;
  /** The fields that every row of a file may have in common. */
  readonly constants: readonly ConstantField[];
  readonly words?: OtherWords;
  /** Fields that a row need not have, because their values follow from another one. */
  readonly follows?: Readonly<Record<string, readonly string[]>>;
  /** Returns the field of a header that only an employer's settings explain. */
  fieldOf?(header: string): string | null;
  /** Returns the field that another one means next to the fields of a file. */
  fieldNextTo?(field: string, fields: ReadonlySet<string>): string;
  /** Returns the problems of fields together. */
  problemsOf?(fields: readonly string[]): Problem[];
};

/** Returns the schema of a field whose values may be repaired. */
export function schemaOf({ schemas }: FileKind, field: string): TSchema | undefined {
  return schemas.get(field.replace(/\[.+\]/, '[0]'));
}

/** The rules by which values change, which a format confirms by column. */
export const REPAIR_RULES = [...MEANING_RULES, 'no-value'] as const;
export type RepairRule = (typeof REPAIR_RULES)[number];

/** What every row of a file may have in common, of any kind. */
const CONSTANT_FIELDS = [
  ...['employment_status', 'hours_worked', 'pay_rate[0].period', 'pay_frequency'],
  ...['line_of_coverage', 'taxability', 'period', 'employer_contribution', 'over'],
] as const;
type ConstantField = (typeof CONSTANT_FIELDS)[number];

/** No export has more columns. */
const COLUMNS_MAX = 200;
const NAME_CHARACTERS_MAX = 255;
export const VALUES_MAX = 200;
const PREFIX_CHARACTERS_MAX = 64;

const name = (description: string) =>
  Type.String({ minLength: 1, maxLength: NAME_CHARACTERS_MAX, description });

const Column = closed({
  header: name('The name of the column in the file.'),
  field: nullable(name('The field of the contract, such as `address.line1`. Null: the column is not read.')),
  rules: Type.Optional(
    Type.Array(oneOfDescribed(REPAIR_RULES, 'A rule by which values of the column may change.'), {
      description:
        'The confirmed rules. A value that another rule would change refuses the file. Default: none.',
    }),
  ),
  value: Type.Optional(
    Type.String({
      maxLength: NAME_CHARACTERS_MAX,
      description:
        'What a payroll file that is written has in this column of every row. Only without a field. Default: nothing.',
    }),
  ),
});

const LeftOut = closed({
  header: name('The column that shows which rows to leave out.'),
  values: Type.Array(name('A value of the column, or its beginning and `*`.'), {
    minItems: 1,
    maxItems: VALUES_MAX,
    rule: `must be a list of 1 to ${VALUES_MAX} values`,
    description: 'The values of rows to leave out.',
  }),
  reason: reasonField('Why these rows are left out.'),
});

export const FORMAT_FIELDS = {
  sheet: Type.Optional(
    nullable(name('The sheet of a workbook that is read. Default: null, the only visible sheet with data.')),
  ),
  columns: Type.Array(Column, {
    minItems: 1,
    maxItems: COLUMNS_MAX,
    rule: `must be a list of 1 to ${COLUMNS_MAX} columns`,
    description: 'All columns of the file, in any order. A file with another column is refused.',
  }),
  constants: Type.Optional(
    closed(
      Object.fromEntries(
        CONSTANT_FIELDS.map((field) => [field, Type.Optional(text('The value for every row.'))]),
      ),
      'Values for fields that the file lacks.',
    ),
  ),
  id_prefix: Type.Optional(
    nullable(
      Type.String({
        minLength: 1,
        maxLength: PREFIX_CHARACTERS_MAX,
        description:
          'What precedes the employee IDs of the file: `acme-` reads 1001 as `acme-1001`. It cannot change once a file was read. Default: null.',
      }),
    ),
  ),
  leave_out: Type.Optional(
    Type.Array(LeftOut, {
      maxItems: COLUMNS_MAX,
      rule: `must be a list of at most ${COLUMNS_MAX} entries`,
      description: 'Rows that are not employees, such as totals. Default: none.',
    }),
  ),
};

const FormatBody = closed(FORMAT_FIELDS);
type FormatBody = Static<typeof FormatBody>;

export type FileFormat = {
  sheet: string | null;
  columns: readonly { header: string; field: string | null; rules: readonly RepairRule[]; value?: string }[];
  constants: Readonly<Record<string, string>>;
  id_prefix: string | null;
  leave_out: readonly { header: string; values: readonly string[]; reason: string }[];
};

const formatBody = compile(FormatBody);

/** Returns a header's name as it is compared: blanks and case make no difference. */
export function headerKey(header: string): string {
  return header.normalize('NFKC').trim().replace(/\s+/g, ' ').toLowerCase();
}

type Checked = { ok: true; value: FileFormat } | { ok: false; problems: Problem[] };

/** Checks a format that a person sets. */
export function checkFormat(body: unknown, kind: FileKind): Checked {
  if (!formatBody.accepts(body))
    return { ok: false, problems: formatBody.problems(body, PROBLEMS_MAX, 'hints') };
  const value = formatOf(body);
  const problems = [...columnProblems(value, kind), ...constantProblems(value, kind), ...rowProblems(value)];
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

function formatOf({
  sheet = null,
  columns,
  constants = {},
  id_prefix = null,
  leave_out = [],
}: FormatBody): FileFormat {
  return {
    sheet,
    columns: columns.map(({ header, field, rules = [], value }) => ({
      header,
      field,
      rules: [...new Set(rules)].sort(),
      ...(value !== undefined && { value }),
    })),
    constants: constants as Record<string, string>,
    id_prefix,
    leave_out,
  };
}

function columnProblems({ columns, constants }: FileFormat, kind: FileKind): Problem[] {
  const { names, required, what, words, follows = {} } = kind;
  const headers = columns.map(({ header }) => headerKey(header));
  const fields = columns.map(({ field }) => field);
  const problems = columns.flatMap(({ field, value }, index): Problem[] => {
    const at = `columns[${index}]`;
    if (field !== null && value !== undefined)
      return [{ path: `${at}.value`, rule: 'must not be given if the column has a field' }];
    const first = headers.indexOf(headers[index] as string);
    if (first < index) return [{ path: `${at}.header`, rule: `is the same as columns[${first}].header` }];
    if (field === null) return [];
    if (!kind.isName(field)) {
      const rule = `is not a field of ${what}`;
      return [{ path: `${at}.field`, rule, ...didYouMean(nearestName(field, names, words)) }];
    }
    const same = fields.indexOf(field);
    return same < index ? [{ path: `${at}.field`, rule: `is the same as columns[${same}].field` }] : [];
  });
  const following = new Set(fields.flatMap((field) => (field === null ? [] : (follows[field] ?? []))));
  const missing = required.filter(
    (field) => !fields.includes(field) && !Object.hasOwn(constants, field) && !following.has(field),
  );
  return [
    ...problems,
    ...missing.map((field) => {
      const either = kind.constants.includes(field as ConstantField) ? 'a column or a constant' : 'a column';
      return { path: 'columns', rule: `must have ${either} for the field ${field}` };
    }),
    ...(kind.problemsOf?.(fields.filter((field) => field !== null)) ?? []),
  ];
}

function constantProblems({ columns, constants }: FileFormat, kind: FileKind): Problem[] {
  return Object.entries(constants).flatMap(([field, value]): Problem[] => {
    const path = `constants.${field}`;
    if (!kind.constants.includes(field as ConstantField)) {
      return [{ path, rule: `must be one of ${kind.constants.join(', ')} for ${kind.what}` }];
    }
    if (columns.some((column) => column.field === field))
      return [{ path, rule: 'must not be given if a column has the field' }];
    if (value === '') return [{ path, rule: 'must not be empty' }];
    const schema = schemaOf(kind, field);
    if (schema === undefined) return [];
    return compile(schema)
      .problems(value, 1, 'hints')
      .map((problem) => ({ ...problem, path }));
  });
}

function rowProblems({ columns, leave_out }: FileFormat): Problem[] {
  const headers = new Set(columns.map(({ header }) => headerKey(header)));
  return leave_out.flatMap(({ header, values }, index): Problem[] => {
    const at = `leave_out[${index}]`;
    if (!headers.has(headerKey(header)))
      return [{ path: `${at}.header`, rule: 'must be the header of a column' }];
    const all = values.findIndex((value) => value.trim() === '*');
    return all === -1 ? [] : [{ path: `${at}.values[${all}]`, rule: 'must not match every row' }];
  });
}

/** Returns an id as the service has it. */
export function withPrefix(prefix: string | null, id: string): string {
  return prefix === null || id === '' || id.startsWith(prefix) ? id : prefix + id;
}
