/** One payroll run: what was asked for, what it comes to, whether it can be trusted, and its lines. */
import type { FastifyInstance } from 'fastify';
import { counted, facts } from '../../elements/facts.ts';
import { idLink } from '../../elements/links.ts';
import { address } from '../../elements/pager.ts';
import { state } from '../../elements/state.ts';
import { instant } from '../../elements/time.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { linesOfRun } from './lines.ts';
import { options } from './options.ts';
import { runPath } from './run-path.ts';
import { periodOf, type Run, STATES } from './words.ts';

export function runPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/runs/:run_id', scope: 'runs:read' }, async (visit) => {
    const run = await outlineOf(visit);
    const isPage = visit.query.cursor !== undefined;
    return {
      title: `Payroll run ${run.run_id}`,
      place: 'runs',
      body: html`
        <div>
          ${visit.query.settled_by !== undefined && html`<p role="status">${`Finalized runs that settled something for this run: ${visit.query.settled_by}`}</p>`}
          ${head(run)}
          ${actions(run, visit)}
          ${!isPage && run.state === 'open' && later(run.run_id, 'readiness', 'Asking whether the run is ready …')}
          ${!isPage && later(run.run_id, 'figures', run.state === 'open' ? 'Computing the run …' : 'Reading the run …')}
          ${await linesOfRun(visit, run)}
          ${!isPage && run.state !== 'open' && proof(run)}
        </div>
      `,
    };
  });
}

/** What was asked for of the run of the address; nothing is computed. Throws `ApiRefusal` when there is none. */
export async function outlineOf({ api, params }: Visit): Promise<Run> {
  const run_id = params.run_id ?? '';
  return need(await api.GET('/v1/payroll-runs/{run_id}/outline', { params: { path: { run_id } } }));
}

function head(run: Run): Html {
  return html`
    <section class="card" aria-label="What was asked for">
      ${facts([
        ['State', html`<span>${state(run.state)}${` ${STATES[run.state]}`}</span>`],
        ['Employer', idLink(address('/runs', { employer_id: run.employer_id }), run.employer_id)],
        ['Pay date', run.pay_date],
        ['Pay period', periodOf(run)],
        ['Put', instant(run.created_at)],
        ['Finalized', run.finalized_at !== null && instant(run.finalized_at)],
        ['Accepted findings', run.accepted_checks.length > 0 && run.accepted_checks.join(', ')],
        ['Reason', run.accept_reason],
        ['Voided', run.voided_at !== null && instant(run.voided_at)],
        ['Voided because', run.void_reason],
        ['Payroll took', run.taken_reports.length > 0 && takenOf(run)],
      ])}
      <details>
        <summary>How it is computed</summary>
        ${options(run)}
      </details>
    </section>
  `;
}

function takenOf({ taken_reports }: Run): Html {
  const last = taken_reports.at(-1);
  return html`<span>${`report ${last?.report} names ${counted(last?.lines ?? 0, 'line')}, `}${instant(last?.recorded_at)}</span>`;
}

function actions({ run_id, state, employer_id }: Run, { may }: Visit): Html {
  const mayWrite = may('runs:write');
  const link = (below: string, title: string, kind = 'quiet') =>
    html`<a class=${`button ${kind}`} href=${runPath(run_id, below)}>${title}</a>`;
  return html`
    <div class="actions">
      ${state === 'open' && link('', 'Compute again')}
      ${link('/audit', 'Compare with payroll’s file')}
      ${mayWrite && state === 'finalized' && link('/taken', 'Report what was taken')}
      ${mayWrite && html`<a class="button quiet" href=${address('/runs/new', { like: run_id })}>New run like this</a>`}
      <a class="button quiet" href=${address('/settings', { employer_id })}>Pay schedule and codes</a>
      ${mayWrite && state === 'finalized' && link('/void', 'Void …', 'danger')}
      ${
        mayWrite &&
        state === 'open' &&
        html`<button type="button" class="danger" hx-post=${runPath(run_id, '/delete')} hx-confirm=${`Delete the run ${run_id}? Nothing of it is kept.`}>Delete</button>`
      }
    </div>
  `;
}

/** What takes as long as computing the run comes by itself, so that the page is there at once. */
function later(runId: string, name: string, says: string): Html {
  return html`
    <div hx-get=${runPath(runId, `/${name}`)} hx-trigger="load" hx-swap="outerHTML">
      <p class="card soft" role="status">${says}</p>
    </div>
  `;
}

function proof({ run_id }: Run): Html {
  return html`
    <section aria-labelledby="proof">
      <h2 id="proof">Proof</h2>
      <p class="hint">
        ${'The run is computed again from the ledger at its position, by the options, pay dates, codes and roster frozen with it, and compared line by line.'}
      </p>
      <div class="actions">
        <button type="button" class="quiet" hx-get=${runPath(run_id, '/verification')} hx-target="#verification" hx-indicator="closest .actions">Verify</button>
        <span class="busy soft" role="status">Computing the run again …</span>
      </div>
      <div id="verification" aria-live="polite"></div>
    </section>
  `;
}
