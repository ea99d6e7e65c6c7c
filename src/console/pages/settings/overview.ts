/** The payroll settings of an employer: pay schedules, payroll codes, the versions of the payroll policy, second approval. */

import { Temporal } from 'temporal-polyfill';
import type { ResultOf } from '../../../api/operation.ts';
import {
  getPayrollCodes,
  getPayrollPolicy,
  getPayScheduleOfYear,
  listPaySchedules,
} from '../../../api/operations/payroll-settings.ts';
import { COVERAGE_TYPES, LINES_OF_COVERAGE, TAXABILITIES } from '../../../contract/deduction.ts';
import { SIDES } from '../../../formats/payroll-code.ts';
import type { RowColumn } from '../../elements/editor.ts';
import { empty } from '../../elements/facts.ts';
import { ANY, choicesOf } from '../../elements/fields.ts';
import { count, counted, dayOf, dayText, instant } from '../../elements/format.ts';
import { historyOf } from '../../elements/history.ts';
import { address, employerLink, nameIn } from '../../elements/links.ts';
import { type Column, table } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import type { Api } from '../../performing.ts';
import { nextStepOf, type Payroll, payrollsOf, scheduleOf, setupLink, setupOf } from '../payrolls.ts';
import { choiceOf, OPTION_NAMES, OPTIONS, RECOUP, recoupLimit } from '../runs/labels.ts';
import { secondApprovalOf } from './second-approval.ts';

export type Schedule = ResultOf<typeof getPayScheduleOfYear>['schedules'][number];
/** The key of a schedule among its employer's schedules of a year. */
export type ScheduleKey = Pick<Schedule, 'pay_frequency' | 'pay_group'>;
type ScheduleYear = ResultOf<typeof listPaySchedules>['years'][number];
export type Code = ResultOf<typeof getPayrollCodes>['codes'][number];
type Policy = ResultOf<typeof getPayrollPolicy>['versions'][number];

/** Dates on one page: about 20 weekly schedules. An employer may have 100 schedules a year. */
const DATES_SHOWN = 1_100;
/** Breaks between pay periods that a schedule shows: enough to see what is wrong. */
const BREAKS_SHOWN = 3;
const TREATMENTS = { '': 'Not set', deposit: 'Deposit', memo: 'Memo' };
export const CODE_COLUMNS: readonly (RowColumn & { readonly name: keyof Code })[] = [
  { name: 'line_of_coverage', title: 'Line of coverage', choices: choicesOf(LINES_OF_COVERAGE) },
  { name: 'taxability', title: 'Taxability', choices: [ANY, ...choicesOf(TAXABILITIES)] },
  { name: 'side', title: 'Paid by', choices: choicesOf(SIDES) },
  { name: 'code', title: 'Code' },
  { name: 'treatment', title: 'Employer treatment', choices: choicesOf(TREATMENTS) },
  // The last column: codes pasted without headers may lack it.
  { name: 'coverage_type', title: 'Coverage type', choices: [ANY, ...choicesOf(COVERAGE_TYPES)] },
];

export function settingPages({ page }: Console): void {
  page('/settings', 'runs:read', async (visit) => {
    const { employer_id } = visit.query;
    return employer_id === undefined
      ? { title: 'Payroll settings', body: await chooser(visit) }
      : {
          title: html`Payroll settings of ${nameIn('employer', employer_id)}`,
          body: await ofEmployer(visit, employer_id),
        };
  });
}

async function chooser(visit: Visit): Promise<Html> {
  return html`
    <p>Pay schedules list the pay dates of an employer. Payroll codes are the names that payroll uses for the deductions. The payroll policy sets the options of payroll runs.</p>
    ${elsewhere(visit)}
    ${await employersOf(visit)}
  `;
}

async function employersOf(visit: Visit): Promise<Html> {
  const payrolls = [...Map.groupBy(await payrollsOf(visit), ({ employer_id }) => employer_id)].toSorted();
  if (payrolls.length === 0) return empty('No employers yet');
  return table(payrolls, { caption: 'Employers', captionHidden: true }, [
    ['Employer', ([id]) => employerLink(id, '/settings'), 'name'],
    ['Pay dates', ([, each]) => each.map(lastDateOf)],
    [
      'Missing',
      ([id, each]) => {
        const parts = [...new Set(each.flatMap(setupOf))];
        if (parts.length === 0) return null;
        return visit.may('runs:write') ? setupLink(id, parts) : parts.join(', ');
      },
    ],
  ]);
}

function lastDateOf(payroll: Payroll): Content {
  const { last_pay_date } = payroll;
  return last_pay_date && html`<div>${`${scheduleOf(payroll)}, to ${dayText(last_pay_date)}`}</div>`;
}

/** Links to the pages that are in the navigation of operators only. Of one employer, or of all. */
function elsewhere({ may }: Visit, employer_id?: string): Html {
  const links: readonly (readonly [isShown: boolean, label: string, path: string])[] = [
    [employer_id !== undefined, 'Payroll runs', '/runs'],
    [may('census:read'), 'Census and syncs', '/census'],
    [may('changes:read'), 'Employment changes', '/changes'],
    [may('audit:read'), 'Audit records', '/audit'],
  ];
  const shown = links.filter(([isShown]) => isShown);
  return html`<nav class="tabs" aria-label="Elsewhere"><ul>${shown.map(([, label, path]) => html`<li><a href=${address(path, { employer_id })}>${label}</a></li>`)}</ul></nav>`;
}

async function ofEmployer(visit: Visit, employer_id: string): Promise<Html> {
  const { api, may, query } = visit;
  const years = await scheduleYearsOf(api, employer_id);
  const codes = await codesOf(api, employer_id);
  const policies = await policiesOf(api, employer_id);
  const noCodes = html`<p>Lines have no payroll code. Once you add one, a payroll run names the lines that have none.</p>`;
  const codeList =
    codes.length > 0 ? codeTable(codes, 'Payroll codes', true) : empty('No payroll codes', noCodes);
  const section = async (
    resource_type: string,
    title: string,
    content: Html,
    edit?: { path: string; label: string },
  ) => html`
    <section aria-labelledby=${resource_type}>
      <h2 id=${resource_type}>${title}</h2>
      ${content}
      ${edit !== undefined && may('runs:write') && html`<div class="actions"><a class="button quiet" href=${address(edit.path, { employer_id, run: query.run })}>${edit.label}</a></div>`}
      ${await historyOf(visit, { employer_id, resource_type })}
    </section>
  `;
  return html`
    ${query.saved !== undefined && html`<p role="status"><strong>Saved.</strong>${query.saved !== 'second-approval' && ' Open runs use the new settings; finalized runs do not change.'}</p>`}
    ${query.saved !== undefined && (await nextStepOf(visit, employer_id))}
    ${elsewhere(visit, employer_id)}
    ${await section('schedule', 'Pay schedules', scheduleCards(years, visit), { path: '/settings/pay-schedule', label: 'Add a pay schedule' })}
    ${await section('codes', 'Payroll codes', codeList, { path: '/settings/payroll-codes', label: 'Edit payroll codes' })}
    ${await section('policy', 'Payroll policy', policyTable(policies), { path: '/settings/payroll-policy', label: 'Edit payroll policy' })}
    ${await section('approval-setting', 'Second approval', await secondApprovalOf(visit, employer_id))}
  `;
}

/** Returns the schedules of each year, the latest year first. */
export async function scheduleYearsOf(api: Api, employer_id: string): Promise<ScheduleYear[]> {
  return (await api.perform(listPaySchedules, { params: { employer_id } })).years;
}

export async function schedulesOf(api: Api, employer_id: string, year: string): Promise<Schedule[]> {
  return (await api.perform(getPayScheduleOfYear, { params: { employer_id, year } })).schedules;
}

export async function codesOf(api: Api, employer_id: string): Promise<Code[]> {
  return (await api.perform(getPayrollCodes, { params: { employer_id } })).codes;
}

/** Returns the versions of the policy, newest first. */
export async function policiesOf(api: Api, employer_id: string): Promise<Policy[]> {
  return (await api.perform(getPayrollPolicy, { params: { employer_id } })).versions;
}

/** A missing pay group is null in some responses and absent in others. */
export function isFor(schedule: ScheduleKey, key: ScheduleKey | null): boolean {
  const { pay_frequency, pay_group = null } = schedule;
  return pay_frequency === key?.pay_frequency && pay_group === (key.pay_group ?? null);
}

/** Shows the dates of the first schedules, up to `DATES_SHOWN`, and of the schedule in the address. Further schedules are links. */
function scheduleCards(years: readonly ScheduleYear[], { may, query }: Visit): Html {
  if (years.length === 0) {
    const advice = html`<p>Without one, each paycheck takes an even part of the year for the usual number of paychecks. A year with more or fewer dates then does not add up.</p>`;
    return empty('No pay schedule', advice);
  }
  let dates = 0;
  const card = (year: string, schedule: Schedule) => {
    const { pay_frequency, pay_group, pay_dates } = schedule;
    const title = `${year}, ${titleOf(schedule)}`;
    dates += pay_dates.length;
    const last = lastOfYear(years, String(Number(year) - 1), schedule);
    const breaks = breaksOf([...(last === undefined ? [] : [last]), ...pay_dates]);
    const key = { employer_id: query.employer_id, year, pay_frequency, pay_group: pay_group ?? undefined };
    const isSelected =
      query.year === year && query.pay_frequency === pay_frequency && query.pay_group === key.pay_group;
    const list =
      dates <= DATES_SHOWN || isSelected
        ? html`<details open=${isSelected}><summary>Pay dates</summary>${dateTable(schedule, `Pay dates, ${title}`)}</details>`
        : html`<p class="hint">${`This page shows at most ${count(DATES_SHOWN)} dates. `}<a href=${address('/settings', key)}>Show the dates of this schedule</a></p>`;
    return html`
      <section class="card">
        <h3>${title}</h3>
        <p>${`${pay_dates.length} pay dates, ${spanOf(pay_dates)}`}${schedule.year_in_fewer_checks === true && '. They take the amounts of the whole year.'}</p>
        ${breaks.length > 0 && html`<ul class="notice">${breaks.slice(0, BREAKS_SHOWN).map((text) => html`<li>${text}</li>`)}</ul>`}
        ${list}
        ${may('runs:write') && html`<p><a class="button quiet" href=${address('/settings/pay-schedule', { ...key, run: query.run })}>Edit</a></p>`}
      </section>
    `;
  };
  return html`${years.flatMap(({ year, schedules }) => schedules.map((schedule) => card(year, schedule)))}`;
}

type PayDate = Schedule['pay_dates'][number];

function lastOfYear(years: readonly ScheduleYear[], year: string, key: ScheduleKey): PayDate | undefined {
  const schedules = years.find((other) => other.year === year)?.schedules;
  return schedules?.find((schedule) => isFor(schedule, key))?.pay_dates.at(-1);
}

/** Names days that are in no pay period or in two, as after a year whose periods were set with another delay. */
function breaksOf(dates: readonly PayDate[]): string[] {
  return dates.slice(1).flatMap(({ period_start }, index) => {
    const end = dates[index]?.period_end ?? period_start;
    const days = Temporal.PlainDate.from(end).until(period_start).days - 1;
    if (days === 0) return [];
    return days > 0
      ? `${counted(days, 'day')} before ${dayText(period_start)} in no pay period: the previous one ends on ${dayText(end)}.`
      : `The pay period from ${dayText(period_start)} overlaps the previous one, which ends on ${dayText(end)}.`;
  });
}

export function spanOf(dates: Schedule['pay_dates']): string {
  return [dates.at(0), dates.at(-1)].map((date) => dayText(date?.pay_date ?? '')).join(' to ');
}

/** What a pay date takes. */
export const TAKES = choicesOf({
  all: 'all deductions',
  own_period: 'deductions per check only',
  none: 'nothing',
});

export function dateTable({ pay_dates }: Pick<Schedule, 'pay_dates'>, caption: string): Html {
  return table(pay_dates, { caption, captionHidden: true }, [
    ['Pay date', ({ pay_date }) => dayOf(pay_date), 'name'],
    ['Period start', ({ period_start }) => dayOf(period_start), 'date'],
    ['Period end', ({ period_end }) => dayOf(period_end), 'date'],
    ['Takes', ({ takes }) => TAKES.find(({ value }) => value === (takes ?? 'all'))?.label],
  ]);
}

export function titleOf({ pay_frequency, pay_group }: ScheduleKey): string {
  return (pay_group ?? null) === null ? pay_frequency : `${pay_frequency}, pay group ${pay_group}`;
}

/** `captionHidden`: a heading above already names the table. */
export function codeTable(codes: readonly Code[], caption: string, captionHidden: boolean): Html {
  const columns = CODE_COLUMNS.map(({ title, name, choices }): Column<Code> => {
    const shown = (value: string) => choices?.find((choice) => choice.value === value)?.label ?? value;
    return [title, (code) => shown(code[name] ?? '')];
  });
  return table(codes, { caption, captionHidden }, columns);
}

export function policyTable(policies: readonly Policy[]): Html {
  if (policies.length === 0) {
    return empty('No payroll policy', html`<p>Runs use the default options.</p>`);
  }
  const caption = 'Versions of the payroll policy, newest first';
  return table(policies, { caption, captionHidden: true }, [
    ['Pay dates from', ({ effective_from }) => dayOf(effective_from), 'name'],
    ...OPTION_NAMES.map((name): Column<Policy> => {
      return [OPTIONS[name].label, (policy) => choiceOf(name, policy[name])?.label];
    }),
    [RECOUP.label, ({ recoup }) => recoupLimit(recoup)],
    ['Created', ({ created_at }) => instant(created_at)],
  ]);
}
