/** Taking a run back: an open one is deleted, a finalized one is voided, with a reason. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { facts } from '../../elements/facts.ts';
import { linesField } from '../../elements/field.ts';
import { address } from '../../elements/pager.ts';
import { problemSummary } from '../../elements/problem-summary.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { action, page } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { outlineOf } from './run.ts';
import { runPath } from './run-path.ts';
import { periodOf } from './words.ts';

export function takeBackPages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';

  action(app, parts, { url: '/runs/:run_id/delete', scope }, async ({ api, params }) => {
    const path = { run_id: params.run_id ?? '' };
    need(await api.DELETE('/v1/payroll-runs/{run_id}', { params: { path } }));
    return { go: '/runs' };
  });

  page(app, parts, { url: '/runs/:run_id/void', scope }, async (visit) => {
    const run = await outlineOf(visit);
    return {
      title: `Void ${run.run_id}`,
      place: 'runs',
      body: html`
        <div>
          <section class="card" aria-label="The run">
            ${facts([
              ['Employer', run.employer_id],
              ['Pay date', run.pay_date],
              ['Pay period', periodOf(run)],
              ['Employees pay', run.totals?.member_amount],
              ['Employer pays', run.totals?.employer_amount],
            ])}
          </section>
          ${voidForm(run.run_id, '')}
        </div>
      `,
    };
  });

  action(app, parts, { url: '/runs/:run_id/void', scope }, async ({ api, params, form }) => {
    const run_id = params.run_id ?? '';
    const reason = form.reason ?? '';
    const answer = await api.POST('/v1/payroll-runs/{run_id}/void', {
      params: { path: { run_id } },
      body: { reason },
    });
    // What is wrong with the reason stands beside it.
    if (answer.response.status === 400) return voidForm(run_id, reason, answer.error);
    const { settled_by } = need(answer);
    return { go: address(runPath(run_id), { settled_by: settled_by.join(', ') || undefined }) };
  });
}

function voidForm(runId: string, reason: string, problem?: ProblemDetails): Html {
  return html`
    <form id="void" class="card" novalidate hx-post=${runPath(runId, '/void')} hx-target="#void" hx-swap="outerHTML">
      ${problem !== undefined && problemSummary(problem, () => ({ id: 'reason', label: 'Reason' }))}
      <p>${'The run stays readable and counts as nothing. Its pay date is free for another run, and what it settled of earlier runs is due again. What a later run has settled of it stays with that run: void the later one first. This can’t be undone.'}</p>
      ${linesField({
        name: 'reason',
        label: 'Why the run is taken back',
        hint: 'Kept with the run. At most 500 characters.',
        value: reason,
        required: true,
        problems: problem?.errors ?? [],
      })}
      <div class="actions">
        <button type="submit" class="danger">Void the run</button>
        <a class="button quiet" href=${runPath(runId)}>Back to the run</a>
      </div>
    </form>
  `;
}
