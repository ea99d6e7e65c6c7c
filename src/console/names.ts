/** Names beside the ids of a page: looked up once, for all ids that the page shows. */
import { lookUpNames, NAMES_AT_ONCE } from '../api/operations/names.ts';
import type { Scope } from '../security/scopes.ts';
import { distinctNames } from './elements/format.ts';
import { markedIn, type Of } from './elements/links.ts';
import { type Content, html } from './html.ts';
import type { Api } from './performing.ts';

/** Shows the names of a page's ids to people who may see them. */
export async function showNames<P extends Content>(
  page: P,
  { api, may }: { api: Api; may(scope: Scope): boolean },
): Promise<P> {
  if (!may('names:read')) return page;
  const elements = [...markedIn(page)];
  const idsOf = (of: Of) => {
    const ids = elements.flatMap(([, marked]) => (marked.of === of ? [marked.id] : []));
    return [...new Set(ids)].slice(0, NAMES_AT_ONCE);
  };
  const body = { employee_ids: idsOf('employee'), employer_ids: idsOf('employer') };
  if (body.employee_ids.length + body.employer_ids.length === 0) return page;
  const { employees, employers } = await api.perform(lookUpNames, { body });
  const names = {
    employee: new Map(
      employees.map(({ employee_id, first_name, last_name }) => [employee_id, `${first_name} ${last_name}`]),
    ),
    employer: new Map(employers.map(({ employer_id, legal_name }) => [employer_id, legal_name])),
  };
  const alone = { employee: distinctNames(names.employee), employer: distinctNames(names.employer) };
  for (const [element, { of, id, isAlone }] of elements) {
    const name = names[of].get(id);
    if (name === undefined) continue;
    const props = element.props as { class?: string; children: unknown };
    if (isAlone) {
      props.children = alone[of].get(id);
      continue;
    }
    props.class = 'named';
    props.children = [name, ' ', html`<span class="id">${id}</span>`];
  }
  return page;
}
