/** Home: the payrolls that are due, what each needs, and one button that opens its run. */
import { Temporal } from 'temporal-polyfill';
import { titleOfCheck } from '../../api/operations/readiness.ts';
import { BACKGROUND, empty, live, savedNotice, state, type Tone } from '../elements/facts.ts';
import { field } from '../elements/fields.ts';
import { age, count, counted, dayOf, dayText, difference, lacksScope, money } from '../elements/format.ts';
import { address, findingPath, runPath } from '../elements/links.ts';
import { table, withNote } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Done, Visit } from '../page.ts';
import {
  type Key,
  type Payroll,
  payrollAction,
  payrollsOf,
  STEPS,
  stepLink,
  waitsForAnother,
} from './payrolls.ts';

/**
 * A payroll whose run was not computed yet is `computing`, although the API reports that it needs a review. One that is ready
 * for others only is `waiting`.
 */
type State = Payroll['state'] | 'computing' | 'waiting';

const RELATIVE = new Intl.RelativeTimeFormat('en-US', { numeric: 'auto' });
/** How long one request computes runs. Pages ask again every few seconds. */
const COMPUTE_MS = 3_000;

const STATES: Readonly<Record<State, readonly [label: string, tone: Tone]>> = {
  overdue: ['Overdue', 'bad'],
  computing: ['Computing', 'plain'],
  needs_review: ['Needs review', 'warn'],
  waiting_for_approval: ['Waiting for approval', 'warn'],
  waiting: ['Waiting for another person', 'warn'],
  not_started: ['Not started', 'plain'],
  ready: ['Ready', 'good'],
  finalized: ['Finalized', 'good'],
  needs_setup: ['Needs setup', 'warn'],
};

export function homePages({ page, action }: Console): void {
  page('/', 'any', async (visit) => {
    if (!visit.may('runs:read')) return { go: '/operations' };
    const done = `${counted(Number(visit.query.started), 'payroll')} started.`;
    const body = html`${savedNotice({ saved: visit.query.started }, '/', 'All payrolls', done)}${await payrollsPart(visit)}`;
    return { title: 'Payrolls', body };
  });

  action('/payrolls/open', 'runs:write', async ({ api, form }): Promise<Done> => {
    return { go: runPath(await open(api, form)) };
  });

  action('/payrolls/open-all', 'runs:write', async (act): Promise<Done> => {
    const due = (await payrollsOf(act)).filter(canStart);
    for (const payroll of due) await open(act.api, payroll);
    return { go: address('/', { started: due.length }) };
  });

  action('/payrolls/compute', 'runs:read', async (act) => {
    const until = performance.now() + COMPUTE_MS;
    let isAny = false;
    for (const { run_id } of (await payrollsOf(act)).filter(isOutdated)) {
      if (performance.now() > until) break;
      await act.api.send('post', '/v1/payroll-runs/{run_id}/computation', { run_id: run_id as string });
      isAny = true;
    }
    return isAny ? payrollsPart(act) : null;
  });
}

/** Opens the run of a payroll, which creates it if there is none, and returns its id. */
async function open(api: Visit['api'], payroll: Readonly<Record<Key, string | null | undefined>>) {
  const { employer_id, pay_frequency, pay_group, pay_date } = payroll;
  const body = { employer_id, pay_frequency, ...(pay_group && { pay_group }), pay_date };
  return (await api.send('post', '/v1/payroll-runs', {}, body)).id;
}

function canStart({ run_id, pay_date }: Payroll): boolean {
  return run_id === null && pay_date !== null;
}

function isOutdated({ state: now, run_id, computation }: Payroll): boolean {
  return run_id !== null && now !== 'finalized' && (computation?.is_outdated ?? true);
}

function stateIn(payroll: Payroll, visit: Pick<Visit, 'caller'>): State {
  const { state: now, computation } = payroll;
  if (now === 'needs_review' && computation === null) return 'computing';
  return now === 'ready' && waitsForAnother(payroll, visit) ? 'waiting' : now;
}

/** The pages of runs and settings change it, and events arrive. Its outdated rows are computed while it is open. */
async function payrollsPart(visit: Visit): Promise<Html> {
  const all = await payrollsOf(visit);
  const { state: selected, check } = visit.query;
  const shown = all.filter(
    (payroll) =>
      (selected === undefined || stateIn(payroll, visit) === selected) &&
      (check === undefined || fails(payroll, check)),
  );
  const path = address('/', visit.query);
  const content = html`
    ${all.length === 0 ? firstSteps(visit) : tabs(all, visit)}
    ${await rejectedNotice(visit)}
    ${sharedChecks(all, visit)}
    ${visit.may('runs:write') && startAll(all.filter(canStart).length)}
    ${all.length > 0 && (shown.length === 0 ? empty('No matching payrolls', html`<p><a href="/">Show all payrolls</a></p>`) : payrollTable(shown, visit))}
    ${visit.may('runs:write') && endingSchedules(all)}
    <div hx-post=${address('/payrolls/compute', visit.query)} hx-trigger="load, tick from:body" hx-target="#payrolls" hx-swap="outerMorph" hx-select="#payrolls" hx-headers:append=${BACKGROUND}></div>
  `;
  return live({ id: 'payrolls', path }, content);
}

function firstSteps({ may }: Visit): Html {
  const upload = may('census:write')
    ? html`
        <form class="fields" method="get" action="/census">
          ${field({ name: 'employer_id', label: 'Employer ID', value: '', required: true })}
          <button type="submit">Upload a census</button>
        </form>
      `
    : html`<p>${lacksScope('To upload a census', 'census:write')}</p>`;
  return empty('No employers yet', [
    html`<p>An employer appears here once its census is uploaded. This page then lists what it needs for its first payroll.</p>`,
    upload,
  ]);
}

function tabs(all: readonly Payroll[], visit: Visit): Html {
  const { query } = visit;
  const byState = Map.groupBy(all, (payroll) => stateIn(payroll, visit));
  const tab = (label: string, number: number, value?: State) =>
    html`<li><a href=${address('/', { state: value })} aria-current=${query.state === value && query.check === undefined ? 'true' : undefined}>${label} <span class="soft">${count(number)}</span></a></li>`;
  const states = Object.keys(STATES) as State[];
  return html`
    <nav class="tabs" aria-label="Payrolls by state">
      <ul>
        ${tab('All', all.length)}
        ${states.map((value) => byState.has(value) && tab(STATES[value][0], byState.get(value)?.length ?? 0, value))}
      </ul>
    </nav>
  `;
}

/** Links to the rejected changes, also those of employees who have no known employer and so are in no row. */
async function rejectedNotice({ api, may }: Visit): Promise<Html | null> {
  if (!may('changes:read')) return null;
  const { data } = await api.get('/v1/employee-changes', { state: 'rejected', limit: 1 });
  if (data.length === 0) return null;
  return html`<p class="notice"><a href=${address('/changes', { state: 'rejected' })}>Rejected employment changes</a>${' need a decision.'}</p>`;
}

/** Lists the checks that fail in several payrolls, each with a link to these payrolls. */
function sharedChecks(all: readonly Payroll[], { query }: Visit): Html | null {
  const failed = all.flatMap(failedOf);
  const shared = [...Map.groupBy(failed, ({ check_id }) => check_id)].filter(([, each]) => each.length > 1);
  if (shared.length === 0) return null;
  const link = ([check, { length }]: (typeof shared)[number]) =>
    html`<li><a href=${address('/', { check })} aria-current=${query.check === check ? 'true' : undefined}>${titleOfCheck(check)} <span class="soft">${count(length)}</span></a></li>`;
  return html`
    <nav class="tabs" aria-label="Payrolls by failed check">
      <ul><li class="soft">Several payrolls fail:</li>${shared.map(link)}</ul>
    </nav>
  `;
}

/** Returns the failed checks of a payroll that are not accepted. The approval of a ready payroll accepts its failed checks. */
function failedOf({ state: now, computation }: Payroll) {
  return now === 'ready' ? [] : (computation?.failed ?? []);
}

function fails(payroll: Payroll, check: string): boolean {
  return failedOf(payroll).some(({ check_id }) => check_id === check);
}

/** The button that starts every payroll, so that the list shows what each needs. */
function startAll(payrolls: number): Html | null {
  if (payrolls < 2) return null;
  return html`
    <form class="actions" hx-post="/payrolls/open-all">
      <button type="submit">${`Start all ${count(payrolls)} payrolls`}</button>
    </form>
  `;
}

function payrollTable(payrolls: readonly Payroll[], visit: Visit): Html {
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
function scheduleOf({ pay_frequency, pay_group }: Payroll): string {
  return [pay_frequency, pay_group].filter((part) => part !== null).join(', ');
}

function nameOf(payroll: Payroll): Html {
  const { employer_id } = payroll;
  return withNote(html`<a href=${address('/runs', { employer_id })}>${employer_id}</a>`, scheduleOf(payroll));
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
  const note = `Computed ${isAfter ? 'just now' : age(computed_at, visit.now)}`;
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
  if (figures === null) return payroll.run_id === null ? '' : 'Computing …';
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
      ${visit.may('runs:write') && stepsOf(payroll, isFirst, visit)}
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

/** Links to the missing parts of the setup. The next pay dates can wait until a payroll has the last one. */
function stepsOf(payroll: Payroll, isFirst: boolean, visit: Visit): Html[] {
  const due = payroll.missing.filter((what) =>
    what === 'next_pay_dates' ? payroll.next_pay_date === null : isFirst,
  );
  return due.map((what) => html`<li>${stepLink(what, payroll, visit)}</li>`);
}

/** Lists the pay schedules that end soon after the pay date that is due, folded. */
function endingSchedules(all: readonly Payroll[]): Html | null {
  const ending = all.filter(
    ({ missing, next_pay_date }) => missing.includes('next_pay_dates') && next_pay_date !== null,
  );
  if (ending.length === 0) return null;
  const [label, path] = STEPS.next_pay_dates;
  const endOf = ({ last_pay_date }: Payroll) => last_pay_date && ` after ${dayText(last_pay_date)}`;
  return html`
    <details id="ending">
      <summary>${`${counted(ending.length, 'pay schedule')} ${ending.length === 1 ? 'ends' : 'end'} within 60 days`}</summary>
      <ul>${ending.map((payroll) => html`<li>${`${payroll.employer_id}, ${scheduleOf(payroll)}: `}<a href=${path(payroll)}>${label}</a>${endOf(payroll)}</li>`)}</ul>
    </details>
  `;
}
