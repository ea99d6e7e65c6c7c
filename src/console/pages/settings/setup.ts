/** The setup of an employer on one page: what it has and lacks, and one form for the pay dates, the codes and the policy. */
import { listCensuses } from '../../../api/operations/censuses.ts';
import { listDeductions } from '../../../api/operations/deductions.ts';
import { listPayFrequencies } from '../../../api/operations/payroll-settings.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { DATES_MOVE } from '../../../formats/pay-date-proposal.ts';
import { empty, savedNotice, state } from '../../elements/facts.ts';
import {
  choicesOf,
  filledForm,
  hiddenFields,
  preview,
  problemIn,
  type Specs,
} from '../../elements/fields.ts';
import { filePath } from '../../elements/file.ts';
import { counted, lacksScope } from '../../elements/format.ts';
import { address, censusPath, fitsPath, nameIn } from '../../elements/links.ts';
import { type Column, table } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Act, Console, Done, Page, Visit } from '../../page.ts';
import { dataOrNull } from '../../performing.ts';
import { uploadForm } from '../census-upload.ts';
import { employerChoices } from '../employers.ts';
import { openFirst, type Payroll, payrollsOf, setupPath, startOf } from '../payrolls.ts';
import { FREQUENCIES } from '../runs/labels.ts';
import { spanOf, titleOf } from './overview.ts';
import { RULE_DEFAULTS, RULE_FIELDS } from './pay-dates.ts';
import { type Known, planOf, planShown, readKnown, savePlan } from './setup-plan.ts';

const PATH = setupPath();
type Form = Readonly<Record<string, string>>;

export function setupPages({ page, action }: Console): void {
  page(PATH, 'runs:write', (visit) => sheet(visit));

  action(`${PATH}/preview`, 'runs:write', async (act) => {
    const { employer_id = '' } = act.form;
    return shown(act, employer_id, act.form, await readKnown(act.api, employer_id));
  });

  action(PATH, 'runs:write', saved);
}

async function shown(visit: Visit, employer_id: string, form: Form, known: Known): Promise<Html> {
  return planShown(visit, employer_id, await planOf(visit, form, known));
}

/** Saves the plan, and starts the first payroll for its button. What was saved stays when a later part is refused. */
async function saved(act: Act): Promise<Html | Done> {
  const { api, form } = act;
  const { employer_id = '' } = form;
  const plan = await planOf(act, form, await readKnown(api, employer_id));
  const { problems } = plan;
  const problem = problems.length > 0 ? problemIn(problems) : await savePlan(act, employer_id, plan);
  if (problem !== undefined) {
    return stepsAndForm(act, employer_id, await payrollsOf(act, employer_id), form, problem);
  }
  const run = form.do === 'start' ? await openFirst(act, employer_id) : null;
  return { go: run ?? address(PATH, { employer_id, saved: 'true' }) };
}

async function sheet(visit: Visit): Promise<Page | Done> {
  const { employer_id } = visit.query;
  if (employer_id === undefined) return { go: '/' };
  const title = html`Setup of ${nameIn('employer', employer_id)}`;
  const payrolls = await dataOrNull(payrollsOf(visit, employer_id));
  // The census makes an employer known, so it comes first.
  if (payrolls !== null) return { title, body: await stepsAndForm(visit, employer_id, payrolls) };
  if (!fitsPath(employer_id)) return { title, body: empty('No employer has this ID') };
  const unknown = html`<p>This employer is not known yet. Upload its census first.</p>`;
  return { title, body: html`${unknown}${censusUpload(visit, employer_id)}` };
}

function censusUpload({ may }: Visit, employer_id: string): Html {
  return may('census:write')
    ? uploadForm(employer_id)
    : html`<p>${lacksScope('To upload the census', 'census:write')}</p>`;
}

async function stepsAndForm(
  visit: Visit,
  employer_id: string,
  payrolls: readonly Payroll[],
  typed?: Form,
  problem?: ProblemDetails,
): Promise<Html> {
  const { query } = visit;
  const lacks = await lacksOf(visit, employer_id, payrolls);
  const hasForm =
    lacks.hasCensus && (lacks.frequencies.length > 0 || lacks.sources.length > 0 || problem !== undefined);
  return html`
    <div id="setup">
      ${savedNotice({ saved: query.staged }, '/', 'All payrolls', 'Your census is staged.')}
      ${savedNotice({ saved: query.imported }, '/', 'All payrolls', `Deductions imported: ${query.imported}.`)}
      ${savedNotice(query, '/', 'All payrolls')}
      ${table(await stepsOf(visit, employer_id, payrolls, lacks, hasForm), { caption: 'Steps', captionHidden: true }, STEP_COLUMNS)}
      ${!lacks.hasCensus && censusUpload(visit, employer_id)}
      ${hasForm && (await settingsForm(visit, employer_id, lacks, typed, problem))}
    </div>
  `;
}

type Lacks = {
  readonly known: Known;
  readonly hasCensus: boolean;
  /** The pay frequencies of the employees that need a pay schedule; every pay frequency if none is known. */
  readonly frequencies: readonly string[];
  /** The employers that have the payroll codes or the payroll policy that this employer lacks. */
  readonly sources: readonly string[];
  readonly hasRun: boolean;
};

async function lacksOf(visit: Visit, employer_id: string, payrolls: readonly Payroll[]): Promise<Lacks> {
  const { api, today } = visit;
  const known = await readKnown(api, employer_id);
  const { pay_frequencies } = await api.perform(listPayFrequencies, { params: { employer_id } });
  const current = known.years.filter(({ year }) => year >= today.slice(0, 'YYYY'.length));
  const set = new Set<string>(
    current.flatMap(({ schedules }) => schedules.map(({ pay_frequency }) => pay_frequency)),
  );
  const needed = pay_frequencies.length > 0 || set.size > 0 ? pay_frequencies : Object.keys(FREQUENCIES);
  const lacking = (['payroll_codes', 'payroll_policy'] as const).filter((what) =>
    payrolls.some(({ missing }) => missing.includes(what)),
  );
  const others = lacking.length === 0 ? [] : await payrollsOf(visit);
  const sources = others.filter(
    (other) => other.employer_id !== employer_id && lacking.some((what) => !other.missing.includes(what)),
  );
  return {
    known,
    hasCensus: payrolls.every(({ missing }) => !missing.includes('census')),
    frequencies: needed.filter((frequency) => !set.has(frequency)),
    sources: [...new Set(sources.map((other) => other.employer_id))].sort(),
    hasRun: payrolls.some(({ run_id }) => run_id !== null),
  };
}

type Step = readonly [name: string, isDone: boolean, detail: Content];

const STEP_COLUMNS: readonly Column<Step>[] = [
  ['Step', ([name]) => name, 'name'],
  ['State', ([, isDone]) => (isDone ? state('done', 'good') : state('missing', 'warn'))],
  ['Details', ([, , detail]) => detail, 'wide'],
];

async function stepsOf(
  visit: Visit,
  employer_id: string,
  payrolls: readonly Payroll[],
  { known, hasCensus, frequencies, hasRun }: Lacks,
  hasForm: boolean,
): Promise<Step[]> {
  const { api, may } = visit;
  const [staged] = may('census:read')
    ? (await api.perform(listCensuses, { query: { employer_id } })).data
    : [];
  const edit = (setting: string, label: string) =>
    html`<a href=${address(`/settings/${setting}`, { employer_id })}>${label}</a>`;
  const schedules = known.years
    .toReversed()
    .flatMap(({ year, schedules: ofYear }) =>
      ofYear.map(
        (schedule) => html`<div>${`${year}, ${titleOf(schedule)}: ${spanOf(schedule.pay_dates)}`}</div>`,
      ),
    );
  const dated = payrolls.find(({ pay_date }) => pay_date !== null);
  const hasCodes = known.codes.length > 0;
  const hasPolicy = known.policies.length > 0;
  const codes = edit(
    'payroll-codes',
    hasCodes ? counted(known.codes.length, 'code') : 'Set the payroll codes',
  );
  const policy = hasPolicy
    ? edit('payroll-policy', 'Edit')
    : html`${edit('payroll-policy', 'Set the payroll policy')}<div class="soft">Without a policy, runs use the default options.</div>`;
  const census = html`<a href=${censusPath(employer_id)}>${counted(staged?.employees ?? 0, 'employee')}</a>`;
  // The form has a button that starts the payroll.
  const isStartable = hasCensus && (hasRun || !hasForm);
  return [
    ['Census', hasCensus, staged && census],
    ['Pay dates', frequencies.length === 0, schedules],
    ['Payroll codes', hasCodes, codes],
    ['Payroll policy', hasPolicy, policy],
    ...(await deductionStep(visit, employer_id)),
    ['First payroll', hasRun, isStartable && dated && startOf(dated, visit)],
  ];
}

/** What payroll deducts today. The benefits service sends only changes. */
async function deductionStep({ api, may }: Visit, employer_id: string): Promise<Step[]> {
  if (!may('ledger:read')) return [];
  const { data } = await api.perform(listDeductions, { query: { employer_id, limit: 1 } });
  const detail = html`<a href=${filePath({ employer_id, kind: 'deductions' })}>Import what payroll deducts today</a>`;
  return [['Deductions', data.length > 0, detail]];
}

async function settingsForm(
  visit: Visit,
  employer_id: string,
  { known, frequencies, sources, hasRun }: Lacks,
  typed: Form = {},
  problem?: ProblemDetails,
): Promise<Html> {
  const specs: Specs = {
    ...(frequencies.length > 0 && {
      pay_frequency: {
        label: 'Pay frequency',
        choices: choicesOf(
          Object.fromEntries(Object.entries(FREQUENCIES).filter(([name]) => frequencies.includes(name))),
        ),
      },
      ...RULE_FIELDS,
      from: { label: 'Next pay date', type: 'date' },
    }),
    ...((sources.length > 0 || problem !== undefined) && {
      copy_from: {
        label: 'Copy payroll codes and policy from',
        choices: [{ value: '', label: 'None' }, ...(await employerChoices(visit, sources))],
        hint: 'An employer whose payroll system uses the same codes.',
      },
    }),
  };
  const [pay_frequency] = frequencies;
  const values = { ...RULE_DEFAULTS, ...(pay_frequency !== undefined && { pay_frequency }), ...typed };
  const { summary, fieldOf } = filledForm(specs, values, problem);
  return html`
    <form id="settings" class="card" novalidate aria-label="Settings" hx-post=${PATH} hx-target="#setup" hx-swap="outerHTML">
      ${summary}
      ${hiddenFields({ employer_id })}
      <div class="fields">${Object.keys(specs).map(fieldOf)}</div>
      ${frequencies.length > 0 && html`<p class="hint">${`Pay dates are set for two years. ${DATES_MOVE}`}</p>`}
      ${preview('settings', `${PATH}/preview`, await shown(visit, employer_id, formOf(values, specs), known))}
      <div class="actions">
        ${!hasRun && html`<button type="submit" name="do" value="start">Save and start the first payroll</button>`}
        <button type="submit" class=${hasRun ? undefined : 'quiet'}>Save</button>
      </div>
    </form>
  `;
}

function formOf(values: Form, specs: Specs): Form {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => name in specs && value !== ''));
}
