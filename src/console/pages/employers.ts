/** Chooses employers by their legal names. */
import { lookUpNames, NAMES_AT_ONCE } from '../../api/operations/names.ts';
import type { Choice } from '../elements/fields.ts';
import type { Filter } from '../elements/list.ts';
import type { Visit } from '../page.ts';
import { payrollsOf } from './payrolls.ts';

export const EMPLOYER_FILTER: Filter = { name: 'employer_id', label: 'Employer ID' };

/** Returns the employers of a user, by ID; none for a user who may not read payrolls. */
export async function employersOf(visit: Visit): Promise<string[]> {
  if (!visit.may('runs:read')) return [];
  const payrolls = await payrollsOf(visit);
  return [...new Set(payrolls.map(({ employer_id }) => employer_id))].sort();
}

/** Returns employers as choices by legal name. Two with the same name have their IDs, too. */
export async function employerChoices(
  { api, may }: Visit,
  employer_ids: readonly string[],
): Promise<Choice[]> {
  const body = { employee_ids: [], employer_ids };
  const { employers } = may('names:read') ? await api.perform(lookUpNames, { body }) : { employers: [] };
  const ids = Map.groupBy(employers, ({ legal_name }) => legal_name);
  const names = new Map(employers.map(({ employer_id, legal_name }) => [employer_id, legal_name]));
  const labelOf = (id: string) => {
    const name = names.get(id);
    if (name === undefined) return id;
    return ids.get(name)?.length === 1 ? name : `${name} (${id})`;
  };
  return employer_ids
    .map((value) => ({ value, label: labelOf(value) }))
    .sort((a, b) => a.label.localeCompare(b.label, 'en'));
}

/** Adds the user's employers to the filter of an employer. With more than can be chosen from, the ID is typed. */
export async function withEmployers(visit: Visit, filters: readonly Filter[]): Promise<readonly Filter[]> {
  const known = await employersOf(visit);
  if (known.length === 0 || known.length > NAMES_AT_ONCE) return filters;
  const { employer_id = '' } = visit.query;
  const shown = employer_id === '' || known.includes(employer_id) ? known : [...known, employer_id];
  const chosen = { label: 'Employer', choices: await employerChoices(visit, shown) };
  return filters.map((filter) => (filter.name === EMPLOYER_FILTER.name ? { ...filter, ...chosen } : filter));
}
