/** The failures of commands for refusals of their operations: fields are options, and unknown ids are named. */
import { checkedParams, type Input, type Operation } from '../api/operation.ts';
import { invalid, Refusal, refusalOf } from '../api/problem.ts';
import { PROBLEMS } from '../api/problem-types.ts';
import { compile } from '../contract/check.ts';
import { pathSegment } from '../contract/fields.ts';
import { isAppError, type Problem } from '../errors.ts';
import { CommandError, failed, unanswered, wrongUsage } from './failure.ts';
import type { Field } from './operation-fields.ts';

type Addressed = Pick<Operation, 'path' | 'params'>;

/**
 * Returns the path and query of a call. Throws INVALID_REQUEST for an id or ETag that the operation refuses, and NOT_FOUND for
 * an id that no URL can contain: a running sidecar cannot be asked for it, so the database is not asked either.
 */
export function addressOf(op: Addressed, input: Input): string {
  const values = checkedParams(op, input) as Readonly<Record<string, string>>;
  const path = op.path.replace(/:(\w+)/g, (_, name: string) => {
    const segment = pathSegment(String(values[name]));
    if (segment !== null) return segment;
    throw new Refusal('NOT_FOUND', 'Nothing was found with this ID, which no URL can contain.');
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(input.query ?? {}))
    for (const each of [value].flat()) search.append(name, String(each));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Throws WRONG_USAGE for options that the operation's body refuses, before the command reads or asks anything. */
export function assertOptions({ body, rows }: Operation, named: object, fields: readonly Field[]): void {
  if (body === undefined || rows !== undefined) return;
  const problems = compile(body)
    .problems(named)
    .filter(({ path }) => fieldAt(path, fields)?.part === 'body');
  if (problems.length > 0) throw failureOf(invalid(problems), fields, [], null);
}

/** Returns the failure of a command for an operation's refusal. Its fields are options here, and it names unknown `ids`. */
export function failureOf(
  error: unknown,
  fields: readonly Field[],
  ids: readonly string[],
  list: string | null,
): unknown {
  // A running sidecar may answer later; on the database, the error itself states more.
  if (error instanceof Refusal && error.code === 'UNAVAILABLE') return unanswered(error.message);
  const refusal = isAppError(error) ? refusalOf(error) : error;
  if (!(refusal instanceof Refusal) || PROBLEMS[refusal.code].status >= 500) return error;
  const { code, message, problems, problemCount } = refusal;
  const all = problems.map((problem) => inOptions(problem, fields, code === 'ROWS_REFUSED'));
  // An option that sets a field in many elements has the problem of each.
  const named = all.filter(
    ({ path, rule }, index) =>
      all.findIndex((problem) => problem.path === path && problem.rule === rule) === index,
  );
  if (code === 'NOT_FOUND' && ids.length > 0) {
    const find = list === null ? '' : ` Find it with "benefits-sidecar ${list}".`;
    return failed(`${ids.join(' ')}: ${message}${find}`);
  }
  if (code === 'INVALID_REQUEST') return wrongUsage('options are missing or wrong', named);
  const [first] = problems;
  if (first === undefined) return failed(message);
  // A message that only repeats the problems.
  const what = message.includes(first.rule) ? PROBLEMS[code].title : message.replace(/\.$/, '');
  const notNamed = problemCount - problems.length;
  return new CommandError('COMMAND_FAILED', what, { problems: named, problemCount: named.length + notNamed });
}

/** Returns a problem with the option of its field, such as `--item[3]` for `items[3]`. */
function inOptions(problem: Problem, fields: readonly Field[], isFile: boolean): Problem {
  const { path } = problem;
  // The API's name of a file as a whole.
  if (path === 'body' && isFile) return { ...problem, path: '' };
  const field = fieldAt(path, fields);
  if (field === undefined) return problem;
  const [flag] = field.flags.split(' ');
  // An option that sets a field in every element has no index.
  return {
    ...problem,
    path: field.name.includes('[]') ? String(flag) : `${flag}${path.slice(field.name.length)}`,
  };
}

function fieldAt(path: string, fields: readonly Field[]): Field | undefined {
  const [name] = path.split(/[.[]/);
  const ofEach = path.replaceAll(/\[\d+\]/g, '[]');
  return fields.find((field) => field.name === name || field.name === ofEach);
}
