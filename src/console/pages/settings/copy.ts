/** Copies the payroll codes and the payroll policy of another employer to one that has none. */
import { listPayrollRuns } from '../../../api/operations/payroll-runs.ts';
import {
  getPayrollCodes,
  getPayrollPolicy,
  putPayrollCodes,
  putPayrollPolicy,
} from '../../../api/operations/payroll-settings.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { filledForm, hiddenFields } from '../../elements/fields.ts';
import { address } from '../../elements/links.ts';
import { PAGE_ROWS } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Act, Console, Done, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { OPTION_NAMES } from '../runs/labels.ts';

const PATH = '/settings/copy';

export function copyActions({ action }: Console): void {
  action(PATH, 'runs:write', copied);
}

/** Copies what the employer lacks. What was copied stays when a later part is refused. */
async function copied(act: Act): Promise<Html | Done> {
  const { api, form, today } = act;
  const { employer_id = '', from = '', run } = form;
  const refused = (problem: ProblemDetails, done: readonly string[] = []) =>
    copyForm(act, { ...form, employer_id }, problem, done);
  const [source, target] = [{ params: { employer_id: from } }, { params: { employer_id } }];
  const { data, problem } = await attempt(api.perform(getPayrollCodes, source), 400, 404);
  if (problem !== undefined) return refused({ ...problem, errors: [{ path: 'from', rule: UNKNOWN }] });
  // The form may be older than the settings.
  const hasCodes = (await api.perform(getPayrollCodes, target)).codes.length > 0;
  const hasPolicy = (await api.perform(getPayrollPolicy, target)).versions.length > 0;
  const codes = hasCodes ? [] : data.codes;
  const policies = hasPolicy ? [] : fromOn(today, (await api.perform(getPayrollPolicy, source)).versions);
  if (codes.length === 0 && policies.length === 0)
    return refused({
      type: '',
      title: 'Nothing to copy',
      status: 400,
      errors: [{ path: 'from', rule: NOTHING }],
    });
  if (codes.length > 0) {
    const written = codes.map((code) =>
      Object.fromEntries(Object.entries(code).filter(([, value]) => value !== null)),
    );
    const call = api.perform(putPayrollCodes, { ...target, body: { codes: written } });
    const saved = await attempt(call, 400, 409, 422);
    if (saved.problem !== undefined) return refused(saved.problem);
  }
  for (const { effective_from, recoup, ...policy } of policies) {
    const options = Object.fromEntries(OPTION_NAMES.map((name) => [name, policy[name]]));
    const body = { ...options, recoup, effective_from: effective_from > today ? effective_from : today };
    const saved = await attempt(api.perform(putPayrollPolicy, { ...target, body }), 400, 422);
    if (saved.problem !== undefined) return refused(saved.problem, codes.length > 0 ? ['payroll codes'] : []);
  }
  return { go: address('/settings', { employer_id, run, saved: 'copied' }) };
}

/** Takes versions, newest first. Returns the one in effect on a day and the later ones, oldest first. */
function fromOn<V extends { effective_from: string }>(day: string, versions: readonly V[]): V[] {
  const isPast = ({ effective_from }: V) => effective_from <= day;
  const current = versions.findIndex(isPast);
  return versions.slice(0, current < 0 ? undefined : current + 1).toReversed();
}

const UNKNOWN = 'is no known employer';
const NOTHING = 'has no payroll codes or payroll policy that this employer lacks';

/** Renders the form. `done`: what was copied before a problem. */
export async function copyForm(
  { api }: Visit,
  typed: Visit['query'],
  problem?: ProblemDetails,
  done: readonly string[] = [],
): Promise<Html> {
  const { employer_id, run } = typed;
  const { data } = await api.perform(listPayrollRuns, { query: { limit: PAGE_ROWS } });
  const others = new Set(data.map((other) => other.employer_id).filter((id) => id !== employer_id));
  const specs = { from: { label: 'Employer to copy from', required: true, suggestions: [...others].sort() } };
  const { summary, fieldOf } = filledForm(specs, typed, problem);
  return html`
    <form class="card" aria-label="Copy settings" novalidate hx-post=${PATH} hx-target="this" hx-swap="outerHTML">
      ${summary}
      ${done.length > 0 && html`<p role="status">${`Copied: ${done.join(', ')}.`}</p>`}
      ${hiddenFields({ employer_id, run })}
      <p>This employer has no payroll codes and no payroll policy. Copy them from an employer whose payroll system uses the same.</p>
      <div class="fields">
        ${fieldOf('from')}
        <button type="submit">Copy codes and policy</button>
      </div>
    </form>
  `;
}
