/** The payroll policy of an employer: the options of its runs from a pay date on, shown with its versions and edited. */
import type { ProblemDetails } from '../../../api/problem.ts';
import type { Schemas } from '../../../client.ts';
import { type Api, attempt } from '../../api-client.ts';
import { empty } from '../../elements/facts.ts';
import { field, hiddenFields, problemSummary } from '../../elements/fields.ts';
import { instant } from '../../elements/format.ts';
import { address } from '../../elements/links.ts';
import { type Column, table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import type { Console } from '../../page.ts';
import { choiceOf, OPTION_NAMES, OPTIONS } from '../runs/labels.ts';

type Policy = Schemas['PayrollPolicy']['versions'][number];

const PATH = '/settings/payroll-policy';
const LABELS: Readonly<Record<string, string>> = {
  effective_from: 'Pay dates from',
  ...Object.fromEntries(OPTION_NAMES.map((name) => [name, OPTIONS[name].label])),
};
/** The API's default of each option is its first choice. */
const DEFAULTS = Object.fromEntries(OPTION_NAMES.map((name) => [name, OPTIONS[name].choices[0]?.value]));

export async function policiesOf(api: Api, employer_id: string): Promise<Policy[]> {
  return (await api.get('/v1/employers/{employer_id}/payroll-policy', { employer_id })).versions;
}

/** Lists the versions of the policy, newest first. */
export function policyTable(policies: readonly Policy[]): Html {
  if (policies.length === 0) {
    return empty('No payroll policy', html`<p>Runs use the default options, unless they set their own.</p>`);
  }
  const caption = 'Versions of the payroll policy, newest first';
  return table(policies, { caption, captionHidden: true, stacked: true }, [
    ['Pay dates from', ({ effective_from }) => effective_from, 'name'],
    ...OPTION_NAMES.map((name): Column<Policy> => {
      return [OPTIONS[name].label, (policy) => choiceOf(name, policy[name])?.label];
    }),
    ['Created', ({ created_at }) => instant(created_at), 'date'],
  ]);
}

export function policyPages({ page, action }: Console): void {
  page(PATH, 'runs:write', async ({ api, query: { employer_id = '' }, today }) => {
    const [latest] = await policiesOf(api, employer_id);
    return {
      title: `Payroll policy of ${employer_id}`,
      body: policyForm(employer_id, { ...DEFAULTS, ...latest, effective_from: today }),
    };
  });

  action(PATH, 'runs:write', async ({ api, form: { employer_id = '', ...typed } }) => {
    const body = typed as { effective_from: string };
    const call = api.send('put', '/v1/employers/{employer_id}/payroll-policy', { employer_id }, body);
    const { problem } = await attempt(call, 400, 422);
    if (problem !== undefined) return policyForm(employer_id, typed, problem);
    return { go: address('/settings', { employer_id, saved: 'policy' }) };
  });
}

function policyForm(
  employer_id: string,
  typed: Readonly<Record<string, unknown>>,
  problem?: ProblemDetails,
): Html {
  const given = (name: string) => ({
    name,
    label: LABELS[name] ?? name,
    value: String(typed[name] ?? ''),
    problems: problem?.errors?.filter(({ path }) => path === name) ?? [],
  });
  const placeOf = (id: string) => (LABELS[id] === undefined ? null : { id, label: LABELS[id] });
  return html`
    <form id="policy" class="long" novalidate hx-post=${PATH} hx-target="this" hx-swap="outerHTML">
      ${problem !== undefined && problemSummary(problem, placeOf)}
      <p>Saving adds a version. Open runs with a pay date on or after its date use it; finalized runs do not change.</p>
      ${hiddenFields({ employer_id })}
      <section class="card">
        ${field({ ...given('effective_from'), type: 'date', required: true })}
        <div class="columns">
          ${OPTION_NAMES.map((name) => field({ ...given(name), choices: OPTIONS[name].choices }))}
        </div>
      </section>
      <div class="actions">
        <button type="submit">Save payroll policy</button>
        <a class="button quiet" href=${address('/settings', { employer_id })}>Back</a>
      </div>
    </form>
  `;
}
