/** Whose employee a deduction is of, and what to do where that is not known. */
import type { Schemas } from '../../../client.ts';
import { employerLink } from '../../elements/links.ts';
import { state } from '../../elements/state.ts';
import type { Content, Html } from '../../html.ts';
import { html } from '../../html.ts';

type Matching = Pick<Schemas['Deduction'], 'employer_id' | 'matched'>;

/** The employer, or the word for why there is none. */
export function employerOf({ employer_id, matched }: Matching): Html {
  if (employer_id !== null) return employerLink(employer_id);
  return matched ? state('several', 'warn') : state('unmatched', 'warn');
}

const UNMATCHED = `No census and no reported hire has this employee, so no payroll run takes the deduction. Upload a census with
 this employee id, or report the hire; if payroll has no such employee, tell the benefits service.`;
const SEVERAL = `Two employers have this employee at once, so no payroll run takes the deduction. Open the employee to see both;
 report the termination with the one, or upload its census.`;

/** What to do about a deduction without an employer; null when it has one. */
export function whatToDo({ employer_id, matched }: Matching): Content {
  if (employer_id !== null) return null;
  return html`<span class="soft">${matched ? SEVERAL : UNMATCHED}</span>`;
}

/** The same for a list: each case that is in it, once. */
export function whatToDoAbout(deductions: readonly Matching[]): Html[] {
  const lost = deductions.filter(({ employer_id }) => employer_id === null);
  return [false, true].flatMap((matched) => {
    const one = lost.find((deduction) => deduction.matched === matched);
    return one === undefined ? [] : [html`<p class="notice">${employerOf(one)}${' '}${whatToDo(one)}</p>`];
  });
}
