/** The table of the payrolls that are due: the state, figures and open problems of each. */
import { Temporal } from 'temporal-polyfill';
import { titleOfCheck } from '../../api/operations/readiness.ts';
import { state, type Tone } from '../elements/facts.ts';
import { age, count, counted, dayOf, difference, money } from '../elements/format.ts';
import { address, findingPath, nameable, runPath } from '../elements/links.ts';
import { table, withNote } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import {
  nextDatesLink,
  type Payroll,
  payrollAction,
  setupLink,
  setupOf,
  waitsForAnother,
} from './payrolls.ts';

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
  return table(payrolls, { caption: 'Payrolls by pay date', stacked: true, captionHidden: true, rowId }, [
    ['Employer', nameOf, 'name'],
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

function nameOf(payroll: Payroll): Html {
  const { employer_id } = payroll;
  const link = html`<a href=${address('/runs', { employer_id })}>${employer_id}</a>`;
  return withNote(nameable('employer', employer_id, link), scheduleOf(payroll));
}

/** Renders the state of a payroll, and when its run was computed last. */
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
