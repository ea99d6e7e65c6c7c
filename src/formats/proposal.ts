/** Proposes the format of a file from its header and its values, for a person to confirm. */
import { folded } from '../contract/meant.ts';
import type { Problem } from '../errors.ts';
import { bareOf, totalIn } from './csv.ts';
import { MISSING_COLUMN } from './csv-header.ts';
import { type FileFormat, type FileKind, headerKey, VALUES_MAX } from './file-format.ts';
import { createQuestions } from './proposal-questions.ts';
import { type FormatFinder, LEFT_OUT, type Repairs, storedFormat } from './repair.ts';
import { NO_ROWS } from './rows.ts';
import { periodOfHeader, usualMatch } from './usual-headers.ts';

export type Proposal = {
  readonly find: FormatFinder;
  /** Returns the problems that only a person can decide. */
  questions(): Problem[];
  /** Returns the format after the file was read, with the rules that changed values; null without a header. */
  formatAfter(repairs: Repairs): FileFormat | null;
};

export const EMPTY_FORMAT: FileFormat = {
  ...{ sheet: null, columns: [], constants: {}, id_prefix: null, leave_out: [] },
};

/** Whether a file's payroll code is one of the employer's. Null: none are set. */
export type KnownCode = ((code: string) => boolean) | null;

/** Proposes a format. What `before`, the employer's format, has for the same headers stays. Rows of unknown codes are left out. */
export function proposeFormat(
  kind: FileKind,
  before: FileFormat | null,
  isKnownCode: KnownCode = null,
): Proposal {
  const { names, words } = kind;
  const earlier = new Map(before?.columns.map((column) => [headerKey(column.header), column]));
  let format = null as FileFormat | null;
  const totals = new Map<string, Set<string>>();
  const notes = new Map<string, Set<string>>();
  const dependents = new Map<string, Set<string>>();
  let relationships: ReadonlySet<string> = new Set();
  const outside = new Map<string, Set<string>>();
  const questions = createQuestions(names, (header) => earlier.has(headerKey(header)));
  const find: FormatFinder = {
    isColumn: (cell) =>
      earlier.has(headerKey(cell)) ||
      kind.isName(cell) ||
      kind.fieldOf?.(cell) != null ||
      usualMatch(cell, names, words) !== null,
    sheet: before?.sheet ?? null,
    formatFor(header) {
      relationships = new Set(header.filter((name) => RELATIONSHIPS.has(folded(name))));
      const { constants, id_prefix, leave_out } = before ?? EMPTY_FORMAT;
      const fields = fieldsOf(header, kind, (name) => earlier.get(headerKey(name))?.field);
      const constantsOfHeader = periodIn(fields);
      for (const [name, field] of fields) {
        // `Employee Cost (Monthly)` next to `Pay Frequency`, and `Annual Salary` next to `Pay Type`.
        if (field in constantsOfHeader && !earlier.has(headerKey(name))) fields.delete(name);
      }
      questions.begin(header, fields);
      const columns = [...new Set(header)].flatMap((name) => {
        if (name === '') return [];
        const rules = earlier.get(headerKey(name))?.rules ?? [];
        const field = fields.get(name) ?? null;
        const value = field === null ? earlier.get(headerKey(name))?.value : undefined;
        return [{ header: name, field, rules, ...(value !== undefined && { value }) }];
      });
      const lacking = ([field]: [string, string]) => columns.every((column) => column.field !== field);
      const known = new Set(columns.map((column) => headerKey(column.header)));
      format = {
        sheet: before?.sheet ?? null,
        columns,
        constants: Object.fromEntries(Object.entries({ ...constantsOfHeader, ...constants }).filter(lacking)),
        id_prefix,
        leave_out: leave_out.filter((entry) => known.has(headerKey(entry.header))),
      };
      // Two columns of one name are refused when the file is read through the format.
      return storedFormat(format, kind).formatFor(header);
    },
    foundTotal: (header, text) => noteValue(totals, header, beginningOf(text, totalIn(text) ?? text)),
    isNote(header, text) {
      const [words] = NOTE.exec(text) ?? [];
      if (words !== undefined) noteValue(notes, header, beginningOf(text, words));
      return words !== undefined;
    },
    isDependent(header, text) {
      if (!relationships.has(header) || !DEPENDENT.test(folded(text))) return false;
      noteValue(dependents, header, text.trim());
      return true;
    },
    noteRow: questions.noteRow,
    isOutside(field, header, value) {
      const code = bareOf(value);
      if (field !== 'payroll_code' || code === '' || (isKnownCode?.(code) ?? true)) return false;
      const codes = outside.get(header) ?? new Set();
      // A value with a `*` at its end would match others.
      if (code.endsWith('*') || (codes.size === VALUES_MAX && !codes.has(code))) return false;
      outside.set(header, codes.add(code));
      return true;
    },
  };
  return {
    find,
    questions: questions.problems,
    formatAfter({ changes }) {
      if (format === null) return null;
      const rulesOf = (field: string | null) =>
        changes.filter((change) => change.field === field).map(({ rule }) => rule);
      return {
        ...format,
        columns: format.columns.map((column) => ({
          ...column,
          rules: [...new Set([...column.rules, ...rulesOf(column.field)])].sort(),
        })),
        leave_out: [
          ...format.leave_out,
          ...entriesOf(totals, LEFT_OUT.total),
          ...entriesOf(notes, LEFT_OUT.note),
          ...entriesOf(dependents, LEFT_OUT.dependent),
          ...entriesOf(outside, LEFT_OUT.outside),
        ],
      };
    },
  };
}

/** Several words, or a word before a colon, are no ID: `Report generated`, `Records:`, `Page 1`. */
const NOTE =
  /^(?:\*+ ?)?\p{L}+(?:(?:,? \p{L}+)+|:)|^(?:page|printed|exported|generated|created|run) (?=\d)/iu;

const RELATIONSHIPS: ReadonlySet<string> = new Set([
  ...['relationship', 'relation', 'relationshiptype', 'relationshiptoemployee', 'membertype'],
  ...['rel', 'relationshipcode'],
]);
const DEPENDENT =
  /^(?:spouse|husband|wife|child|son|daughter|step|dependent|domesticpartner|partner|exspouse|(?:sp|ch|dp|dep)$)/;

/** Returns a value that leaves out a row whose text begins with words: `Count:*`, because `Count*` leaves out Ms. Countryman. */
function beginningOf(text: string, words: string): string {
  if (/[: ]$/.test(words)) return `${words}*`;
  const next = bareOf(text).slice(words.length, words.length + 1);
  return next === '' ? words : `${words}${next}*`;
}

function noteValue(values: Map<string, Set<string>>, header: string, value: string): void {
  values.set(header, (values.get(header) ?? new Set()).add(value));
}

function entriesOf(valuesByHeader: ReadonlyMap<string, ReadonlySet<string>>, reason: string) {
  return [...valuesByHeader].map(([header, values]) => ({ header, values: [...values], reason }));
}

const WHOLE_NAMES: ReadonlySet<string> = new Set([
  ...['name', 'fullname', 'employeename', 'payrollname', 'workername', 'employee'],
]);

/** The rules of a value that another column may have. */
const LACKS_VALUE = /^(?:must be one of|is required)/;

/** A format to check, with the problems of the file that it leaves. */
export type Tried = ReturnType<typeof tried>;

export function tried(
  { constants, problemsOf }: FileKind,
  proposal: Proposal,
  repairs: Repairs,
  { problem_count, problems }: { problem_count: number; problems: Problem[] },
) {
  const format = proposal.formatAfter(repairs);
  const unread = format?.columns.filter(({ field }) => field === null).map(({ header }) => header) ?? [];
  const whole = unread.find((header) => WHOLE_NAMES.has(folded(header)));
  const outside = format?.leave_out.find(({ reason }) => reason === LEFT_OUT.outside);
  const ids = unread.find((header) => folded(header) === 'employee');
  const hasIds = format?.columns.some(({ field }) => field === 'employee_id');
  /** Returns the rule of a problem with what the file shows about it. */
  const ruleOf = ({ path, rule }: Problem): string => {
    const field = path.replace(/^\w+\[\d+\]\./, '');
    const column = LACKS_VALUE.test(rule) && unread.find((name) => usualMatch(name, [field]) !== null);
    if (typeof column === 'string') return `${rule}. Perhaps the column "${column}" has it`;
    if (ids !== undefined && hasIds === false && path.endsWith('employee_id'))
      return `${rule}: if "${ids}" has IDs, and no names, give it this field`;
    if (repairs.rows === 0 && outside !== undefined && rule === NO_ROWS)
      return `${rule}: all rows are left out, because "${outside.header}" has none of the employer's payroll codes. Set the codes, or give the column another field`;
    if (rule !== MISSING_COLUMN) return rule;
    if (constants.some((name) => name === path))
      return `${rule}, which a constant of the file format can replace`;
    if (whole === undefined || !/^(?:first|last)_name$/.test(path)) return rule;
    return `${rule}: "${whole}" has whole names, so add the first and the last name to the export as columns of their own`;
  };
  const fields = format?.columns.flatMap(({ field }) => field ?? []);
  const questions = [...proposal.questions(), ...(fields === undefined ? [] : (problemsOf?.(fields) ?? []))];
  const count = problem_count + questions.length;
  return {
    format,
    unread,
    valid: count === 0,
    problem_count: count,
    problems: [...questions, ...problems.map((problem) => ({ ...problem, rule: ruleOf(problem) }))],
    repairs,
  };
}

/** Returns the field of each header: a field's own name first, then its usual names, each field once. */
function fieldsOf(
  header: readonly string[],
  kind: FileKind,
  earlierField: (name: string) => string | null | undefined,
): Map<string, string> {
  const fields = new Map<string, string>();
  const give = (
    fieldOf: (name: string, free: readonly string[]) => string | null,
    names: readonly string[] = header,
  ): void => {
    for (const name of names) {
      if (name === '' || fields.has(name) || earlierField(name) === null) continue;
      const taken = new Set(fields.values());
      const field = fieldOf(
        name,
        kind.names.filter((known) => !taken.has(known)),
      );
      if (field !== null && !taken.has(field)) fields.set(name, field);
    }
  };
  give((name) => earlierField(name) ?? null);
  give((name) => (kind.isName(name) ? name : null));
  give((name, free) => free.find((field) => folded(field) === folded(name)) ?? null);
  give((name) => kind.fieldOf?.(name) ?? null);
  const free = kind.names.filter((name) => ![...fields.values()].includes(name));
  const rankOf = (name: string) => usualMatch(name, free, kind.words)?.rank ?? Number.MAX_SAFE_INTEGER;
  const ranks = new Map(header.map((name) => [name, rankOf(name)]));
  const ranked = header.toSorted((a, b) => (ranks.get(a) as number) - (ranks.get(b) as number));
  give((name, names) => usualMatch(name, names, kind.words)?.name ?? null, ranked);
  const proposed = new Set(fields.values());
  for (const [name, field] of fields) {
    if (earlierField(name) === undefined) fields.set(name, kind.fieldNextTo?.(field, proposed) ?? field);
  }
  return fields;
}

/** Returns the period that the header of pay rates or contributions names. A `Salary` is of a year unless a column states the period. */
function periodIn(fields: ReadonlyMap<string, string>): Record<string, string> {
  const headerOf = (field: string): string => [...fields].find(([, known]) => known === field)?.[0] ?? '';
  if (/month/i.test(headerOf('member_contribution'))) return { period: 'monthly' };
  const rate = headerOf('pay_rate[0].amount');
  const isSalary = /salary/i.test(rate) && !/hour/i.test(rate) && headerOf('pay_rate[0].period') === '';
  const period = periodOfHeader(rate) ?? (isSalary ? 'annually' : null);
  return period === null ? {} : { 'pay_rate[0].period': period };
}
