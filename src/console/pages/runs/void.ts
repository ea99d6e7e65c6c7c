/** Voids a final run. */
import { AFTER_VOIDING, voidPayrollRun } from '../../../api/operations/payroll-run-work.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { facts } from '../../elements/facts.ts';
import { filledForm, reasonSpec } from '../../elements/fields.ts';
import { dayOf, money } from '../../elements/format.ts';
import { address, nameIn, type Query, runPath } from '../../elements/links.ts';
import { obstacleOf } from '../../elements/run-readiness.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { periodOf, type Run } from './labels.ts';
import { outlineOf, pageOfRun, toApprovals, voidApprovalOf } from './state.ts';

export function voidPages(pages: Console): void {
  pageOfRun(pages, '/void', 'runs:approve', async (visit, run) => ({
    title: 'Void',
    body: html`${voidedAmounts(run)}${await voiding(visit, run)}`,
  }));

  pages.action('/runs/:run_id/void', 'runs:approve', async (act) => {
    const { api, form } = act;
    const call = api.perform(voidPayrollRun, { body: { reason: form.reason ?? '' } });
    const { data, problem } = await attempt(call, 400, 409);
    const { run_id = '' } = act.params;
    if (problem !== undefined) return voiding(act, await outlineOf(act), form, problem);
    const taken = data.taken_reports.map(({ id }) => id).join(', ');
    return {
      go: address(runPath(run_id), { voided: 'true', settled_by: data.settled_by.join(', '), taken }),
    };
  });
}

/** Renders what voiding a run takes back. */
export function voidedAmounts(run: Run): Html {
  return html`
    <section class="card" aria-label="Run">
      ${facts([
        ['Employer', nameIn('employer', run.employer_id)],
        ['Pay date', dayOf(run.pay_date)],
        ['Pay period', periodOf(run)],
        ['Employee amount', run.totals && money(run.totals.member_amount)],
        ['Employer amount', run.totals && money(run.totals.employer_amount)],
      ])}
    </section>
  `;
}

async function voiding(visit: Visit, run: Run, typed: Query = {}, problem?: ProblemDetails): Promise<Html> {
  const approval = await voidApprovalOf(visit, run);
  const obstacle =
    run.state === 'open'
      ? 'This run is open, so there is nothing to void: it can be deleted.'
      : run.state === 'voided'
        ? 'This run is already voided.'
        : obstacleOf(approval, visit, 'void');
  if (obstacle === null) return voidForm(run.id, typed, problem);
  return html`<p id="void" class="notice">${obstacle} ${toApprovals(run.id, approval, visit)}</p>`;
}

function voidForm(runId: string, typed: Query, problem?: ProblemDetails): Html {
  const specs = { reason: { ...reasonSpec('Stored with the run.'), rows: 3 } };
  const { summary, fieldOf } = filledForm(specs, typed, problem);
  return html`
    <form id="void" class="card" novalidate hx-post=${runPath(runId, '/void')} hx-target="#void" hx-swap="outerHTML">
      ${summary}
      <p>Voiding cannot be undone. The run stays readable but no longer counts, and its pay date is free for a new run. ${AFTER_VOIDING} Adjustments and arrears that it included become due again. If a later run has corrected this one, void the later run first.</p>
      ${fieldOf('reason')}
      <div class="actions">
        <button type="submit" class="danger while-unchanged">Void the run</button>
      </div>
    </form>
  `;
}
