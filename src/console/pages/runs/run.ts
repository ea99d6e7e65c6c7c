/** One payroll run with its options, totals, readiness and lines. Slow parts load separately. */

import type { ResultOf } from '../../../api/operation.ts';
import { getFileFormat } from '../../../api/operations/file-formats.ts';
import { AFTER_VOIDING } from '../../../api/operations/payroll-run-work.ts';
import {
  getPayrollRun,
  getPayrollRunOutline,
  getPayrollRunReadiness,
  listPayrollRuns,
  verifyPayrollRun,
} from '../../../api/operations/payroll-runs.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { later, savedNotice, state } from '../../elements/facts.ts';
import { problemSummary } from '../../elements/fields.ts';
import {
  actorName,
  capitalized,
  count,
  counted,
  difference,
  money,
  plain,
  sentence,
} from '../../elements/format.ts';
import { historyOf } from '../../elements/history.ts';
import { address, named, runPath } from '../../elements/links.ts';
import { table, withNote } from '../../elements/list.ts';
import {
  blockingOf,
  failedIn,
  isApproved,
  obstacleOf,
  type RunApproval,
  type RunReadiness,
  readinessOf,
  toPass,
  whyNot,
} from '../../elements/run-readiness.ts';
import { type Html, html } from '../../html.ts';
import { type Console, mayApprove, type Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { canAct, type Payroll, payrollAction, payrollFields, payrollsOf } from '../payrolls.ts';
import { employeesOf, isOfEmployees } from './employees.ts';
import { findingsOf } from './findings.ts';
import { type ComputedRun, nameOf, periodOf, type Run } from './labels.ts';
import { overridesOf } from './overrides.ts';
import {
  computedOf,
  optionsOf,
  otherActions,
  outlineOf,
  stateOf,
  statePart,
  voidApprovalOf,
} from './state.ts';

export function runPages(pages: Console): void {
  const { page, part } = pages;
  page('/runs/:run_id', 'runs:read', async (visit) => {
    const run = await outlineOf(visit);
    const { query } = visit;
    const { settled_by, taken, finalized, approved, withdrawn, voided } = query;
    const isOpen = run.state === 'open';
    const voiding = await voidApprovalOf(visit, run);
    const body = html`
      ${later(address(runPath(run.id, '/bar'), { finalized, approved }), isOpen ? 'Computing the run …' : 'Loading the totals …')}
      ${query.employee_id === undefined && savedNotice(query, '/runs', 'All payroll runs')}
      ${run.state === 'voided' && savedNotice({ saved: voided }, '/', 'All payrolls', 'The run was voided.')}
      ${savedNotice({ saved: withdrawn }, '/', 'All payrolls', 'Your approval was withdrawn.')}
      ${settled_by !== undefined && html`<p role="status">${`Finalized runs with adjustments or arrears for this run: ${settled_by}`}</p>`}
      ${taken !== undefined && html`<p role="status">${`Report these deductions taken again for the run that replaces this one: ${taken}`}</p>`}
      ${voiding?.approved_by != null && html`<p class="notice while-unchanged" role="status">${obstacleOf(voiding, visit, 'void') ?? `${actorName(voiding.approved_by)} approved voiding this run.`} <a href="/">All payrolls</a></p>`}
      ${finalized !== undefined && run.state === 'finalized' && (await nextSteps(visit, run))}
      ${run.state === 'voided' ? repetition(visit, run) : await takenBefore(visit, run)}
      ${await stateOf(visit, run, { hasSummary: true })}
      ${!isOfEmployees(query) && later(runPath(run.id, '/changes'), 'Comparing with the previous run …')}
      ${!isOpen && findingsOf(run)}
      ${isOpen && html`<div class="while-unchanged">${later(runPath(run.id, '/readiness'), 'Checking readiness …')}</div>`}
      ${await overridesOf(visit, run)}
      ${await employeesOf(visit, run)}
      ${otherActions(run, visit, voiding)}
      ${proof(run)}
    `;
    return { title: nameOf(run), body };
  });

  statePart(pages);

  part('/runs/:run_id/bar', 'runs:read', async (visit) => {
    const { data: run, problem } = await attempt(visit.api.perform(getPayrollRun), 422);
    return problem === undefined ? bar(run, visit) : uncomputable(problem);
  });

  part('/runs/:run_id/proof', 'runs:read', async (visit) => {
    const run = await outlineOf(visit);
    return html`
      <div>
        ${optionsOf(run, await computedOf(visit))}
        ${run.state !== 'open' && verification(run.id)}
        ${await historyOf(visit, { resource_type: 'run', resource_id: run.id }, { isOpen: true })}
      </div>
    `;
  });

  part('/runs/:run_id/readiness', 'runs:read', async (visit) => {
    const { data } = await attempt(visit.api.perform(getPayrollRunReadiness), 422);
    if (data === undefined) return html`<div></div>`;
    return readinessOf(data, await outlineOf(visit), visit);
  });

  part('/runs/:run_id/verification', 'runs:read', async ({ api }) =>
    verified(await api.perform(verifyPayrollRun)),
  );
}

/** Renders the bar that stays at the top: the run, its totals and its next action. After finalizing, the page has the action. */
async function bar(run: ComputedRun, visit: Visit): Promise<Html> {
  const { may, query } = visit;
  const { totals, comparison, employees, id } = run;
  const compared = (amount: string, change: string | undefined) =>
    change === undefined
      ? money(amount)
      : withNote(money(amount), `${difference(change)} since the last run`);
  const readiness = run.state === 'open' ? await readinessNow(visit) : null;
  const approval = readiness?.approval ?? null;
  const isFinalizing = readiness !== null && may('runs:write') && whyNot(visit, readiness) === null;
  const isApproving = approval?.state === 'missing' && readiness !== null && blockingOf(readiness) === null;
  const actions = html`
    <div class="actions">
      ${isApproving && mayApprove(visit) && html`<a class="button while-unchanged" href=${runPath(id, '/approve')}>Approve …</a>`}
      ${approval?.state === 'yours' && html`<a class="button quiet while-unchanged" href=${runPath(id, '/approve')}>Withdraw your approval …</a>`}
      ${isFinalizing && html`<a class="button while-unchanged while-current" href=${address(runPath(id, '/finalize'), reviewedOf(run))}>Finalize …</a>`}
      ${await filesOf(visit, run)}
    </div>
  `;
  return html`
    <section class="run-bar while-stored" aria-label="Payroll run">
      <p>
        <strong class="lead">${nameOf(run)}</strong> <span class="while-unchanged">${stateWith(run, approval)}</span>
        <span class="under soft">${periodOf(run)}</span>
        <span class="under while-unchanged">${whoIsNext(run, readiness, visit)}</span>
      </p>
      <dl>
        <div><dt>Employee amount</dt><dd>${compared(totals.member_amount, comparison?.totals.member_difference)}</dd></div>
        <div><dt>Employer amount</dt><dd>${compared(totals.employer_amount, comparison?.totals.employer_difference)}</dd></div>
        <div><dt>Employees</dt><dd>${count(employees)}</dd></div>
        <div><dt>Lines</dt><dd>${count(totals.lines)}</dd></div>
      </dl>
      ${query.approved !== undefined && approval?.state === 'yours' && approvedNotice}
      ${query.finalized === undefined && actions}
    </section>
  `;
}

/** Returns the readiness of an open run; null if the run was finalized or deleted, or its data changed, after it was read. */
async function readinessNow({ api }: Visit): Promise<RunReadiness | null> {
  return (await attempt(api.perform(getPayrollRunReadiness), 404, 409, 422)).data ?? null;
}

function stateWith({ state: now }: ComputedRun, approval: RunApproval): Html {
  if (approval === null) return state(now);
  return approval.state === 'missing'
    ? state('waiting for approval', 'warn')
    : state(`approved by ${actorName(approval.approved_by)}`, 'plain');
}

/** Returns who does what next with a run. */
function whoIsNext(run: ComputedRun, readiness: RunReadiness | null, visit: Visit): string {
  if (run.state === 'voided') return 'It no longer counts.';
  if (run.state === 'finalized')
    return run.last_download === null
      ? 'Next: payroll loads its file.'
      : 'Next: report what payroll did not take.';
  if (readiness === null) return '';
  const { ready: isReady, approval } = readiness;
  const mayWrite = visit.may('runs:write');
  if (!isReady && !isApproved(readiness))
    return mayWrite
      ? `Next: ${toPass(failedIn(readiness), approval !== null, visit)}.`
      : 'Next: a payroll specialist fixes the failed checks.';
  const obstacle = obstacleOf(approval, visit);
  if (obstacle !== null) return `Next: ${obstacle.charAt(0).toLowerCase()}${obstacle.slice(1)}`;
  return mayWrite ? 'Next: you review it, then finalize it.' : 'Next: a payroll specialist finalizes it.';
}

/** Confirms what the user approved, while that counts. */
const approvedNotice = html`<p class="while-unchanged" role="status"><strong>Approved.</strong> Another person can now finalize this run. <a href="/">All payrolls</a></p>`;

/** Explains why an open run has no totals: its pay schedule or roster changed. */
function uncomputable(problem: ProblemDetails): Html {
  return html`
    <section aria-labelledby="totals">
      <h2 id="totals">This run cannot be computed</h2>
      ${problemSummary(problem)}
      <p>Data that it needs has changed since it was created. Fix that, or delete the run and create a new one.</p>
    </section>
  `;
}

/** Renders the downloads of a run, for a final run also in the columns of payroll, and the link to report what payroll took. */
async function filesOf({ api, may }: Visit, { id, state, employer_id }: Run): Promise<Html> {
  const isFinal = state === 'finalized';
  const format = { params: { employer_id, kind: 'payroll' } };
  const hasFormat = isFinal && (await api.perform(getFileFormat, format)).format !== null;
  const path = runPath(id, '/lines.csv');
  return html`
    <a class="button quiet" href=${path} download>${state === 'voided' ? 'Download voided amounts (CSV)' : 'Download CSV'}</a>
    ${hasFormat && html`<a class="button quiet" href=${address(path, { file_format: 'payroll' })} download>Download payroll file (CSV)</a>`}
    ${isFinal && may('runs:write') && html`<a class="button quiet while-unchanged" href=${runPath(id, '/taken')}>Report deductions taken</a>`}
  `;
}

async function nextSteps(visit: Visit, run: Run): Promise<Html> {
  const due = await payrollsOf(visit);
  const place = due.findIndex(({ run_id }) => run_id === run.id) + 1;
  // An earlier payroll was passed over because it is not ready, so it comes last.
  const candidates = [...due.slice(place), ...due.slice(0, place)];
  const open = candidates.filter((payroll) => canAct(payroll, visit));
  const [next] = open;
  return html`
    <section class="card done" aria-labelledby="done">
      <h2 id="done">The run is final</h2>
      <p>Payroll can take these amounts now.</p>
      <div class="actions">
        ${await filesOf(visit, run)}
        ${next === undefined ? html`<a class="button" href="/">All payrolls</a>` : payrollAction(next, visit, 'Next payroll')}
      </div>
      ${next !== undefined && html`<p class="hint">${'Next: '}${nameOf(next)}.</p>${earlierThan(next, open)}`}
    </section>
  `;
}

/** Mentions open payrolls that are due before the next payroll, which the user may have passed over. */
function earlierThan({ pay_date }: Payroll, open: readonly Payroll[]): Html | null {
  const earlier = open.filter((payroll) => (payroll.pay_date ?? '') < (pay_date ?? ''));
  if (earlier.length === 0) return null;
  const number = counted(earlier.length, 'payroll');
  return html`<p class="hint">${`${number} with an earlier pay date ${earlier.length === 1 ? 'is' : 'are'} still open. `}<a href="/">All payrolls</a></p>`;
}

/** Renders the next step after voiding a regular run: the payroll of the same pay date, which may have a run already. */
function repetition({ may }: Visit, run: Run): Html | null {
  if (run.kind !== 'regular' || !may('runs:write')) return null;
  return html`
    <section class="card" aria-labelledby="void">
      <h2 id="void">This run is void</h2>
      <p>Its amounts no longer count. ${AFTER_VOIDING}</p>
      <form class="actions" hx-post="/payrolls/open">
        ${payrollFields(run)}
        <button type="submit">Run this payroll again</button>
      </form>
    </section>
  `;
}

const SAME_PAYROLL = ['kind', 'pay_frequency', 'pay_group'] as const;

/** Mentions amounts taken that were reported for a voided run of the same payroll, until amounts are reported for this run. */
async function takenBefore({ api, may }: Visit, run: Run): Promise<Html | null> {
  const { id, employer_id, kind, pay_date, state: now, taken_reports } = run;
  if (kind !== 'regular' || taken_reports.length > 0) return null;
  const list = { employer_id, pay_date, state: 'voided', limit: 500 };
  const { data } = await api.perform(listPayrollRuns, { query: list });
  const replaced = data.filter((voided) => SAME_PAYROLL.every((name) => voided[name] === run[name]));
  for (const voided of replaced) {
    const outline = await api.perform(getPayrollRunOutline, { params: { run_id: voided.id } });
    if (outline.taken_reports.length === 0) continue;
    const again =
      now === 'open'
        ? 'Report them again once this run is final.'
        : html`<a href=${may('runs:write') && runPath(id, '/taken')}>Report them again</a>${' for this run.'}`;
    return html`<p class="notice while-unchanged">${'Deductions taken were reported for the '}<a href=${runPath(voided.id)}>voided run</a>${' that this one replaces. '}${again}</p>`;
  }
  return null;
}

/** The figures that a user reviews before finalizing. They are sent along, to notice when they changed. */
export const REVIEWED = {
  member_amount: 'Employee amount',
  employer_amount: 'Employer amount',
  employees: 'Employees',
  lines: 'Lines',
} as const;
export type Reviewed = Readonly<Record<keyof typeof REVIEWED | 'etag', string>>;

export function reviewedOf(run: ComputedRun): Reviewed {
  const { lines, member_amount, employer_amount } = run.totals;
  const { etag, employees } = run;
  return { etag, lines: String(lines), employees: String(employees), member_amount, employer_amount };
}

/** Renders what proves the amounts of a run, which loads once it is unfolded. */
function proof({ id }: Run): Html {
  return html`
    <details class="card rare on-screen" hx-get=${runPath(id, '/proof')} hx-trigger="toggle once" hx-target="find div" hx-swap="outerHTML">
      <summary>Proof</summary>
      <div><p class="soft" role="status">Loading …</p></div>
    </details>
  `;
}

function verification(runId: string): Html {
  return html`
    <section class="while-stored" aria-label="Verification">
      <p>Recomputes the run from the ledger, with the options and data stored when it was finalized, and compares every line.</p>
      <div class="actions">
        <button type="button" class="quiet" hx-get=${runPath(runId, '/verification')} hx-target="#verification" hx-indicator="closest .actions">Verify</button>
        <span class="busy soft" role="status">Recomputing the run …</span>
      </div>
      <div id="verification" aria-live="polite"></div>
    </section>
  `;
}

function verified(result: ResultOf<typeof verifyPayrollRun>): Html {
  const { identical, lines, difference_count, differences } = result;
  if (identical) return html`<p>${state('identical')}${` All ${counted(lines, 'line')} match.`}</p>`;
  const compared = differences.map(({ employee_id, line, frozen, computed }) => {
    const [before, now] = [valuesOf(frozen), valuesOf(computed)];
    const what = line ?? 'membership in the run';
    const shown = (value: unknown) =>
      value == null ? 'None' : sentence(typeof value === 'string' ? value : JSON.stringify(value));
    const differing = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
      (name) => shown(before[name]) !== shown(now[name]),
    );
    return html`
      <section>
        <h3>${named('employee', employee_id)}${`, ${what}`}</h3>
        ${table(differing, { caption: `Differences of ${employee_id}, ${what}`, captionHidden: true }, [
          ['Value', (name) => capitalized(plain(name)), 'name'],
          ['Finalized', (name) => shown(before[name])],
          ['Recomputed', (name) => shown(now[name])],
        ])}
      </section>
    `;
  });
  return html`
    <p>${state('different')}${` ${counted(difference_count, 'difference')} in ${counted(lines, 'line')}. The stored run or the ledger was altered. Keep a copy of the database and contact support.`}</p>
    ${compared}
  `;
}

/** Returns the values of a line by name. The membership in the run is the position of the employee's roster row. */
function valuesOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' ? { ...value } : { roster_position: value };
}
