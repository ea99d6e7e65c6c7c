/** Home: the payrolls that are due, what each needs, and one button that opens its run. */
import { computePayrollRun } from '../../api/operations/payrolls-due.ts';
import { titleOfCheck } from '../../api/operations/readiness.ts';
import type { Scope } from '../../security/scopes.ts';
import { BACKGROUND, empty, live, problemBody, savedNotice } from '../elements/facts.ts';
import { field } from '../elements/fields.ts';
import { count, counted, dayText, lacksScope } from '../elements/format.ts';
import { address, nameIn, runPath } from '../elements/links.ts';
import { type Html, html } from '../html.ts';
import { firstPageOf } from '../layout.ts';
import type { Console, ConsoleParts, Done, Visit } from '../page.ts';
import { attempt } from '../performing.ts';
import { acceptLink } from './accept.ts';
import { filesOfToday, nextDates, waiting } from './month.ts';
import { failedOf, fails, payrollTable, STATES, type State, scheduleOf, stateIn } from './payroll-table.ts';
import { nextDatesLink, openRunOf, type Payroll, payrollsOf, setupPath } from './payrolls.ts';
import { nameOf } from './runs/labels.ts';

/** How long one request computes runs. Pages ask again every few seconds. */
const COMPUTE_MS = 3_000;

export function homePages({ page, action, parts }: Console): void {
  page('/', 'self', async (visit) => {
    const { may, caller } = visit;
    if (!may('runs:read')) return { go: firstPageOf({ may, isLimited: caller?.employers != null }) };
    const all = await payrollsOf(visit);
    const done = `${counted(Number(visit.query.started), 'payroll')} started.`;
    const body = html`${savedNotice({ saved: visit.query.started }, '/', 'All payrolls', done)}<div id="started" role="status"></div>${await payrollsPart(visit, parts, all)}${newEmployer(visit, all)}`;
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
    return isAny ? payrollsPart(act, parts, await payrollsOf(act)) : null;
  });
}

function canStart({ run_id, pay_date }: Payroll): boolean {
  return run_id === null && pay_date !== null;
}

function isOutdated({ state: now, run_id, computation }: Payroll): boolean {
  return run_id !== null && now !== 'finalized' && (computation?.is_outdated ?? true);
}

/** The pages of runs and settings change it, and events arrive. Its outdated rows are computed while it is open. */
async function payrollsPart(
  visit: Visit,
  parts: Pick<ConsoleParts, 'db'>,
  all: readonly Payroll[],
): Promise<Html> {
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
    ${await filesOfToday(visit, parts)}
    ${sharedChecks(all, visit)}
    ${acceptLink(check, visit)}
    ${visit.may('runs:write') && startAll(all.filter(canStart).length)}
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
    return html`<p class="actions">${permitted.filter(isNew).map((id) => html`<a class="button quiet" href=${setupPath(id)}>${`Set up ${id}`}</a>`)}</p>`;
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
