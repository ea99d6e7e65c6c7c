/** What the setup of a new employer saves: pay dates of two years, and the codes and the policy of another employer. */
import { Temporal } from 'temporal-polyfill';
import {
  listLinesOfCoverage,
  putPayrollCodes,
  putPayrollPolicy,
  putPayScheduleOfYear,
} from '../../../api/operations/payroll-settings.ts';
import { isDay } from '../../../contract/instant.ts';
import type { Problem } from '../../../errors.ts';
import { counted, dayText, plain } from '../../elements/format.ts';
import { nameIn } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { type Api, attempt } from '../../performing.ts';
import { OPTION_NAMES } from '../runs/labels.ts';
import * as settings from './overview.ts';
import { generatedFrom } from './pay-dates.ts';

type Form = Readonly<Record<string, string>>;
type Dates = Extract<ReturnType<typeof generatedFrom>, { ok: true }>['rows'];

export type Known = {
  readonly years: Awaited<ReturnType<typeof settings.scheduleYearsOf>>;
  readonly codes: readonly settings.Code[];
  readonly policies: Awaited<ReturnType<typeof settings.policiesOf>>;
};

type Plan = {
  readonly frequency: string;
  /** The days from the end of a period to its unmoved pay date. */
  readonly lag: number;
  readonly years: readonly { readonly year: string; readonly dates: Dates }[];
  /** The employer whose codes and policy are copied. */
  readonly source: string | null;
  readonly codes: readonly settings.Code[];
  readonly policies: Known['policies'];
  readonly problems: readonly Problem[];
};

export async function readKnown(api: Api, employer_id: string): Promise<Known> {
  const years = await settings.scheduleYearsOf(api, employer_id);
  return { years, ...(await readCopied(api, employer_id)) };
}

async function readCopied(api: Api, employer_id: string): Promise<Pick<Known, 'codes' | 'policies'>> {
  return {
    codes: await settings.codesOf(api, employer_id),
    policies: await settings.policiesOf(api, employer_id),
  };
}

/** Plans only what the employer lacks: a form may be older than the settings. */
export async function planOf({ api, today }: Visit, form: Form, known: Known): Promise<Plan> {
  const { copy_from: source = null, pay_frequency: frequency = '' } = form;
  const dated = datesIn(form, known, today);
  const copied = source === null ? null : (await attempt(readCopied(api, source), 400, 404)).data;
  const codes = known.codes.length > 0 ? [] : (copied?.codes ?? []);
  const policies = known.policies.length > 0 ? [] : fromOn(today, copied?.policies ?? []);
  const rule =
    copied === undefined
      ? 'is no known employer'
      : 'has no payroll codes or payroll policy that this employer lacks';
  const isEmpty = source !== null && codes.length === 0 && policies.length === 0;
  const problems = [...dated.problems, ...(isEmpty ? [{ path: 'copy_from', rule }] : [])];
  const lag = Number(form.lag_days ?? 0);
  return { frequency, lag, years: dated.years, source, codes, policies, problems };
}

/** Generates the dates of the next pay date's year and of the following year. Years that have a schedule are left out. */
function datesIn(form: Form, { years }: Known, today: string): Pick<Plan, 'years' | 'problems'> {
  const { pay_frequency, from = '' } = form;
  if (pay_frequency === undefined) return { years: [], problems: [] };
  const isSet = (year: string) =>
    years.some(
      (known) =>
        known.year === year && known.schedules.some((schedule) => schedule.pay_frequency === pay_frequency),
    );
  const later = isDay(from) && from > today ? from : today;
  const first = Number(later.slice(0, 'YYYY'.length));
  const wanted = [first, first + 1].map(String).filter((year) => !isSet(year));
  const planned = [];
  for (const year of wanted) {
    const generated = generatedFrom({ ...form, year });
    if (!generated.ok)
      return { years: [], problems: generated.problems.filter(({ path }) => path !== 'year') };
    planned.push({ year, dates: generated.rows });
  }
  return { years: planned, problems: [] };
}

/** Takes versions, newest first. Returns the version in effect on a day, dated to that day, and the later versions. */
function fromOn<V extends { effective_from: string }>(day: string, versions: readonly V[]): V[] {
  const current = versions.findIndex(({ effective_from }) => effective_from <= day);
  return versions
    .slice(0, current < 0 ? undefined : current + 1)
    .map((version) => ({
      ...version,
      effective_from: version.effective_from > day ? version.effective_from : day,
    }));
}

/** Saves a plan. Returns the problem of the first part that is refused; what was saved before it stays. */
export async function savePlan({ api }: Visit, employer_id: string, plan: Plan) {
  const { frequency: pay_frequency, years, codes, policies } = plan;
  const params = { employer_id };
  const calls: (() => Promise<unknown>)[] = [];
  if (codes.length > 0) {
    const written = codes.map((code) =>
      Object.fromEntries(Object.entries(code).filter(([, value]) => value !== null)),
    );
    calls.push(() => api.perform(putPayrollCodes, { params, body: { codes: written } }));
  }
  for (const { effective_from, recoup, ...policy } of policies.toReversed()) {
    const options = Object.fromEntries(OPTION_NAMES.map((name) => [name, policy[name]]));
    calls.push(() => api.perform(putPayrollPolicy, { params, body: { ...options, recoup, effective_from } }));
  }
  for (const { year, dates } of years)
    calls.push(async () => {
      const schedules: object[] = await settings.schedulesOf(api, employer_id, year);
      const body = { schedules: [...schedules, { pay_frequency, pay_dates: dates }] };
      return api.perform(putPayScheduleOfYear, { params: { employer_id, year }, body });
    });
  for (const call of calls) {
    const { problem } = await attempt(call(), 400, 409, 422);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Shows what saving adds. Fields that are still empty add nothing yet. */
export async function planShown(visit: Visit, employer_id: string, plan: Plan): Promise<Html> {
  const { years, source, codes, policies } = plan;
  const first = years.flatMap(({ dates }) => dates).find(({ pay_date }) => pay_date >= visit.today)?.pay_date;
  if (years.length === 0 && codes.length === 0 && policies.length === 0)
    return html`<p class="hint">Saving adds nothing yet.</p>`;
  return html`
    <section aria-labelledby="plan">
      <h2 id="plan">Saving adds</h2>
      ${years.map((each) => yearShown(each, plan))}
      ${codes.length > 0 && (await codesShown(visit, employer_id, codes, source ?? ''))}
      ${policies.length > 0 && html`<details><summary>The payroll policy of ${nameIn('employer', source ?? '')}</summary>${settings.policyTable(policies)}</details>`}
      ${first !== undefined && html`<p>${`The first payroll is due on ${dayText(first)}.`}</p>`}
    </section>
  `;
}

function yearShown({ year, dates }: Plan['years'][number], { frequency, lag }: Plan): Html {
  const title = `Pay dates of ${year}, ${frequency}`;
  const perCheck = dates.filter(({ takes }) => takes !== 'all').length;
  const taking =
    perCheck === 0
      ? 'Every date takes deductions'
      : `${counted(dates.length - perCheck, 'date')} with all deductions, ${counted(perCheck, 'date')} with only deductions per check`;
  const moved = dates.flatMap(({ pay_date, period_end }) => {
    const unmoved = Temporal.PlainDate.from(period_end).add({ days: lag }).toString();
    return unmoved === pay_date ? [] : [`${dayText(unmoved)} to ${dayText(pay_date)}`];
  });
  return html`
    <details>
      <summary>${`${counted(dates.length, 'pay date')} of ${year}, ${frequency}: ${settings.spanOf(dates)}. ${taking}.`}</summary>
      ${settings.dateTable({ pay_dates: dates }, title)}
    </details>
    ${moved.length > 0 && html`<p class="hint">${`Moved off weekends and bank holidays: ${moved.join('; ')}.`}</p>`}
  `;
}

/** Lists the codes to copy, and names the lines of coverage in use that have no code among them. */
async function codesShown(
  { api }: Visit,
  employer_id: string,
  codes: Plan['codes'],
  source: string,
): Promise<Html> {
  const { lines_of_coverage } = await api.perform(listLinesOfCoverage, { params: { employer_id } });
  const lacking = lines_of_coverage.filter((line) =>
    codes.every(({ line_of_coverage }) => line_of_coverage !== line),
  );
  return html`
    <details>
      <summary>${counted(codes.length, 'payroll code')} of ${nameIn('employer', source)}</summary>
      ${settings.codeTable(codes, 'Payroll codes to copy', true)}
    </details>
    ${lacking.length > 0 && html`<p class="notice">${nameIn('employer', source)}${` has no code for ${lacking.map(plain).join(', ')}, which this employer’s deductions need.`}</p>`}
  `;
}
