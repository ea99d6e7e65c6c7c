/** The payroll policy of an employer: the options of its runs from a pay date on, shown with its versions and edited. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import type { Schemas } from '../../../client.ts';
import { need } from '../../api-client.ts';
import { empty } from '../../elements/facts.ts';
import { choiceField, hiddenFields, type Place, problemSummary, textField } from '../../elements/fields.ts';
import { instant } from '../../elements/format.ts';
import { address } from '../../elements/links.ts';
import { type Column, table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { action, type ConsoleParts, page, type Visit } from '../../page.ts';
import * as labels from '../runs/labels.ts';

type Policy = Schemas['PayrollPolicy']['versions'][number];
type Option = keyof typeof labels.OPTIONS;

const OPTIONS = Object.keys(labels.OPTIONS) as Option[];
const MEANINGS: Readonly<Record<Option, Readonly<Record<string, string>>>> = {
  scheme: labels.SCHEMES,
  remainder: labels.REMAINDERS,
  extra_paycheck: labels.EXTRA_PAYCHECKS,
  applies_on: labels.APPLIES_ON,
  adjustments: labels.ADJUSTMENTS,
  arrears: labels.ARREARS,
};
/** The API's defaults for an option that no policy sets. */
const DEFAULTS: Readonly<Record<Option, string>> = {
  scheme: 'annualized',
  remainder: 'last',
  extra_paycheck: 'take',
  applies_on: 'pay_date',
  adjustments: 'report',
  arrears: 'report',
};

export async function policiesOf(api: Visit['api'], employer_id: string): Promise<Policy[]> {
  const path = { employer_id };
  return need(await api.GET('/v1/employers/{employer_id}/payroll-policy', { params: { path } })).versions;
}

/** Lists the versions of the policy, newest first. */
export function policyTable(policies: readonly Policy[]): Html {
  if (policies.length === 0) {
    return empty('No payroll policy', html`<p>Runs use the default options, unless they set their own.</p>`);
  }
  const options = OPTIONS.map((name): Column<Policy> => {
    return { title: labels.OPTIONS[name], cell: (policy) => policy[name] };
  });
  return table<Policy>({
    caption: 'Versions of the payroll policy, newest first',
    captionHidden: true,
    stacked: true,
    columns: [
      { title: 'Pay dates from', kind: 'name', cell: ({ effective_from }) => effective_from },
      ...options,
      { title: 'Created', kind: 'date', cell: ({ created_at }) => instant(created_at) },
    ],
    rows: policies,
  });
}

export function policyPages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';
  const url = '/settings/payroll-policy';

  page(app, parts, { url, scope }, async ({ api, query, now }) => {
    const employer_id = query.employer_id ?? '';
    const [latest] = await policiesOf(api, employer_id);
    const effective_from = now.toISOString().slice(0, 10);
    return {
      title: `Payroll policy of ${employer_id}`,
      place: 'runs',
      body: policyForm(employer_id, { ...DEFAULTS, ...latest, effective_from }),
    };
  });

  action(app, parts, { url, scope }, async ({ api, form }) => {
    const { employer_id = '', ...typed } = form;
    const response = await api.PUT('/v1/employers/{employer_id}/payroll-policy', {
      params: { path: { employer_id } },
      body: typed as { effective_from: string },
    });
    const { status } = response.response;
    if (status === 400 || status === 422) return policyForm(employer_id, typed, response.error);
    need(response);
    return { go: address('/settings', { employer_id, saved: 'policy' }) };
  });
}

function policyForm(
  employer_id: string,
  typed: Readonly<Record<string, unknown>>,
  problem?: ProblemDetails,
): Html {
  const field = (name: string, label: string) => ({
    name,
    label,
    value: String(typed[name] ?? ''),
    problems: problem?.errors?.filter(({ path }) => path === name) ?? [],
  });
  const placeOf = (path: string): Place | null => {
    if (path === 'effective_from') return { id: path, label: 'Pay dates from' };
    const option = OPTIONS.find((name) => name === path);
    return option === undefined ? null : { id: path, label: labels.OPTIONS[option] };
  };
  return html`
    <form id="policy" class="long" novalidate hx-post="/settings/payroll-policy" hx-target="this" hx-swap="outerHTML">
      ${problem !== undefined && problemSummary(problem, placeOf)}
      <p>Saving adds a version. Open runs with a pay date on or after its date use it; finalized runs do not change.</p>
      ${hiddenFields({ employer_id })}
      <section class="card">
        ${textField({ ...field('effective_from', 'Pay dates from'), type: 'date', required: true })}
        <div class="columns">
          ${OPTIONS.map((name) => choiceField({ ...field(name, labels.OPTIONS[name]), choices: labels.explained(MEANINGS[name]) }))}
        </div>
      </section>
      <div class="actions">
        <button type="submit">Save payroll policy</button>
        <a class="button quiet" href=${address('/settings', { employer_id })}>Back</a>
      </div>
    </form>
  `;
}
