/** A run as the fields of a form, and back. Pure. */
import { RUN_DEFAULTS } from '../../../api/run-schemas.ts';
import type { paths } from '../../../client-types.ts';
import type { Run } from './words.ts';

/** What was typed, by field; what is empty is absent. */
export type Typed = Readonly<Record<string, string>>;
export type RunBody = paths['/v1/payroll-runs/{run_id}']['put']['requestBody']['content']['application/json'];

const OPTIONS = ['scheme', 'applies_on', 'remainder', 'extra_paycheck', 'adjustments', 'arrears'] as const;
const WORDS = [
  'employer_id',
  'pay_frequency',
  'period_start',
  'period_end',
  'pay_date',
  'kind',
  'pay_group',
  ...OPTIONS,
  'policy_reason',
] as const;
/** One on each line: an id may hold a blank or a comma. */
const LISTS = ['employee_ids', 'deductions', 'final_checks'] as const;
export const FIELDS: readonly string[] = ['run_id', ...WORDS, ...LISTS, 'pay_dates'];

/** What a form begins with: the API's defaults. */
export const DEFAULTS: Typed = { pay_frequency: 'biweekly', ...RUN_DEFAULTS };

/** The body that the form asks for. The API checks it, so its type is what it should be, not what it is. */
export function bodyOf(typed: Typed): RunBody {
  const words = WORDS.map((name) => [name, (typed[name] ?? '').trim()] as const);
  const lists = LISTS.map((name) => [name, linesOf(typed[name])] as const);
  const given = [...words, ...lists, ['pay_dates', daysOf(typed.pay_dates)] as const];
  return Object.fromEntries(given.filter(([, value]) => value.length > 0)) as unknown as RunBody;
}

/**
 * The fields of a run like an earlier one: its employer and its options, on the dates given. Its pay dates, its id and
 * who got a last check were its own.
 */
export function typedLike(
  run: Run,
  dates: Pick<Run, 'pay_date' | 'period_start' | 'period_end'> | null,
): Typed {
  const { employee_ids, deductions } = run;
  const fields: Record<string, string | null> = {
    ...Object.fromEntries(WORDS.map((name) => [name, run[name]])),
    ...Object.fromEntries(
      OPTIONS.map((name) => [name, run.stated_options.includes(name) ? run[name] : null]),
    ),
    ...(dates ?? { pay_date: null, period_start: null, period_end: null }),
    employee_ids: employee_ids?.join('\n') ?? null,
    deductions: deductions?.join('\n') ?? null,
  };
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== null),
  );
}

/** The field that a path of the API is about: `employee_ids[3]` is about `employee_ids`. */
export function fieldOf(path: string): string | null {
  const [name] = /^[a-z_]+/.exec(path) ?? [];
  return name !== undefined && FIELDS.includes(name) ? name : null;
}

function linesOf(text = ''): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Days hold neither, so they may be separated by anything. */
function daysOf(text = ''): string[] {
  return text.split(/[\s,;]+/).filter((day) => day !== '');
}
