/**
 * Finalizing and voiding a run, and deleting an open one. The page to finalize shows the totals and sends their ETag, so
 * only what was reviewed is finalized; when the run changed, it shows both.
 */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import type { Schemas } from '../../../client.ts';
import { need, rejectedByApi } from '../../api-client.ts';
import { checkNames, readinessOf } from '../../elements/checks.ts';
import { facts } from '../../elements/facts.ts';
import { hiddenFields, linesField, problemSummary } from '../../elements/fields.ts';
import { money, plain } from '../../elements/format.ts';
import { address, runPath } from '../../elements/links.ts';
import { type Column, table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { type Act, action, type ConsoleParts, page, part, type Visit } from '../../page.ts';
import { periodOf } from './labels.ts';
import { outlineOf, REVIEWED, type Reviewed, reviewedOf } from './run.ts';

type Run = Schemas['PayrollRun'];
type Compared = { readonly name: keyof typeof REVIEWED; readonly before: string; readonly now: string };
type Coverage = Run['totals']['by_line_of_coverage'][number];

export function finalizePages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';

  page(app, parts, { url: '/runs/:run_id/finalize', scope }, async (visit) => {
    const { id: run_id, state } = await outlineOf(visit);
    return {
      title: `Finalize ${run_id}`,
      place: 'runs',
      body:
        state === 'open'
          ? html`
              <div hx-get=${address(runPath(run_id, '/review'), visit.query)} hx-trigger="load" hx-swap="outerHTML">
                <p class="card soft" role="status">Computing the run …</p>
              </div>
            `
          : html`<p>${`This run is already ${state}. `}<a href=${runPath(run_id)}>Back to the run</a></p>`,
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
    const problem = error as ProblemDetails;
    if (![400, 409, 412].includes(problem.status)) throw rejectedByApi(problem);
    return review(act, form, problem);
  });
}

/** Shows the run as it is now. `reviewed`: what the user saw before, and the reason they typed. */
async function review(
  visit: Visit | Act,
  reviewed: Reviewed & { readonly reason?: string },
  problem?: ProblemDetails,
): Promise<Html> {
  const path = { run_id: visit.params.run_id ?? '' };
  const back = html`<p><a href=${runPath(path.run_id)}>Back to the run</a></p>`;
  const { api } = visit;
  const response = await api.GET('/v1/payroll-runs/{run_id}', { params: { path } });
  if (response.response.status === 422 && response.error !== undefined) {
    return html`<div id="review">${problemSummary(response.error)}${back}</div>`;
  }
  const run = need(response);
  if (run.state !== 'open') {
    return html`<div id="review">${problem !== undefined && problemSummary(problem)}${back}</div>`;
  }
  const readiness = need(await api.GET('/v1/payroll-runs/{run_id}/readiness', { params: { path } }));
  const wasRejected = problem?.status === 412;
  const hasChanged = wasRejected || (reviewed.etag !== undefined && reviewed.etag.split('.')[0] !== run.etag);
  return html`
    <div id="review">
      ${hasChanged && changedNotice(path.run_id, wasRejected)}
      ${problem !== undefined && !wasRejected && problemSummary(problem, reasonPlace)}
      ${totals(run, hasChanged ? reviewed : {})}
      ${readinessOf(readiness, run, visit)}
      ${confirmation(run, readiness, reviewed.reason ?? '', problem)}
    </div>
  `;
}

function reasonPlace(path: string) {
  return path === 'reason' ? { id: 'reason', label: 'Reason' } : null;
}

function changedNotice(runId: string, wasRejected: boolean): Html {
  return html`
    <div class="problem" role="alert" tabindex="-1" autofocus>
      <strong>${wasRejected ? 'The run changed since it was reviewed. Nothing was finalized.' : 'The run changed since you opened it.'}</strong>
      <p>${'An event arrived, or other data that the run is computed from changed. '}<a href=${`${runPath(runId)}#lines`}>Review the current lines</a>${', then finalize.'}</p>
    </div>
  `;
}

function totals(run: Run, before: Reviewed): Html {
  const isCompared = before.member_amount !== undefined;
  const now = reviewedOf(run);
  const shown = (name: Compared['name'], value: string) =>
    name === 'lines' || name === 'employees' ? value : money(value);
  const rows = (Object.keys(REVIEWED) as Compared['name'][]).map((name) => ({
    name,
    before: shown(name, before[name] ?? '–'),
    now: shown(name, now[name]),
  }));
  const columns: Column<Compared>[] = [{ title: 'Total', kind: 'name', cell: ({ name }) => REVIEWED[name] }];
  if (isCompared) columns.push({ title: 'Reviewed', kind: 'number', cell: (row) => row.before });
  columns.push({ title: isCompared ? 'Now' : 'Value', kind: 'number', cell: (row) => row.now });
  return html`
    <section class="narrow" aria-labelledby="totals">
      <h2 id="totals">Totals to finalize</h2>
      <p>${`Employer ${run.employer_id}, pay date ${run.pay_date}, pay period ${periodOf(run)}`}</p>
      ${table({ caption: 'Totals', captionHidden: true, columns, rows })}
      ${table<Coverage>({
        caption: 'By line of coverage',
        stacked: true,
        columns: [
          { title: 'Line of coverage', kind: 'name', cell: (row) => plain(row.line_of_coverage) },
          { title: 'Lines', kind: 'number', cell: ({ lines }) => lines },
          { title: 'Employee amount', kind: 'number', cell: ({ member_amount }) => money(member_amount) },
          { title: 'Employer amount', kind: 'number', cell: ({ employer_amount }) => money(employer_amount) },
        ],
        rows: run.totals.by_line_of_coverage,
      })}
    </section>
  `;
}

function confirmation(
  run: Run,
  { ready: isReady, checks, etag }: Schemas['Readiness'],
  reason: string,
  problem?: ProblemDetails,
): Html {
  const path = runPath(run.id);
  const failed = checks.filter(({ result }) => result === 'fail').map(({ id }) => id);
  return html`
    <form class="card" novalidate hx-post=${`${path}/finalize`} hx-target="#review" hx-swap="outerHTML" hx-config="timeout:600s">
      ${hiddenFields({ ...reviewedOf(run), etag, ...(!isReady && { accept: failed.join(' ') }) })}
      <p>A finalized run cannot be changed, only voided. Payroll deducts its amounts.</p>
      ${
        !isReady &&
        linesField({
          name: 'reason',
          label: `Reason to accept: ${checkNames(failed, run)}`,
          hint: 'Stored with the run and with each finding. A finding stays accepted until its data changes. At most 500 characters.',
          value: reason,
          required: true,
          problems: problem?.errors?.filter(({ path }) => path === 'reason') ?? [],
        })
      }
      <div class="actions">
        <button type="submit" class=${isReady ? undefined : 'danger'}>${isReady ? 'Finalize' : 'Accept findings and finalize'}</button>
        <a class="button quiet" href=${path}>Back to the run</a>
        <span class="busy soft" role="status">Finalizing …</span>
      </div>
    </form>
  `;
}

export function voidPages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';

  action(app, parts, { url: '/runs/:run_id/delete', scope }, async ({ api, params }) => {
    const path = { run_id: params.run_id ?? '' };
    need(await api.DELETE('/v1/payroll-runs/{run_id}', { params: { path } }));
    return { go: '/runs' };
  });

  page(app, parts, { url: '/runs/:run_id/void', scope }, async (visit) => {
    const run = await outlineOf(visit);
    return {
      title: `Void ${run.id}`,
      place: 'runs',
      body: html`
        <section class="card" aria-label="Run">
          ${facts([
            ['Employer', run.employer_id],
            ['Pay date', run.pay_date],
            ['Pay period', periodOf(run)],
            ['Employee amount', run.totals && money(run.totals.member_amount)],
            ['Employer amount', run.totals && money(run.totals.employer_amount)],
          ])}
        </section>
        ${voidForm(run.id, '')}
      `,
    };
  });

  action(app, parts, { url: '/runs/:run_id/void', scope }, async ({ api, params, form }) => {
    const run_id = params.run_id ?? '';
    const reason = form.reason ?? '';
    const response = await api.POST('/v1/payroll-runs/{run_id}/void', {
      params: { path: { run_id } },
      body: { reason },
    });
    if (response.response.status === 400) return voidForm(run_id, reason, response.error);
    const { settled_by } = need(response);
    return { go: address(runPath(run_id), { settled_by: settled_by.join(', ') || undefined }) };
  });
}

function voidForm(runId: string, reason: string, problem?: ProblemDetails): Html {
  return html`
    <form id="void" class="card" novalidate hx-post=${runPath(runId, '/void')} hx-target="#void" hx-swap="outerHTML">
      ${problem !== undefined && problemSummary(problem, () => ({ id: 'reason', label: 'Reason' }))}
      <p>Voiding cannot be undone. The run stays readable but no longer counts, and its pay date is free for a new run. Adjustments and arrears that it included become due again. If a later run has corrected this one, void the later run first.</p>
      ${linesField({
        name: 'reason',
        label: 'Reason',
        hint: 'Stored with the run. At most 500 characters.',
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
