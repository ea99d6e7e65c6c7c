/** The ledger: every deduction, with filters that are kept in the address. */
import { listDeductions } from '../../../api/operations/deductions.ts';
import { toMilliseconds } from '../../../api/schemas.ts';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../../contract/deduction.ts';
import { empty } from '../../elements/facts.ts';
import { choicesOf } from '../../elements/fields.ts';
import { dayOf, instant } from '../../elements/format.ts';
import { address, employeeLink, fitsPath, type Query } from '../../elements/links.ts';
import { type Column, EMPLOYEE_FILTER, type Filter, PAGE_ROWS } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Page, Visit } from '../../page.ts';
import { EMPLOYER_FILTER, readList } from '../employers.ts';
import { REGISTRATION } from '../events/labels.ts';
import { type Deduction, deductionTable, employerAdviceFor, employerOf } from './terms.ts';

const PATH = '/ledger';
/** A point in time that the user asks about: a day, and what the ledger knew. */
export const TIME_FILTERS: readonly Filter[] = [
  {
    name: 'on',
    label: 'In effect on',
    type: 'date',
    hint: 'Leave empty for the latest state, including ended deductions.',
  },
  {
    name: 'known_at',
    label: 'As known at',
    type: 'datetime-local',
    hint: 'Shows what the ledger knew at this time. Leave empty for now.',
  },
];
const FILTERS: readonly Filter[] = [
  EMPLOYER_FILTER,
  EMPLOYEE_FILTER,
  { name: 'line_of_coverage', label: 'Line of coverage', choices: choicesOf(LINES_OF_COVERAGE) },
  { name: 'taxability', label: 'Taxability', choices: choicesOf(TAXABILITIES) },
  {
    name: 'matched',
    label: 'Roster',
    choices: choicesOf({ true: 'in the roster', false: 'not in the roster' }),
    hint: 'Whether a census or a reported hire contains the employee.',
  },
  {
    name: 'placeholder',
    label: 'Placeholders',
    choices: choicesOf({ open: 'open', replaced: 'replaced' }),
    hint: 'Deductions that a file named without an ID of the benefits service.',
  },
  ...TIME_FILTERS,
];

const EMPLOYEE: Column<Deduction> = ['Employee', ({ employee_id }) => employeeLink(employee_id), 'name'];
const EMPLOYER: Column<Deduction> = ['Employer', employerOf];

export function ledgerPages({ page }: Console): void {
  page(PATH, 'ledger:read', async (visit) => {
    const { today } = visit;
    const { cursor } = visit.query;
    const { data, filter, next_cursor, form, pages } = await readList(visit, PATH, listDeductions, FILTERS);
    const isEmpty = data.length === 0 && next_cursor === null;
    if (isEmpty && cursor === undefined && Object.keys(filter).length === 0) {
      const advice = html`<p>They arrive as events. ${REGISTRATION}</p>`;
      return { title: 'Deductions', body: empty('No deductions yet', advice) };
    }
    const { on = today, known_at, employer_id } = filter;
    const owners = employer_id === undefined ? [EMPLOYEE, EMPLOYER] : [EMPLOYEE];
    const body = html`
      <details class="card" open=${Object.keys(filter).length > 0}><summary>Filters</summary>${form}</details>
      ${timeNotice(filter, today)}
      ${known_at === undefined && employerAdviceFor(data)}
      ${isEmpty && (cursor === undefined ? nothing(filter) : empty('No more deductions'))}
      ${data.length > 0 && deductionTable(data, { caption: 'Deductions by employee', day: on, owners })}
      ${data.length < PAGE_ROWS && next_cursor !== null && html`<p class="hint">Few deductions match, so this page covers only part of the ledger. The next page continues. Choose an employer or an employee to search faster.</p>`}
      ${pages}
    `;
    return { title: 'Deductions', body };
  });
}

function nothing({ on, known_at, ...others }: Query): Html {
  const isPast = on !== undefined || known_at !== undefined;
  const title = isPast ? 'No matching deductions at that time' : 'No matching deductions';
  const isFilteredToo = isPast && Object.keys(others).length > 0;
  const today = html`<span>${', or '}<a href=${address(PATH, others)}>today’s deductions with the same filters</a></span>`;
  return empty(title, html`<p><a href=${PATH}>Show all deductions</a>${isFilteredToo && today}</p>`);
}

/** Returns `known_at`, which the API has checked, in the ledger's notation (milliseconds UTC); null when absent. */
export function knownAtOf({ known_at }: Query): string | null {
  return known_at === undefined ? null : toMilliseconds(known_at);
}

/** Reports that the list is not today's; null when it is. */
function timeNotice({ on, ...asked }: Query, today: string): Html | null {
  const knownAt = knownAtOf(asked);
  if (on === undefined && knownAt === null) return null;
  const isPast = knownAt !== null || (on !== undefined && on < today);
  const title = isPast ? 'Past state' : on === today ? 'Today' : 'Future state';
  return html`
    <p class="notice" role="note">
      <strong>${`${title}: `}</strong>
      ${on === undefined ? 'the latest state of each deduction' : html`<span>${'deductions in effect on '}${dayOf(on)}</span>`}
      ${knownAt !== null && html`<span>${', as known at '}${instant(knownAt)}</span>`}.
    </p>
  `;
}

export function notFound(what: string, id: string, may: Visit['may']): Page {
  const event = may('events:read') ? html`<a href="/events">event</a>` : 'event';
  const advice = fitsPath(id)
    ? html`<p>${'IDs are case-sensitive. If it was sent recently, its '}${event}${' may be pending or quarantined.'}</p>`
    : html`<p>${'This ID has no page, because it cannot be part of an address. '}<a href=${address(PATH, { employee_id: id })}>Show the employee’s deductions</a></p>`;
  const body = html`${empty(`There is no ${what} with the ID ${id}`, advice)}`;
  return { title: 'Not in the ledger', status: 404, body };
}
