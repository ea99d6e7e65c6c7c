/** One payroll run: its options, totals, readiness and lines. Slow parts load separately. */
import type { ProblemDetails } from '../../../api/problem.ts';
import type { Schemas } from '../../../client.ts';
import { attempt } from '../../api-client.ts';
import { checkNames, readinessOf } from '../../elements/checks.ts';
import { facts, state } from '../../elements/facts.ts';
import { problemSummary } from '../../elements/fields.ts';
import { counted, instant } from '../../elements/format.ts';
import { address, idLink, runPath } from '../../elements/links.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import * as labels from './labels.ts';
import { linesOfRun } from './lines.ts';
import { figures } from './totals.ts';

type Run = labels.Run;

/** Ids listed of an option; a run may have 100,000. */
const LISTED = 50;

export function runPages({ page, part }: Console): void {
  page('/runs/:run_id', 'runs:read', async (visit) => {
    const run = await outlineOf(visit);
    const { settled_by, cursor } = visit.query;
    const isOpen = run.state === 'open';
    const isFirstPage = cursor === undefined;
    return {
      title: `Payroll run ${run.id}`,
      body: html`
        ${settled_by !== undefined && html`<p role="status">${`Finalized runs with adjustments or arrears for this run: ${settled_by}`}</p>`}
        ${summary(run)}
        ${actions(run, visit)}
        ${isFirstPage && isOpen && later(runPath(run.id, '/readiness'), 'Checking readiness …')}
        ${isFirstPage && later(runPath(run.id, '/figures'), isOpen ? 'Computing the run …' : 'Loading the totals …')}
        ${await linesOfRun(visit, run)}
        ${isFirstPage && !isOpen && verification(run.id)}
      `,
    };
  });

  part('/runs/:run_id/figures', 'runs:read', async ({ api, may }) => {
    const { data: run, problem } = await attempt(api.get('/v1/payroll-runs/{run_id}'), 422);
    if (problem !== undefined) return uncomputable(problem);
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

  part('/runs/:run_id/readiness', 'runs:read', async (visit) => {
    const { data } = await attempt(visit.api.get('/v1/payroll-runs/{run_id}/readiness'), 422);
    return data === undefined ? html`<div></div>` : readinessOf(data, await outlineOf(visit), visit);
  });

  part('/runs/:run_id/verification', 'runs:read', async ({ api }) =>
    verified(await api.get('/v1/payroll-runs/{run_id}/verify')),
  );
}

/** Reads the run's options without computing it. Throws NOT_FOUND for an unknown id. */
export function outlineOf({ api }: Visit): Promise<Run> {
  return api.get('/v1/payroll-runs/{run_id}/outline');
}

/** A part of a page that takes as long as computing the run. */
export function later(path: string, message: string): Html {
  return html`
    <div hx-get=${path} hx-trigger="load" hx-swap="outerHTML">
      <p class="card soft" role="status">${message}</p>
    </div>
  `;
}

/** The figures that a user reviews before finalizing. They are sent along, to notice when they changed. */
export const REVIEWED = {
  lines: 'Lines',
  employees: 'Employees',
  member_amount: 'Employee amount',
  employer_amount: 'Employer amount',
} as const;
export type Reviewed = Readonly<Partial<Record<keyof typeof REVIEWED | 'etag', string>>>;

export function reviewedOf(
  run: Pick<Schemas['PayrollRun'], 'totals' | 'employees' | 'etag'>,
): Required<Reviewed> {
  const { lines, member_amount, employer_amount } = run.totals;
  const { etag, employees } = run;
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
  const option = ({ label, hint }: { label: string; hint: Content } = { label: '–', hint: '' }) =>
    html`<span><strong>${label}</strong>${' – '}${hint}</span>`;
  return facts([
    ['Kind', option(labels.RUN_KINDS.find(({ value }) => value === run.kind))],
    ['Pay frequency', run.pay_frequency],
    ['Pay group', run.pay_group ?? 'all'],
    ...labels.OPTION_NAMES.map((name) => {
      return [labels.OPTIONS[name].label, option(labels.choiceOf(name, run[name]))] as const;
    }),
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
  const [isOpen, isFinalized] = [state === 'open', state === 'finalized'];
  const mayWrite = may('runs:write');
  const link = (path: string, title: string, kind = 'quiet') =>
    html`<a class=${`button ${kind}`} href=${path}>${title}</a>`;
  return html`
    <div class="actions">
      ${isOpen && link(runPath(run_id), 'Recompute')}
      ${link(runPath(run_id, '/audit'), 'Compare with payroll')}
      ${mayWrite && isFinalized && link(runPath(run_id, '/taken'), 'Report deductions taken')}
      ${mayWrite && link(address('/runs/new', { like: run_id }), 'Copy to a new run')}
      ${link(address('/settings', { employer_id }), 'Payroll settings')}
      ${mayWrite && isFinalized && link(runPath(run_id, '/void'), 'Void …', 'danger')}
      ${mayWrite && isOpen && html`<button type="button" class="danger" hx-post=${runPath(run_id, '/delete')} hx-confirm=${`Delete the run ${run_id}? This cannot be undone.`}>Delete</button>`}
    </div>
  `;
}

/** The pay schedule or the roster of an open run changed. */
function uncomputable(problem: ProblemDetails): Html {
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

function verified(result: Schemas['PayrollRunVerification']): Html {
  const { identical, lines, difference_count, differences } = result;
  if (identical) return html`<p>${state('identical')}${` All ${counted(lines, 'line')} match.`}</p>`;
  return html`
    <p>${state('different')}${` ${counted(difference_count, 'difference')} in ${counted(lines, 'line')}. The stored run or the ledger was altered. Keep a copy of the database and contact support.`}</p>
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
