/** What a run's page fetches by itself: each computes the run. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { counted, facts } from '../../elements/facts.ts';
import { address } from '../../elements/pager.ts';
import { problemSummary } from '../../elements/problem-summary.ts';
import { toned } from '../../elements/state.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { part } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { figures } from './figures.ts';
import { readinessOf } from './readiness.ts';
import { reviewedOf } from './review.ts';
import { runPath } from './run-path.ts';

export function runPartPages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:read';

  part(app, parts, { url: '/runs/:run_id/figures', scope }, async ({ api, params, may }) => {
    const path = { run_id: params.run_id ?? '' };
    const answer = await api.GET('/v1/payroll-runs/{run_id}', { params: { path } });
    if (answer.response.status === 422 && answer.error !== undefined) return refused(answer.error);
    const run = need(answer);
    return html`
      <section aria-labelledby="figures">
        <h2 id="figures">${run.state === 'open' ? 'What it comes to now' : 'What it came to'}</h2>
        ${figures(run)}
        ${run.state === 'open' && may('runs:write') && finalizeLink(run)}
        <details class="hint">
          <summary>Computed at</summary>
          ${facts([
            ['Position of the ledger', run.position],
            ['Rules', run.rules_version],
            ['ETag of these lines', html`<code>${run.etag}</code>`],
            ['Pay dates of the year', run.pay_dates_used?.join(', ')],
          ])}
        </details>
      </section>
    `;
  });

  part(app, parts, { url: '/runs/:run_id/readiness', scope }, async (visit) => {
    const path = { run_id: visit.params.run_id ?? '' };
    const answer = await visit.api.GET('/v1/payroll-runs/{run_id}/readiness', { params: { path } });
    if (answer.response.status === 422 && answer.error !== undefined) return html`<div></div>`;
    const run = need(await visit.api.GET('/v1/payroll-runs/{run_id}/outline', { params: { path } }));
    return readinessOf(need(answer), run, visit);
  });

  part(app, parts, { url: '/runs/:run_id/verification', scope }, async ({ api, params }) => {
    const path = { run_id: params.run_id ?? '' };
    return verified(need(await api.GET('/v1/payroll-runs/{run_id}/verify', { params: { path } })));
  });
}

/** With what was looked at, so that it is noticed when it has changed by the time that it is finalized. */
function finalizeLink(run: Schemas['PayrollRun']): Html {
  const reviewed = address(runPath(run.run_id, '/finalize'), reviewedOf(run));
  return html`
    <div class="actions"><a class="button" href=${reviewed}>Finalize …</a></div>
  `;
}

/** An open run of which the pay schedule or the roster has become another one. */
function refused(problem: Schemas['Problem']): Html {
  return html`
    <section aria-labelledby="figures">
      <h2 id="figures">It can’t be computed any more</h2>
      ${problemSummary(problem)}
      <p>What it needs has changed since it was put. Mend that, or delete the run and put another one like it.</p>
    </section>
  `;
}

function verified({ identical, lines, difference_count, differences }: Schemas['Verification']): Html {
  if (identical) {
    return html`<p>${toned('identical', 'good')}${` ${counted(lines, 'line')} come out as they were frozen, to the cent.`}</p>`;
  }
  return html`
    <div>
      <p>${toned('different', 'bad')}${` ${counted(difference_count, 'difference')}; ${counted(lines, 'line')} were frozen. This must not be: keep the database as it is, and ask for help.`}</p>
      ${differences.map(
        ({ employee_id, line, frozen, computed }) => html`
          <details class="card">
            <summary>${employee_id}${`, ${line ?? 'who is in the run'}`}</summary>
            <p>Frozen</p>
            <pre tabindex="0">${JSON.stringify(frozen, null, 2)}</pre>
            <p>Computed</p>
            <pre tabindex="0">${JSON.stringify(computed, null, 2)}</pre>
          </details>
        `,
      )}
    </div>
  `;
}
