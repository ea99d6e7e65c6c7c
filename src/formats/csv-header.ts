/** The problems of a CSV's header, and the way on for a file that only a file format reads. Pure. */
import { DID_YOU_MEAN, PROBLEMS_MAX } from '../contract/check.ts';
import type { Problem } from '../errors.ts';
import { columnFinder, NAME_CHARACTERS_MAX, nearestName } from './usual-headers.ts';

/** `what` appears in messages: "a census". `format`: the kind of file format that reads other headers. Default: none. */
export type NamedColumns = {
  readonly names: readonly string[];
  readonly required: readonly string[];
  readonly what: string;
  readonly format?: string | undefined;
};

export const MISSING_COLUMN = 'is a missing column';

/** The path of the problem that proposes a file format. */
export const WHOLE_FILE = 'the file';

/** Returns the problem that proposes a file format; none if no format reads such files. */
export function formatProblem({ format }: Pick<NamedColumns, 'format'>): Problem[] {
  if (format === undefined) return [];
  const command = `"benefits-sidecar format propose FILE --employer ID --kind ${format}"`;
  const rule = `needs corrections, or a file format that reads it as it is. To propose a file format, run ${command}`;
  return [{ path: WHOLE_FILE, rule }];
}

/** Proposes a file format before the problems if it may read a value with a hint. `count` includes problems that are not listed. */
export function withFormatProblem(
  problems: readonly Problem[],
  count: number,
  named: Pick<NamedColumns, 'format'>,
): { problems: Problem[]; count: number } {
  const isMeant = problems.some(({ hint }) => hint?.startsWith(DID_YOU_MEAN));
  const isProposed = problems.some(({ path }) => path === WHOLE_FILE);
  const proposed = isMeant && !isProposed ? formatProblem(named) : [];
  return { problems: [...proposed, ...problems].slice(0, PROBLEMS_MAX), count: count + proposed.length };
}

/**
 * Returns the problems of a header. A column without a name has none: a value in it is a problem of its row. Names of unknown
 * columns are in hints only: without a header, they are values of the first row. `isKnown` reports whether the column at an
 * index has the name of one.
 */
export function headerProblems(
  header: readonly string[],
  named: NamedColumns,
  isKnown: (index: number) => boolean = (index) => named.names.includes(header[index] as string),
): Problem[] {
  const { names, required, what } = named;
  const isColumn = columnFinder(names);
  if (!header.some((name, index) => isKnown(index) || isColumn(name))) {
    const rule = `must name the columns of ${what}, and names none. They are: ${names.join(', ')}`;
    return [...formatProblem(named), { path: 'the header', rule }];
  }
  const problems = header.flatMap((name, index): Problem[] => {
    if (isKnown(index)) {
      return header.indexOf(name) < index ? [{ path: name, rule: 'is a duplicate column' }] : [];
    }
    if (name === '') return [];
    const missing = names.filter((known) => !header.includes(known));
    return [{ path: `column ${index + 1}`, rule: `is not a column of ${what}`, ...hintOf(name, missing) }];
  });
  const missing = required.filter((name) => !header.includes(name));
  problems.push(...missing.map((path) => ({ path, rule: MISSING_COLUMN })));
  return problems.length === 0 ? [] : [...formatProblem(named), ...problems];
}

function hintOf(name: string, names: readonly string[]): { hint?: string } {
  if (name.length > NAME_CHARACTERS_MAX) return {};
  const nearest = nearestName(name, names);
  return { hint: `its name is "${name}"${nearest === null ? '' : `: did you mean ${nearest}?`}` };
}
