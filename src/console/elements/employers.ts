/** Chooses the employer of a page that shows one employer. */
import { listPayrollRuns } from '../../api/operations/payroll-runs.ts';
import { type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { laterText } from './facts.ts';
import { address, idLink, nameable } from './links.ts';
import { type Filter, filterForm, PAGE_ROWS } from './list.ts';

export const EMPLOYER_FILTER: Filter = { name: 'employer_id', label: 'Employer ID', required: true };

/**
 * Renders a form for the id of an employer, and links to the employers of recent runs. Both open `path`. `summary`: the
 * path of a part that loads next to each employer.
 */
export async function employerChooser(
  { api }: Pick<Visit, 'api'>,
  path: string,
  summary?: string,
): Promise<Html> {
  const { data } = await api.perform(listPayrollRuns, { query: { limit: PAGE_ROWS } });
  const employers = [...new Set(data.map(({ employer_id }) => employer_id))].sort();
  const linked = employers.map((employer_id) => {
    const link = nameable('employer', employer_id, idLink(address(path, { employer_id }), employer_id));
    return html`<li>${link}${summary !== undefined && laterText(address(summary, { employer_id }))}</li>`;
  });
  const recent = html`
    <section class="card" aria-labelledby="recent">
      <h2 id="recent">Employers with recent runs</h2>
      <ul>${linked}</ul>
    </section>
  `;
  return html`${filterForm(path, {}, [EMPLOYER_FILTER])}${employers.length > 0 && recent}`;
}
