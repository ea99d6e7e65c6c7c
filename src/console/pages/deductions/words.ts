/** What a deduction says, in words. Pure: texts as the service sent them, days as written. */
import type { Schemas } from '../../../client.ts';
import { dayOf } from '../../../contract/instant.ts';
import { plain, taxabilityWord } from '../../elements/plain.ts';
import type { Tone } from '../../elements/state.ts';

/** What a state of a deduction and a version of one have in common. */
export type Terms = Pick<
  Schemas['Deduction'],
  | 'employee_id'
  | 'line_of_coverage'
  | 'member_contribution'
  | 'employer_contribution'
  | 'period'
  | 'taxability'
  | 'coverage_type'
  | 'description'
  | 'effective_start'
  | 'effective_end'
>;

/** The days of a deduction, `YYYY-MM-DD`, both inclusive; null where it has no such end. */
export type Span = { readonly from: string | null; readonly until: string | null };

const PERIODS: Readonly<Record<Terms['period'], string>> = {
  weekly: 'a week',
  biweekly: 'every two weeks',
  semimonthly: 'twice a month',
  monthly: 'a month',
};
const ZERO = /^[+-]?0+(\.0+)?$/;

/** Only the date parts count, as written. */
export function spanOf({ effective_start, effective_end }: Terms): Span {
  return { from: dayIn(effective_start), until: dayIn(effective_end) };
}

function dayIn(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : dayOf(text);
}

/** Whether it ends before it begins: such a deduction is on no paycheck. */
export function isNeverInEffect({ from, until }: Span): boolean {
  return from !== null && until !== null && until < from;
}

/** `150.00 a month from the employee, pre-tax, medical, from 2026-01-01 until further notice`. */
export function sentence(terms: Terms): string {
  const { member_contribution, employer_contribution, period, taxability, line_of_coverage } = terms;
  const { coverage_type } = terms;
  const covered = coverage_type === undefined || coverage_type === null ? '' : ` (${plain(coverage_type)})`;
  return [
    `${member_contribution} ${PERIODS[period]} from the employee`,
    ...(ZERO.test(employer_contribution) ? [] : [`${employer_contribution} from the employer`]),
    taxabilityWord(taxability),
    plain(line_of_coverage) + covered,
    spanWords(spanOf(terms)),
  ].join(', ');
}

function spanWords(span: Span): string {
  const { from, until } = span;
  if (isNeverInEffect(span)) return `never in effect: it ends on ${until}, before it begins on ${from}`;
  const begins = from === null ? 'without a first day' : `from ${from}`;
  return until === null ? `${begins} until further notice` : `${begins} to ${until}, that day included`;
}

/** How a deduction stands on a day. */
export function standing(span: Span, day: string): { word: string; tone: Tone } {
  const { from, until } = span;
  if (isNeverInEffect(span)) return { word: 'never in effect', tone: 'warn' };
  if (from !== null && day < from) return { word: `begins ${from}`, tone: 'plain' };
  if (until !== null && until < day) return { word: `ended ${until}`, tone: 'plain' };
  return { word: 'in effect', tone: 'good' };
}

const NAMES = {
  member_contribution: 'employee pays',
  employer_contribution: 'employer pays',
  period: 'period',
  taxability: 'taxability',
  line_of_coverage: 'line of coverage',
  coverage_type: 'coverage type',
  effective_start: 'from',
  effective_end: 'until',
  employee_id: 'employee',
  description: 'description',
} as const satisfies Partial<Record<keyof Terms, string>>;

/** One thing that a version says otherwise than the one before it; null: it said nothing of it. */
export type Change = { readonly what: string; readonly before: string | null; readonly after: string | null };

/**
 * What a version says otherwise, in texts as sent: `150.0` and `150.00` are different texts of one amount. Of dates only
 * the days count, and only they are told.
 */
export function changesBetween(before: Terms, after: Terms): Change[] {
  return (Object.keys(NAMES) as (keyof typeof NAMES)[]).flatMap((field) => {
    const [one, other] = [before, after].map((terms) => saidOf(terms, field)) as [
      string | null,
      string | null,
    ];
    return one === other ? [] : [{ what: NAMES[field], before: one, after: other }];
  });
}

function saidOf(terms: Terms, field: keyof typeof NAMES): string | null {
  const text = terms[field] ?? null;
  return field === 'effective_start' || field === 'effective_end' ? dayIn(text) : text;
}
