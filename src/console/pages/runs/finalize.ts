/**
 * Finalizing: what was reviewed, and nothing else, is frozen. The page shows the totals that are going to stand and
 * sends their ETag; when the lines have changed by then, it shows both.
 */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { address } from '../../elements/pager.ts';
import { problemSummary } from '../../elements/problem-summary.ts';
import { type Html, html } from '../../html.ts';
import { ApiRefusal, need } from '../../own-api.ts';
import { type Act, action, page, part, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { readinessOf } from './readiness.ts';
import { changed, confirmation, placeOf, type Reviewed, standing } from './review.ts';
import { outlineOf } from './run.ts';
import { runPath } from './run-path.ts';

export function finalizePages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';

  page(app, parts, { url: '/runs/:run_id/finalize', scope }, async (visit) => {
    const { run_id, state } = await outlineOf(visit);
    return {
      title: `Finalize ${run_id}`,
      place: 'runs',
      body:
        state === 'open'
          ? html`
              <div hx-get=${address(runPath(run_id, '/review'), visit.query)} hx-trigger="load" hx-swap="outerHTML">
                <p class="card soft" role="status">Computing what would stand …</p>
              </div>
            `
          : html`<p>${`The run is ${state} already. `}<a href=${runPath(run_id)}>Look at it</a></p>`,
    };
  });

  part(app, parts, { url: '/runs/:run_id/review', scope }, (visit) => review(visit, visit.query));

  action(app, parts, { url: '/runs/:run_id/finalize', scope }, async (act) => {
    const { form, api } = act;
    const run_id = act.params.run_id ?? '';
    const { accept, reason, etag = '' } = form;
    const { error } = await api.POST('/v1/payroll-runs/{run_id}/finalize', {
      params: { path: { run_id }, header: { 'if-match': `"${etag}"` } },
      body:
        accept === undefined ? {} : { accept: accept.split(' '), ...(reason !== undefined && { reason }) },
    });
    if (error === undefined) return { go: runPath(run_id) };
    return again(act, error as ProblemDetails);
  });
}

/** What it came to that the run was not finalized, above what there is to agree on now. */
function again(act: Act, problem: ProblemDetails): Promise<Html> {
  switch (problem.status) {
    case 412:
    case 409:
    case 400:
      return review(act, act.form, problem);
    default:
      throw new ApiRefusal(problem);
  }
}

/** `reviewed`: what the person has seen, on the run's page or here; `reason`, where one was typed. */
async function review(
  visit: Visit,
  reviewed: Reviewed & { readonly reason?: string },
  problem?: ProblemDetails,
): Promise<Html> {
  const path = { run_id: visit.params.run_id ?? '' };
  const { api } = visit;
  const answer = await api.GET('/v1/payroll-runs/{run_id}', { params: { path } });
  if (answer.response.status === 422 && answer.error !== undefined) return refused(answer.error, path.run_id);
  const run = need(answer);
  if (run.state !== 'open') {
    return html`<div id="review">${problem !== undefined && problemSummary(problem)}<p><a href=${runPath(path.run_id)}>Look at the run</a></p></div>`;
  }
  const readiness = need(await api.GET('/v1/payroll-runs/{run_id}/readiness', { params: { path } }));
  const wasRefused = problem?.status === 412;
  const hasChanged = wasRefused || (reviewed.etag !== undefined && reviewed.etag.split('.')[0] !== run.etag);
  return html`
    <div id="review">
      ${hasChanged && changed(path.run_id, wasRefused)}
      ${problem !== undefined && !wasRefused && problemSummary(problem, placeOf)}
      ${standing(run, hasChanged ? reviewed : {})}
      ${readinessOf(readiness, run, visit)}
      ${confirmation(run, readiness, reviewed.reason ?? '', problem)}
    </div>
  `;
}

/** It can't be computed any more: there is nothing that could stand. */
function refused(problem: ProblemDetails, runId: string): Html {
  return html`<div id="review">${problemSummary(problem)}<p><a href=${runPath(runId)}>Back to the run</a></p></div>`;
}
