/** The terms of a deduction in words, its employer, and the table of deductions. */
import type { ResultOf } from '../../../api/operation.ts';
import type { getDeduction } from '../../../api/operations/deductions.ts';
import { dayOf } from '../../../contract/instant.ts';
import { state, type Tone } from '../../elements/facts.ts';
import { alignedMoney, dayText, money, plain, term } from '../../elements/format.ts';
import { deductionLink, employerLink } from '../../elements/links.ts';
import { type Column, table, withNote } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';

export type Deduction = ResultOf<typeof getDeduction>;

const FIELDS = {
  member_contribution: 'employee contribution',
  employer_contribution: 'employer contribution',
  period: 'period',
  taxability: 'taxability',
  line_of_coverage: 'line of coverage',
  coverage_type: 'coverage type',
  effective_start: 'start date',
  effective_end: 'end date',
  employee_id: 'employee',
  description: 'description',
} as const satisfies Partial<Record<keyof Deduction, string>>;

/** The fields that a deduction and its versions share. */
export type Terms = Pick<Deduction, keyof typeof FIELDS>;

/** The first and last effective days (`YYYY-MM-DD`), or null where the deduction is open. */
export type Span = { readonly from: string | null; readonly until: string | null };

/** The periods whose names are unclear in a sentence. */
const PERIODS: Readonly<Record<string, string>> = {
  biweekly: 'every two weeks',
  semimonthly: 'twice a month',
};
const ZERO = /^[+-]?0+(\.0+)?$/;

/** Only the date parts of the effective times count, as written. */
export function spanOf({ effective_start, effective_end }: Terms): Span {
  return { from: dayIn(effective_start), until: dayIn(effective_end) };
}

function dayIn(text: string | null | undefined): string | null {
  return text ? dayOf(text) : null;
}

function isNeverInEffect({ from, until }: Span): boolean {
  return from !== null && until !== null && until < from;
}

/** `$150.00 monthly from the employee, pre-tax, medical, from Jan 1, 2026 on`. `span`: by default the dates as received. */
export function sentence(terms: Terms, span: Span = spanOf(terms)): string {
  return [amountWords(terms), plain(terms.taxability), coverageWords(terms), spanWords(span)].join(', ');
}

/** `$150.00 monthly from the employee, $350.00 from the employer`. */
export function amountWords({ member_contribution, employer_contribution, period }: Terms): string {
  const member = `${money(member_contribution)} ${PERIODS[period] ?? period} from the employee`;
  return ZERO.test(employer_contribution)
    ? member
    : `${member}, ${money(employer_contribution)} from the employer`;
}

/** `medical (member family)`. */
export function coverageWords({ line_of_coverage, coverage_type }: Terms): string {
  return plain(line_of_coverage) + (coverage_type ? ` (${plain(coverage_type)})` : '');
}

function shownDay(day: string | null): string | null {
  return day === null ? null : dayText(day);
}

export function spanWords(span: Span): string {
  const [from, until] = [span.from, span.until].map(shownDay);
  if (isNeverInEffect(span)) return `never in effect: it ends on ${until}, before it starts on ${from}`;
  if (until === null) return from === null ? 'with no start or end date' : `from ${from} on`;
  return from === null ? `through ${until}` : `from ${from} through ${until}`;
}

export function stateOn(span: Span, day: string): [word: string, tone: Tone] {
  const { from, until } = span;
  if (isNeverInEffect(span)) return ['never in effect', 'warn'];
  if (from !== null && day < from) return [`starts ${dayText(from)}`, 'plain'];
  if (until !== null && until < day) return [`ended ${dayText(until)}`, 'plain'];
  return ['in effect', 'good'];
}

/** Returns the state of a deduction on a day. A deduction of the service may replace a placeholder by then. */
export function stateOfDeduction(deduction: Deduction, day: string): [word: string, tone: Tone] {
  const { placeholder } = deduction;
  const isReplaced = placeholder?.replaced_by != null && (placeholder.replaced_from ?? '') <= day;
  return isReplaced ? ['replaced', 'plain'] : stateOn(spanOf(deduction), day);
}

/** Returns what replaces a placeholder, in words; null for a deduction with an ID of the service. */
export function placeholderWords({ placeholder }: Deduction): string | null {
  if (placeholder === null) return null;
  const { replaced_by, replaced_from } = placeholder;
  if (replaced_by === null) return 'open placeholder';
  return `replaced by ${replaced_by}${replaced_from === null ? '' : ` from ${dayText(replaced_from)}`}`;
}

/** A field that changed; null: it is absent. Without `before` only the new value is shown. */
export type Change = {
  readonly what: string;
  readonly before?: string | null;
  readonly after: string | null;
};

/** Returns the fields that differ. Amounts and days are compared as shown: `150.0` equals `150.00`. */
export function changesBetween(before: Terms, after: Terms): Change[] {
  return (Object.keys(FIELDS) as (keyof typeof FIELDS)[]).flatMap((field) => {
    const shown = { before: shownAs(before, field), after: shownAs(after, field) };
    return shown.before === shown.after ? [] : [{ what: FIELDS[field], ...shown }];
  });
}

function shownAs(terms: Terms, field: keyof typeof FIELDS): string | null {
  const text = terms[field] ?? null;
  if (text === null) return null;
  if (field === 'effective_start' || field === 'effective_end') return shownDay(dayIn(text));
  return field === 'member_contribution' || field === 'employer_contribution' ? money(text) : text;
}

/** A description may have 4,000 characters; the event's page shows all of it. */
const CHANGE_CHARACTERS = 160;
/** Maximum characters of a change that stays on one line. */
const UNBROKEN_CHARACTERS = 24;

/** Lists changes with the old value, where there was one, and the new one. */
export function changeList(changes: readonly Change[]): Html {
  if (changes.length === 0) return html`<span class="soft"> no changes</span>`;
  return html`<ul class="changed">${changes.map(changeOf)}</ul>`;
}

function changeOf({ what, before, after }: Change): Html {
  if (before === undefined) return html`<li>${`${what}: ${after}`}</li>`;
  const isShort = (before?.length ?? 0) + (after?.length ?? 0) <= UNBROKEN_CHARACTERS;
  const shortened = (text: string) =>
    text.length > CHANGE_CHARACTERS ? `${text.slice(0, CHANGE_CHARACTERS)}…` : text;
  const [deleted, inserted] = [before, after].map((text) => shortened(text ?? 'none'));
  return html`<li class=${isShort ? 'whole' : undefined}>${`${what}: `}<del>${deleted}</del>${' '}<span aria-hidden="true">→</span>${' '}<ins>${inserted}</ins></li>`;
}

type Matching = Pick<Deduction, 'employer_id' | 'matched'>;

const UNMATCHED =
  'This employee is in no census and no reported hire, so payroll runs skip the deduction. Upload a census with this employee ID, or report the hire. If payroll has no such employee, contact the benefits service.';
const SEVERAL =
  'This employee is active with two employers, so payroll runs skip the deduction. Assign it to one of them. If one employment is wrong, report the termination.';

export function employerOf({ employer_id, matched }: Matching): Html {
  if (employer_id !== null) return employerLink(employer_id);
  return matched ? state('two employers', 'warn') : state('unmatched', 'warn');
}

/** Returns what to do about an unknown employer; null for a known one. */
export function employerAdvice({ employer_id, matched }: Matching): Html | null {
  return employer_id === null ? html`<span class="soft">${matched ? SEVERAL : UNMATCHED}</span>` : null;
}

/** Returns the advice for a list, once per case. */
export function employerAdviceFor(deductions: readonly Matching[]): (Html | false)[] {
  return [false, true].map((matched) => {
    const unknown = { employer_id: null, matched };
    const occurs = deductions.some(
      (deduction) => deduction.employer_id === null && deduction.matched === matched,
    );
    return occurs && html`<p class="notice">${employerOf(unknown)}${' '}${employerAdvice(unknown)}</p>`;
  });
}

/** Lists deductions with their state on `day`. `owners`: columns for the employee and the employer, where they differ. */
export function deductionTable(
  deductions: readonly Deduction[],
  { caption, day, owners = [] }: { caption: string; day: string; owners?: readonly Column<Deduction>[] },
): Html {
  const member = alignedMoney(deductions.map(({ member_contribution }) => member_contribution));
  const employer = alignedMoney(deductions.map(({ employer_contribution }) => employer_contribution));
  return table(deductions, { caption }, [
    ...owners,
    ['Coverage', coverageOf, owners.length === 0 ? 'name' : undefined],
    ['Employee contribution', (row) => withNote(member(row.member_contribution), row.period), 'number'],
    ['Employer contribution', (row) => withNote(employer(row.employer_contribution), row.period), 'number'],
    ['Effective', datesOf, 'date'],
    [`On ${dayText(day)}`, (deduction) => state(...stateOfDeduction(deduction, day))],
    ['Deduction', namedDeduction, 'small'],
  ]);
}

function namedDeduction(deduction: Deduction): Html {
  const link = deductionLink(deduction.id);
  return deduction.placeholder === null ? link : withNote(link, placeholderWords(deduction));
}

function coverageOf({ line_of_coverage, coverage_type, taxability }: Deduction): Html {
  const terms = [coverage_type, taxability].flatMap((name) => (name ? [plain(name)] : []));
  return withNote(term(line_of_coverage), terms.join(', '));
}

export function datesOf(terms: Terms): Html {
  const { from, until } = spanOf(terms);
  return html`
    <span>
      ${from === null ? 'no start date' : `from ${dayText(from)}`}
      <span class="under">${until === null ? 'no end date' : `to ${dayText(until)}`}</span>
    </span>
  `;
}
