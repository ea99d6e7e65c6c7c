/** The payrolls that are due: their table, the setup that each needs, and the button that opens its run. */

import { Temporal } from 'temporal-polyfill';
import type { RowOf } from '../../api/operation.ts';
import { openPayrollRun } from '../../api/operations/payroll-run-creation.ts';
import { listPayrollsDue } from '../../api/operations/payrolls-due.ts';
import { titleOfCheck } from '../../api/operations/readiness.ts';
import { state, type Tone } from '../elements/facts.ts';
import { hiddenFields } from '../elements/fields.ts';
import { age, count, counted, dayOf, dayText, difference, money } from '../elements/format.ts';
import { address, employerLink, findingPath, runPath } from '../elements/links.ts';
import { table, withNote } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import { mayApprove, type Visit } from '../page.ts';
import { nameOf } from './runs/labels.ts';

export type Payroll = RowOf<typeof listPayrollsDue>;
type Missing = Payroll['missing'][number];
export type Key = (typeof KEY)[number];
const KEY = ['employer_id', 'pay_frequency', 'pay_group', 'pay_date'] as const;
/** Payrolls in a list: more than a payroll specialist has employers. The API lists all. */
const ROWS = 1_000;

const SETUP: Readonly<Partial<Record<Missing, string>>> = {
  census: 'census',
  pay_schedule: 'pay dates',
  payroll_codes: 'payroll codes',
  payroll_policy: 'payroll policy',
};

/** The path of the page that sets up an employer. A form adds the ID of a new employer. */
export function setupPath(employer_id?: string): string {
  return address('/settings/setup', { employer_id });
}

export function setupLink(employer_id: string, parts: readonly string[]): Html {
  return html`<a href=${setupPath(employer_id)}>Finish the setup</a><span class="soft">${`: ${parts.join(', ')}`}</span>`;
}

/** Returns the missing parts of the setup. Pay dates later than the due pay date are not required. */
export function setupOf({ missing }: Payroll): string[] {
  return missing.flatMap((what) => SETUP[what] ?? []);
}

export function nextDatesLink({ employer_id, pay_frequency, pay_group, last_pay_date }: Payroll): Html {
  const year = last_pay_date && String(Number(last_pay_date.slice(0, 'YYYY'.length)) + 1);
  const path = address('/settings/pay-schedule', {
    ...{ employer_id, year },
    pay_frequency: pay_frequency ?? undefined,
    pay_group: pay_group ?? undefined,
  });
  return html`<a href=${path}>Add the next pay dates</a>`;
}

/** Opens the run of a payroll, which creates it if there is none, and returns its id. */
export async function openRunOf(
  { api }: Pick<Visit, 'api'>,
  payroll: Readonly<Record<Key, string | null | undefined>>,
): Promise<string> {
  const { employer_id, pay_frequency, pay_group, pay_date } = payroll;
  const body = { employer_id, pay_frequency, ...(pay_group && { pay_group }), pay_date };
  return (await api.perform(openPayrollRun, { body })).id;
}

/** Opens the run of an employer's first payroll, and returns its path; null without a pay date. */
export async function openFirst(visit: Pick<Visit, 'api'>, employer_id: string): Promise<string | null> {
  const payroll = (await payrollsOf(visit, employer_id)).find(({ pay_date }) => pay_date !== null);
  return payroll === undefined ? null : runPath(await openRunOf(visit, payroll));
}

export async function payrollsOf({ api }: Pick<Visit, 'api'>, employer_id?: string): Promise<Payroll[]> {
  return (await api.perform(listPayrollsDue, { query: { employer_id, limit: ROWS } })).data;
}

/** Reports whether the setup of an employer lacks a part, and the user can finish it. */
export async function needsSetup(visit: Pick<Visit, 'api' | 'may'>, employer_id: string): Promise<boolean> {
  if (!visit.may('runs:write') || !visit.may('runs:read')) return false;
  return (await payrollsOf(visit, employer_id)).some((payroll) => setupOf(payroll).length > 0);
}

/** Reports whether the run of a payroll is approved, and another person must finalize it. */
function waitsForAnother({ approval }: Payroll, { caller }: Pick<Visit, 'caller'>): boolean {
  return approval === 'yours' || (approval === 'given' && caller?.person == null);
}

/** Reports whether the user can do something about a payroll, so that it is offered as the next one. */
export function canAct(payroll: Payroll, visit: Pick<Visit, 'may' | 'caller'>): boolean {
  const { state: now, approval, computation } = payroll;
  if (now === 'finalized' || now === 'needs_setup' || waitsForAnother(payroll, visit)) return false;
  if (approval === 'missing' && mayApprove(visit)) return true;
  // Until a check fails, there is nothing to do but to approve.
  const isToFix = computation !== null && (computation.problem !== null || computation.failed.length > 0);
  return visit.may('runs:write') && (approval !== 'missing' || isToFix);
}

/** Renders the hidden fields that name a payroll, in a form that opens its run. */
export function payrollFields(payroll: Readonly<Record<Key, string | null>>): Html[] {
  return hiddenFields(Object.fromEntries(KEY.map((name) => [name, payroll[name] ?? ''])));
}

/** Renders the next step of an employer: its setup or, when nothing is missing, the button that starts its payroll. */
export async function nextStepOf(visit: Visit, employer_id: string): Promise<Html | null> {
  if (!visit.may('runs:write')) return null;
  const payrolls = await payrollsOf(visit, employer_id);
  if (payrolls.some((payroll) => setupOf(payroll).length > 0))
    return html`<div class="actions"><a class="button" href=${setupPath(employer_id)}>Next: Finish the setup</a></div>`;
  const payroll = payrolls.find((candidate) => canAct(candidate, visit));
  if (payroll === undefined) return null;
  return html`<div class="actions">${startOf(payroll, visit)}</div>`;
}

/** Renders the button that opens the run of a payroll, or creates it, as the next step of its employer. */
export function startOf(payroll: Payroll, visit: Pick<Visit, 'may' | 'caller'>): Html | null {
  const { run_id, pay_date } = payroll;
  const verb = run_id === null ? 'Start' : 'Open';
  return pay_date === null
    ? null
    : payrollAction(payroll, visit, `${verb} the payroll of ${dayText(pay_date)}`);
}

/**
 * Renders the button that opens the run of a payroll, or creates it; null without a pay date. With a label, it is the next
 * step.
 */
export function payrollAction(
  payroll: Payroll,
  visit: Pick<Visit, 'may' | 'caller'>,
  label?: string,
): Html | null {
  const { run_id, state: now, voided_run_id } = payroll;
  if (payroll.pay_date === null) return null;
  const before = label === undefined ? ' the payroll of ' : ': ';
  const hidden = html`<span class="hidden-label">${before}${nameOf(payroll)}</span>`;
  if (run_id !== null) {
    const isDone = now === 'finalized';
    if (label === undefined && now === 'waiting_for_approval' && mayApprove(visit))
      return html`<a class="button quiet" href=${runPath(run_id, '/approve')}>Approve${hidden}</a>`;
    return html`<a class=${label === undefined ? 'button quiet' : 'button'} href=${runPath(run_id)}>${label ?? (isDone ? 'Open' : 'Review')}${hidden}</a>`;
  }
  if (!visit.may('runs:write')) return null;
  return html`
    <form hx-post="/payrolls/open">
      ${payrollFields(payroll)}
      <button type="submit" class=${label === undefined ? 'quiet' : undefined}>${label ?? (voided_run_id === null ? 'Start' : 'Run again')}${hidden}</button>
    </form>
  `;
}

/**
 * A payroll whose run was not computed yet is `computing`, although the API reports that it needs a review. One that is ready
 * for others only is `waiting`.
 */
export type State = Payroll['state'] | 'computing' | 'waiting';

const RELATIVE = new Intl.RelativeTimeFormat('en-US', { numeric: 'auto' });
export const STATES: Readonly<Record<State, readonly [label: string, tone: Tone]>> = {
  overdue: ['Overdue', 'bad'],
  computing: ['Checking', 'plain'],
  needs_review: ['Needs review', 'warn'],
  waiting_for_approval: ['Waiting for approval', 'warn'],
  waiting: ['Waiting for another person', 'warn'],
  not_started: ['Not started', 'plain'],
  ready: ['Ready', 'good'],
  finalized: ['Finalized', 'good'],
  needs_setup: ['Needs setup', 'warn'],
};

export function stateIn(payroll: Payroll, visit: Pick<Visit, 'caller'>): State {
  const { state: now, computation } = payroll;
  if (now === 'needs_review' && computation === null) return 'computing';
  return now === 'ready' && waitsForAnother(payroll, visit) ? 'waiting' : now;
}

/** Returns the failed checks of a payroll that are not accepted. The approval of a ready payroll accepts its failed checks. */
export function failedOf({ state: now, computation }: Payroll) {
  return now === 'ready' ? [] : (computation?.failed ?? []);
}

export function fails(payroll: Payroll, check: string): boolean {
  return failedOf(payroll).some(({ check_id }) => check_id === check);
}

export function payrollTable(payrolls: readonly Payroll[], visit: Visit): Html {
  const firstOf = new Map(payrolls.toReversed().map((payroll) => [payroll.employer_id, payroll]));
  // Problems of the whole employer are listed once.
  const isFirst = (payroll: Payroll) => firstOf.get(payroll.employer_id) === payroll;
  const rowId = ({ id }: Payroll) => `payroll-${encodeURIComponent(id)}`;
  return table(payrolls, { caption: 'Payrolls by pay date', captionHidden: true, rowId }, [
    ['Employer', employerCell, 'name'],
    [
      'Pay date',
      ({ pay_date }) => [
        dayOf(pay_date),
        pay_date && html`<span class="under soft">${inDays(pay_date, visit.today)}</span>`,
      ],
      'date',
    ],
    ['State', (payroll) => stateOf(payroll, visit)],
    ['Employees', employeesOf, 'number'],
    ['Employee amount', amountOf, 'number'],
    ['Difference', (payroll) => difference(figuresOf(payroll)?.member_difference ?? null), 'number'],
    ['Open problems', (payroll) => problemsOf(payroll, isFirst(payroll), visit), 'wide'],
    [html`<span class="hidden-label">Action</span>`, (payroll) => payrollAction(payroll, visit)],
  ]);
}

/** `biweekly, north`. */
export function scheduleOf({ pay_frequency, pay_group }: Payroll): string {
  return [pay_frequency, pay_group].filter((part) => part !== null).join(', ');
}

function employerCell(payroll: Payroll): Html {
  return withNote(employerLink(payroll.employer_id, '/runs'), scheduleOf(payroll));
}

function stateOf(payroll: Payroll, visit: Visit): Html {
  const { computation, final, voided_run_id } = payroll;
  const word = state(...STATES[stateIn(payroll, visit)]);
  if (voided_run_id !== null)
    return withNote(word, html`<small><a href=${runPath(voided_run_id)}>Its run was voided</a></small>`);
  const downloaded = final?.downloaded_at ?? null;
  if (downloaded !== null)
    return withNote(word, html`<small>${`File downloaded ${age(downloaded, visit.now)}`}</small>`);
  if (computation === null) return word;
  const { position, computed_at } = computation;
  // A computation may end while the list is read.
  const isAfter = Date.parse(computed_at) > visit.now.getTime();
  const note = computation.is_outdated
    ? 'Checking again …'
    : `Checked ${isAfter ? 'just now' : age(computed_at, visit.now)}`;
  return withNote(word, html`<small title=${`Ledger position ${count(position)}`}>${note}</small>`);
}

/** The figures of a finalized run, or of the last computation of an open one. */
function figuresOf({ final, computation }: Payroll) {
  return final ?? computation;
}

/** `today`, `tomorrow`, `in 5 days`, `3 days ago`. */
function inDays(day: string, today: string): string {
  return RELATIVE.format(Temporal.PlainDate.from(today).until(day).days, 'day');
}

function employeesOf(payroll: Payroll): Content {
  const figures = figuresOf(payroll);
  return figures && count(figures.employees);
}

function amountOf(payroll: Payroll): Content {
  const figures = figuresOf(payroll);
  if (figures === null) return payroll.run_id === null ? '' : 'Checking …';
  return money(figures.member_amount);
}

function problemsOf(payroll: Payroll, isFirst: boolean, visit: Visit): Html {
  const { computation, run_id } = payroll;
  const { problem = null, failed = [], warned = [] } = computation ?? {};
  const open = failedOf(payroll);
  const accepted = failed.length - open.length;
  const findings = open.map(
    ({ check_id, count: number }) =>
      html`<li><a href=${run_id !== null && findingPath(run_id, check_id)}>${titleOfCheck(check_id)}</a>${number > 1 && html`<span class="soft">${` (${count(number)})`}</span>`}</li>`,
  );
  return html`
    <ul class="problems">
      ${problem !== null && html`<li>${`The run cannot be computed: ${problem}.`}</li>`}
      ${findings}
      ${accepted > 0 && html`<li class="soft">${`${counted(accepted, 'failed check')} accepted`}</li>`}
      ${warned.length > 0 && html`<li class="soft">${counted(warned.length, 'warning')}</li>`}
      ${isFirst && waitingFor(payroll, visit)}
      ${visit.may('runs:write') && stepsOf(payroll, isFirst)}
    </ul>
  `;
}

/** Links to the open items of the employer, and to the changes that the service lacks. */
function waitingFor(payroll: Payroll, { may }: Visit): Content {
  const { employer_id, computation } = payroll;
  const { waiting, rejected } = payroll.undelivered_changes;
  const items = computation?.open_items ?? 0;
  const changes = (state: string) => address('/changes', { employer_id, state });
  const isVisible = may('changes:read');
  // A computed run names them as a failed check.
  const isNamed = fails(payroll, 'requests-rejected');
  return html`
    ${items > 0 && html`<li class="soft"><a href=${address('/open-items', { employer_id })}>${counted(items, 'open item')}</a></li>`}
    ${isVisible && rejected > 0 && !isNamed && html`<li><a href=${changes('rejected')}>${`${counted(rejected, 'change')} rejected`}</a></li>`}
    ${isVisible && waiting > 0 && html`<li class="soft"><a href=${changes('pending')}>${`${counted(waiting, 'change')} not delivered yet`}</a></li>`}
  `;
}

/** Links to the setup of the employer. The next pay dates can wait until a payroll has the last one. */
function stepsOf(payroll: Payroll, isFirst: boolean): Content {
  const parts = isFirst ? setupOf(payroll) : [];
  const isLast = payroll.missing.includes('next_pay_dates') && payroll.next_pay_date === null;
  return html`
    ${parts.length > 0 && html`<li>${setupLink(payroll.employer_id, parts)}</li>`}
    ${isLast && html`<li>${nextDatesLink(payroll)}</li>`}
  `;
}
