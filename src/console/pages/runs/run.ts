/** One payroll run: its options, totals, readiness and lines. Slow parts load separately. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { need } from '../../api-client.ts';
import { checkNames, readinessOf } from '../../elements/checks.ts';
import { facts, state, toned } from '../../elements/facts.ts';
import { problemSummary } from '../../elements/fields.ts';
import { counted, instant } from '../../elements/format.ts';
import { address, idLink, runPath } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';
import { type ConsoleParts, page, part, type Visit } from '../../page.ts';
import * as labels from './labels.ts';
import { linesOfRun } from './lines.ts';
import { figures } from './totals.ts';

type Run = labels.Run;

/** Ids listed of an option; a run may have 100,000. */
const LISTED = 50;

export function runPages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:read';

  page(app, parts, { url: '/runs/:run_id', scope }, async (visit) => {
    const run = await outlineOf(visit);
    const { id: run_id } = run;
    const isOpen = run.state === 'open';
    const isFirstPage = visit.query.cursor === undefined;
    return {
      title: `Payroll run ${run_id}`,
      place: 'runs',
      body: html`
        ${visit.query.settled_by !== undefined && html`<p role="status">${`Finalized runs with adjustments or arrears for this run: ${visit.query.settled_by}`}</p>`}
        ${summary(run)}
        ${actions(run, visit)}
        ${isFirstPage && isOpen && later(run_id, 'readiness', 'Checking readiness …')}
        ${isFirstPage && later(run_id, 'figures', isOpen ? 'Computing the run …' : 'Loading the totals …')}
        ${await linesOfRun(visit, run)}
        ${isFirstPage && !isOpen && verification(run_id)}
      `,
    };
  });

  part(app, parts, { url: '/runs/:run_id/figures', scope }, async ({ api, params, may }) => {
    const path = { run_id: params.run_id ?? '' };
    const response = await api.GET('/v1/payroll-runs/{run_id}', { params: { path } });
    if (response.response.status === 422 && response.error !== undefined) return uncomputable(response.error);
    const run = need(response);
    return html`
      <section aria-labelledby="totals">
        <h2 id="totals">Totals</h2>
        ${figures(run)}
        ${run.state === 'open' && may('runs:write') && html`<div class="actions"><a class="button" href=${address(runPath(run.id, '/finalize'), reviewedOf(run))}>Finalize …</a></div>`}
        <details class="hint">
          <summary>Calculation details</summary>
          ${facts([
            ['Ledger position', run.position],
            ['Rules version', run.rules_version],
            ['ETag', html`<code>${run.etag}</code>`],
            ['Pay dates of the year', run.pay_dates_used?.join(', ')],
          ])}
        </details>
      </section>
    `;
  });

  part(app, parts, { url: '/runs/:run_id/readiness', scope }, async (visit) => {
    const path = { run_id: visit.params.run_id ?? '' };
    const response = await visit.api.GET('/v1/payroll-runs/{run_id}/readiness', { params: { path } });
    if (response.response.status === 422 && response.error !== undefined) return html`<div></div>`;
    return readinessOf(need(response), await outlineOf(visit), visit);
  });

  part(app, parts, { url: '/runs/:run_id/verification', scope }, async ({ api, params }) => {
    const path = { run_id: params.run_id ?? '' };
    return verified(need(await api.GET('/v1/payroll-runs/{run_id}/verify', { params: { path } })));
  });
}

/** Reads the run's options without computing it. Throws NOT_FOUND for an unknown id. */
export async function outlineOf({ api, params }: Visit): Promise<Run> {
  const run_id = params.run_id ?? '';
  return need(await api.GET('/v1/payroll-runs/{run_id}/outline', { params: { path: { run_id } } }));
}

/** The figures that a user reviews before finalizing. They are sent along, to notice when they changed. */
export const REVIEWED = {
  lines: 'Lines',
  employees: 'Employees',
  member_amount: 'Employee amount',
  employer_amount: 'Employer amount',
} as const;
export type Reviewed = Readonly<Partial<Record<keyof typeof REVIEWED | 'etag', string>>>;

export function reviewedOf({
  totals,
  employees,
  etag,
}: Pick<Schemas['PayrollRun'], 'totals' | 'employees' | 'etag'>): Required<Reviewed> {
  const { lines, member_amount, employer_amount } = totals;
  return { etag, lines: String(lines), employees: String(employees), member_amount, employer_amount };
}

function summary(run: Run): Html {
  const report = run.taken_reports.at(-1);
  return html`
    <section class="card" aria-label="Summary">
      ${facts([
        ['State', html`<span>${state(run.state)}${` ${labels.STATES[run.state]}`}</span>`],
        ['Employer', idLink(address('/runs', { employer_id: run.employer_id }), run.employer_id)],
        ['Pay date', run.pay_date],
        ['Pay period', labels.periodOf(run)],
        ['Created', instant(run.created_at)],
        ['Finalized', run.finalized_at !== null && instant(run.finalized_at)],
        ['Accepted findings', run.accepted_checks.length > 0 && checkNames(run.accepted_checks, run)],
        ['Reason', run.accept_reason],
        ['Voided', run.voided_at !== null && instant(run.voided_at)],
        ['Reason for voiding', run.void_reason],
        [
          'Deductions taken',
          report !== undefined &&
            html`<span>${`report ${report.id}, ${counted(report.lines, 'line')}, `}${instant(report.recorded_at)}</span>`,
        ],
      ])}
      <details>
        <summary>Options</summary>
        ${options(run)}
      </details>
    </section>
  `;
}

function options(run: Run): Html {
  const option = (value: string, meaning: string) =>
    html`<span><strong>${value}</strong>${` – ${meaning}`}</span>`;
  const { OPTIONS } = labels;
  return facts([
    ['Kind', option(run.kind, labels.RUN_KINDS[run.kind])],
    ['Pay frequency', run.pay_frequency],
    ['Pay group', run.pay_group ?? 'all'],
    [OPTIONS.scheme, option(run.scheme, labels.SCHEMES[run.scheme])],
    [OPTIONS.remainder, option(run.remainder, labels.REMAINDERS[run.remainder])],
    [OPTIONS.extra_paycheck, option(run.extra_paycheck, labels.EXTRA_PAYCHECKS[run.extra_paycheck])],
    [OPTIONS.applies_on, option(run.applies_on, labels.APPLIES_ON[run.applies_on])],
    [OPTIONS.adjustments, option(run.adjustments, labels.ADJUSTMENTS[run.adjustments])],
    [OPTIONS.arrears, option(run.arrears, labels.ARREARS[run.arrears])],
    ['Reason for a different policy', run.policy_reason],
    ['Pay dates', listed(run.pay_dates)],
    ['Only these employees', listed(run.employee_ids)],
    ['Only these deductions', listed(run.deductions)],
    ['Final paychecks', listed(run.final_checks)],
  ]);
}

function listed(ids: readonly string[] | null): string | null {
  if (ids === null || ids.length === 0) return null;
  const more = ids.length - LISTED;
  return ids.slice(0, LISTED).join(', ') + (more > 0 ? `, and ${more} more` : '');
}

function actions({ id: run_id, state, employer_id }: Run, { may }: Visit): Html {
  const mayWrite = may('runs:write');
  const link = (below: string, title: string, kind = 'quiet') =>
    html`<a class=${`button ${kind}`} href=${runPath(run_id, below)}>${title}</a>`;
  return html`
    <div class="actions">
      ${state === 'open' && link('', 'Recompute')}
      ${link('/audit', 'Compare with payroll')}
      ${mayWrite && state === 'finalized' && link('/taken', 'Report deductions taken')}
      ${mayWrite && html`<a class="button quiet" href=${address('/runs/new', { like: run_id })}>Copy to a new run</a>`}
      <a class="button quiet" href=${address('/settings', { employer_id })}>Payroll settings</a>
      ${mayWrite && state === 'finalized' && link('/void', 'Void …', 'danger')}
      ${
        mayWrite &&
        state === 'open' &&
        html`<button type="button" class="danger" hx-post=${runPath(run_id, '/delete')} hx-confirm=${`Delete the run ${run_id}? This cannot be undone.`}>Delete</button>`
      }
    </div>
  `;
}

/** A part that takes as long as computing the run. */
function later(runId: string, name: string, message: string): Html {
  return html`
    <div hx-get=${runPath(runId, `/${name}`)} hx-trigger="load" hx-swap="outerHTML">
      <p class="card soft" role="status">${message}</p>
    </div>
  `;
}

/** The pay schedule or the roster of an open run changed. */
function uncomputable(problem: Schemas['Problem']): Html {
  return html`
    <section aria-labelledby="totals">
      <h2 id="totals">This run cannot be computed</h2>
      ${problemSummary(problem)}
      <p>Data that it needs has changed since it was created. Fix that, or delete the run and create a new one.</p>
    </section>
  `;
}

function verification(runId: string): Html {
  return html`
    <section aria-labelledby="verify">
      <h2 id="verify">Verification</h2>
      <p class="hint">Recomputes the run from the ledger, with the options and data stored when it was finalized, and compares every line.</p>
      <div class="actions">
        <button type="button" class="quiet" hx-get=${runPath(runId, '/verification')} hx-target="#verification" hx-indicator="closest .actions">Verify</button>
        <span class="busy soft" role="status">Recomputing the run …</span>
      </div>
      <div id="verification" aria-live="polite"></div>
    </section>
  `;
}

function verified({
  identical,
  lines,
  difference_count,
  differences,
}: Schemas['PayrollRunVerification']): Html {
  if (identical) return html`<p>${toned('identical', 'good')}${` All ${counted(lines, 'line')} match.`}</p>`;
  return html`
    <p>${toned('different', 'bad')}${` ${counted(difference_count, 'difference')} in ${counted(lines, 'line')}. The stored run or the ledger was altered. Keep a copy of the database and contact support.`}</p>
    ${differences.map(
      ({ employee_id, line, frozen, computed }) => html`
        <details class="card">
          <summary>${employee_id}${`, ${line ?? 'membership in the run'}`}</summary>
          <p>Finalized</p>
          <pre tabindex="0">${JSON.stringify(frozen, null, 2)}</pre>
          <p>Recomputed</p>
          <pre tabindex="0">${JSON.stringify(computed, null, 2)}</pre>
        </details>
      `,
    )}
  `;
}
