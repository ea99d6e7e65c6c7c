/** Home is the month: the payrolls that are due, what else waits for a person, the files of today, and the next pay dates. */
import { listCensusSyncs } from '../../api/operations/census-syncs.ts';
import { listEmployeeChanges } from '../../api/operations/employee-changes.ts';
import { getFileFormat } from '../../api/operations/file-formats.ts';
import { listPayrollRunLines } from '../../api/operations/payroll-run-lines.ts';
import { listPayrollRuns } from '../../api/operations/payroll-runs.ts';
import { computePayrollRun } from '../../api/operations/payrolls-due.ts';
import { titleOfCheck } from '../../api/operations/readiness.ts';
import { Refusal } from '../../api/problem.ts';
import { allPages } from '../../formats/cursor.ts';
import type { Scope } from '../../security/scopes.ts';
import { BACKGROUND, empty, live, problemBody } from '../elements/facts.ts';
import { field } from '../elements/fields.ts';
import { count, counted, dayOf, dayText, lacksScope } from '../elements/format.ts';
import { address, employerLink, nameIn, runPath } from '../elements/links.ts';
import { type Html, html } from '../html.ts';
import { firstPageOf } from '../layout.ts';
import type { Console, Done, Visit } from '../page.ts';
import { attempt } from '../performing.ts';
import { acceptLink } from './accept.ts';
import { finalizeReadyLink } from './finalize-ready.ts';
import {
  failedOf,
  fails,
  nextDatesLink,
  openRunOf,
  type Payroll,
  payrollsOf,
  payrollTable,
  STATES,
  type State,
  scheduleOf,
  setupPath,
  stateIn,
} from './payrolls.ts';
import { nameOf } from './runs/labels.ts';

/** How long one request computes runs. Pages ask again every few seconds. */
const COMPUTE_MS = 3_000;

export function homePages({ page, action, archive }: Console): void {
  archive(FILES_PATH, listPayrollRunLines, async (visit) => {
    const runs = await finalizedToday(visit);
    if (runs.length === 0) throw new Refusal('NOT_FOUND', 'No payroll was finalized today.');
    const files = [];
    for (const { id: run_id, employer_id } of runs) {
      const of = { params: { employer_id, kind: 'payroll' } };
      const { format } = await visit.api.perform(getFileFormat, of);
      const file_format = format === null ? undefined : 'payroll';
      files.push({
        params: { run_id },
        query: { file_format, download: 'true' },
        filename: `${run_id}${format === null ? '' : '-payroll'}.csv`,
      });
    }
    return { filename: `payrolls-${visit.today}.tar`, files };
  });

  page('/', 'self', async (visit) => {
    const { may, caller, query } = visit;
    if (!may('runs:read')) return { go: firstPageOf({ may, isLimited: caller?.employers != null }) };
    const all = await payrollsOf(visit);
    const done =
      query.started !== undefined &&
      html`<p class="card" role="status"><strong>${`${counted(Number(query.started), 'payroll')} started.`}</strong></p>`;
    const body = html`${done}<div id="started" role="status"></div>${await payrollsPart(visit, all)}${newEmployer(visit, all)}`;
    return { title: 'Payrolls', body };
  });

  action('/payrolls/open', 'runs:write', async (act): Promise<Done> => {
    return { go: runPath(await openRunOf(act, act.form)) };
  });

  action('/payrolls/open-all', 'runs:write', async (act): Promise<Done | Html> => {
    const due = (await payrollsOf(act)).filter(canStart);
    const refused: Html[] = [];
    for (const payroll of due) {
      const { problem } = await attempt(openRunOf(act, payroll), 403, 404, 409, 422);
      if (problem !== undefined) refused.push(html`<li>${nameOf(payroll)}: ${problemBody(problem)}</li>`);
    }
    const started = due.length - refused.length;
    if (refused.length === 0) return { go: address('/', { started }) };
    return html`
      <section class="problem" aria-labelledby="refused">
        <h2 id="refused">${`${counted(started, 'payroll')} started, ${count(refused.length)} not`}</h2>
        <ul>${refused}</ul>
        <p><a href="/">All payrolls</a></p>
      </section>
    `;
  });

  action('/payrolls/compute', 'runs:read', async (act) => {
    const until = performance.now() + COMPUTE_MS;
    let isAny = false;
    for (const { run_id } of (await payrollsOf(act)).filter(isOutdated)) {
      if (performance.now() > until) break;
      await act.api.perform(computePayrollRun, { params: { run_id: run_id as string } });
      isAny = true;
    }
    return isAny ? payrollsPart(act, await payrollsOf(act)) : null;
  });
}

function canStart({ run_id, pay_date }: Payroll): boolean {
  return run_id === null && pay_date !== null;
}

function isOutdated({ state: now, run_id, computation }: Payroll): boolean {
  return run_id !== null && now !== 'finalized' && (computation?.is_outdated ?? true);
}

/** The pages of runs and settings change it, and events arrive. Its outdated rows are computed while it is open. */
async function payrollsPart(visit: Visit, all: readonly Payroll[]): Promise<Html> {
  const { state: selected, check } = visit.query;
  const shown = all.filter(
    (payroll) =>
      (selected === undefined || stateIn(payroll, visit) === selected) &&
      (check === undefined || fails(payroll, check)),
  );
  const path = address('/', visit.query);
  const content = html`
    ${all.length === 0 ? firstSteps(visit) : tabs(all, visit)}
    ${await waiting(visit)}
    ${await filesOfToday(visit)}
    ${sharedChecks(all, visit)}
    ${acceptLink(check, visit)}
    ${visit.may('runs:write') && startAll(all.filter(canStart).length)}
    ${finalizeReadyLink(all, visit)}
    ${all.length > 0 && (shown.length === 0 ? empty('No matching payrolls', html`<p><a href="/">Show all payrolls</a></p>`) : payrollTable(shown, visit))}
    ${nextDates(all)}
    ${visit.may('runs:write') && endingSchedules(all)}
    <div hx-post=${address('/payrolls/compute', visit.query)} hx-trigger="load, tick from:body" hx-target="#payrolls" hx-swap="outerMorph" hx-select="#payrolls" hx-headers:append=${BACKGROUND}></div>
  `;
  return live({ id: 'payrolls', path }, content);
}

function firstSteps(visit: Visit): Html {
  const advice = html`<p>An employer appears here once the benefits service requests its census, or once you set it up.</p>`;
  const scope = missingForSetup(visit);
  return empty('No employers yet', [
    advice,
    scope !== null && html`<p>${lacksScope('To set up an employer', scope)}</p>`,
  ]);
}

/** Returns a scope that the user lacks to set up an employer, or null. */
function missingForSetup({ may }: Visit): Scope | null {
  return (['runs:write', 'census:write'] as const).find((scope) => !may(scope)) ?? null;
}

/** Is outside the part that refreshes, which would clear the form. Users limited to employers set up only those employers. */
function newEmployer(visit: Visit, all: readonly Payroll[]): Html | null {
  if (missingForSetup(visit) !== null) return null;
  const permitted = visit.caller?.employers;
  if (permitted != null) {
    const known = new Set(all.map(({ employer_id }) => employer_id));
    const isNew = (id: string) => !known.has(id);
    return html`<p class="actions">${permitted.filter(isNew).map((id) => html`<a class="button quiet" href=${setupPath(id)}>Set up ${nameIn('employer', id)}</a>`)}</p>`;
  }
  return html`
    <form class="fields" method="get" action=${setupPath()}>
      ${field({ name: 'employer_id', label: 'New employer (its ID at the benefits service)', value: '', required: true })}
      <button type="submit" class="quiet">Set up</button>
    </form>
  `;
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

/** The button that starts every payroll, so that the list shows what each needs. */
function startAll(payrolls: number): Html | null {
  if (payrolls < 2) return null;
  return html`
    <form class="actions" hx-post="/payrolls/open-all" hx-target="#started">
      <button type="submit">${`Start all ${count(payrolls)} payrolls`}</button>
    </form>
  `;
}

/** Lists the pay schedules that end soon after the pay date that is due, folded. */
function endingSchedules(all: readonly Payroll[]): Html | null {
  const ending = all.filter(
    ({ missing, next_pay_date }) => missing.includes('next_pay_dates') && next_pay_date !== null,
  );
  if (ending.length === 0) return null;
  const endOf = ({ last_pay_date }: Payroll) => last_pay_date && ` after ${dayText(last_pay_date)}`;
  return html`
    <details id="ending">
      <summary>${`${counted(ending.length, 'pay schedule')} ${ending.length === 1 ? 'ends' : 'end'} within 60 days`}</summary>
      <ul>${ending.map((payroll) => html`<li>${nameIn('employer', payroll.employer_id)}${`, ${scheduleOf(payroll)}: `}${nextDatesLink(payroll)}${endOf(payroll)}</li>`)}</ul>
    </details>
  `;
}

/** No day of a time zone is longer. */
const DAY_MAX_MS = 26 * 3_600_000;
const COUNTED = 100;
const FILES_PATH = '/payrolls/files.tar';

async function finalizedToday({ api, now, today, dayAt }: Visit) {
  const finalized_from = new Date(now.getTime() - DAY_MAX_MS).toISOString();
  const readPage = (cursor?: string) =>
    api.perform(listPayrollRuns, { query: { state: 'finalized', finalized_from, limit: 500, cursor } });
  const runs = [];
  for await (const page of allPages(readPage)) runs.push(...page);
  return runs.filter(({ finalized_at }) => finalized_at !== null && dayAt(finalized_at) === today);
}

/** Renders the download of the files of all runs that were finalized today; null if there are none. */
async function filesOfToday(visit: Visit): Promise<Html | null> {
  const { length } = await finalizedToday(visit);
  if (length === 0) return null;
  const label = length === 1 ? 'Download today’s file (.tar)' : `Download today’s ${length} files (.tar)`;
  return html`<div class="actions"><a class="button quiet" href=${FILES_PATH} download>${label}</a></div>`;
}

/** Lists the rejected changes and held censuses, which belong to no single payroll. */
async function waiting({ api, may }: Visit): Promise<Html | null> {
  const query = { limit: COUNTED };
  const rejected =
    may('changes:read') &&
    (await api.perform(listEmployeeChanges, { query: { ...query, state: 'rejected' } }));
  const held =
    may('census:read') && (await api.perform(listCensusSyncs, { query: { ...query, state: 'held' } }));
  const release = may('runs:approve') ? 'you can release it' : 'a payroll manager can release it';
  const notices = [
    waits(rejected, '/changes?state=rejected', 'retry or cancel it', 'rejected employment change'),
    waits(held, '/census?state=held', release, 'held census', 'held censuses'),
  ].filter((notice) => notice !== null);
  return notices.length === 0 ? null : html`<ul class="notice">${notices}</ul>`;
}

type Counted = { readonly data: readonly unknown[]; readonly has_more: boolean } | false;

function waits(list: Counted, path: string, action: string, what: string, plural = `${what}s`): Html | null {
  if (!list || list.data.length === 0) return null;
  const label = list.has_more ? `More than ${COUNTED} ${plural}` : counted(list.data.length, what, plural);
  return html`<li><a href=${path}>${label}</a>${`: ${action}`}</li>`;
}

/** Lists the pay date after the due one of every payroll, by date, folded. */
function nextDates(all: readonly Payroll[]): Html | null {
  const next = all.filter(({ next_pay_date }) => next_pay_date !== null);
  if (next.length === 0) return null;
  const byDate = [...Map.groupBy(next, ({ next_pay_date }) => next_pay_date as string)].toSorted();
  const named = (payroll: Payroll) =>
    html`<li>${employerLink(payroll.employer_id, '/runs')}${`, ${scheduleOf(payroll)}`}</li>`;
  return html`
    <details id="next-dates">
      <summary>Next pay dates</summary>
      <dl class="facts">${byDate.map(([day, payrolls]) => html`<dt>${dayOf(day)}</dt><dd><ul class="problems">${payrolls.map(named)}</ul></dd>`)}</dl>
    </details>
  `;
}
