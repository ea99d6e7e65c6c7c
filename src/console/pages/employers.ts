/** Filters of lists: employers are chosen by their legal names, employees found by name. */
import type { TSchema } from 'typebox';
import type { Operation } from '../../api/operation.ts';
import { lookUpNames, NAMES_AT_ONCE } from '../../api/operations/names.ts';
import type { Choice } from '../elements/fields.ts';
import { distinctNames } from '../elements/format.ts';
import { address, named } from '../elements/links.ts';
import { EMPLOYEE_FILTER, type Filter, filterForm, filtersIn, PAGE_ROWS, pager } from '../elements/list.ts';
import { type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import type { Input } from '../performing.ts';
import { employeeFinder } from '../search.ts';
import { payrollsOf } from './payrolls.ts';

export const EMPLOYER_FILTER: Filter = { name: 'employer_id', label: 'Employer ID' };

/** Returns the employers of a user, by ID; none for a user who may not read payrolls. */
export async function employersOf(visit: Visit): Promise<string[]> {
  if (!visit.may('runs:read')) return [];
  const payrolls = await payrollsOf(visit);
  return [...new Set(payrolls.map(({ employer_id }) => employer_id))].sort();
}

/** Returns employers as choices by legal name. */
export async function employerChoices(
  { api, may }: Visit,
  employer_ids: readonly string[],
): Promise<Choice[]> {
  const body = { employee_ids: [], employer_ids };
  const { employers } = may('names:read') ? await api.perform(lookUpNames, { body }) : { employers: [] };
  const names = distinctNames(
    new Map(employers.map(({ employer_id, legal_name }) => [employer_id, legal_name])),
  );
  return employer_ids
    .map((value) => ({ value, label: names.get(value) ?? value }))
    .sort((a, b) => a.label.localeCompare(b.label, 'en'));
}

/** Renders the filters of a list. An employer is chosen by name, and an employee found by name or ID. */
export async function filtersOf(visit: Visit, path: string, filters: readonly Filter[]): Promise<Html> {
  const { employee_id, employer_id, cursor: _, ...query } = visit.query;
  const form = filterForm(path, visit.query, await withEmployers(visit, filters));
  if (!filters.includes(EMPLOYEE_FILTER)) return form;
  const all = address(path, { employer_id, ...query });
  const employee =
    employee_id === undefined
      ? employeeFinder(employer_id, all, 'Find')
      : html`<p>Employee: ${named('employee', employee_id)} <a href=${all}>All employees</a></p>`;
  return html`${form}${employee}`;
}

/** Reads the part of a list that the address asks for: its rows, the filters that are set, their form, and other pages. */
export async function readList<P extends TSchema, Q extends TSchema, B extends TSchema, Row>(
  visit: Visit,
  path: string,
  op: Operation<P, Q, B, { data: Row[]; next_cursor: string | null }>,
  filters: readonly Filter[],
) {
  const { cursor, run } = visit.query;
  const filter = filtersIn(visit.query, filters);
  const query = { limit: PAGE_ROWS, cursor, ...filter } as Input<P, Q, B>['query'] & object;
  const { data, next_cursor } = await visit.api.perform(op, { query });
  const pages = pager(path, { ...filter, run, cursor }, next_cursor);
  return { data, filter, next_cursor, form: await filtersOf(visit, path, filters), pages };
}

/** Adds the user's employers to the filter of an employer. With more than can be chosen from, the ID is typed. */
async function withEmployers(visit: Visit, filters: readonly Filter[]): Promise<readonly Filter[]> {
  const known = await employersOf(visit);
  if (known.length === 0 || known.length > NAMES_AT_ONCE) return filters;
  const { employer_id = '' } = visit.query;
  const shown = employer_id === '' || known.includes(employer_id) ? known : [...known, employer_id];
  const chosen = { label: 'Employer', choices: await employerChoices(visit, shown) };
  return filters.map((filter) => (filter.name === EMPLOYER_FILTER.name ? { ...filter, ...chosen } : filter));
}
