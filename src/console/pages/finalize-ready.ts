/** Finalizes several ready payrolls at once, after their totals were seen side by side. */
import { finalizePayrollRun } from '../../api/operations/payroll-run-work.ts';
import { titleOfCheck } from '../../api/operations/readiness.ts';
import { empty } from '../elements/facts.ts';
import { SELECT_ALL } from '../elements/fields.ts';
import { age, count, difference, money } from '../elements/format.ts';
import { findingPath, runPath } from '../elements/links.ts';
import { table, withNote } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Act, Console, Visit } from '../page.ts';
import { attempt } from '../performing.ts';
import { type Payroll, payrollsOf, stateIn } from './payrolls.ts';
import { nameOf } from './runs/labels.ts';
import { eachSelected, payrollBox, sentenceOf } from './several.ts';

const PATH = '/payrolls/finalize';

type Ready = Payroll & {
  run_id: string;
  computation: NonNullable<Payroll['computation']> & { etag: string };
};

export function finalizeReadyPages({ page, action }: Console): void {
  const scope = 'runs:write';

  page(PATH, scope, async (visit) => {
    const ready = readyIn(await payrollsOf(visit), visit);
    const none = empty('No payroll is ready now', html`<p><a href="/">Back to Home</a></p>`);
    return { title: 'Finalize ready payrolls', body: ready.length === 0 ? none : formOf(ready, visit) };
  });

  action(PATH, scope, (act) => {
    const back = html`<a class="button" href="/">Back to Home</a>`;
    return eachSelected(act, (runId, etag) => finalized(act, runId, etag), back);
  });
}

/** Links to the page, if it would list more than one payroll. */
export function finalizeReadyLink(payrolls: readonly Payroll[], visit: Visit): Html | null {
  const { length } = visit.may('runs:write') ? readyIn(payrolls, visit) : [];
  if (length < 2) return null;
  return html`<div class="actions"><a class="button" href=${PATH}>${`Finalize ${count(length)} ready payrolls …`}</a></div>`;
}

/** Returns the payrolls that the user can finalize as they were computed last. */
function readyIn(payrolls: readonly Payroll[], visit: Pick<Visit, 'caller'>): Ready[] {
  const isReady = (payroll: Payroll): payroll is Ready =>
    stateIn(payroll, visit) === 'ready' && payroll.run_id !== null && payroll.computation?.etag != null;
  return payrolls.filter(isReady);
}

function formOf(ready: readonly Ready[], visit: Visit): Html {
  return html`
    <form id="finalizing" hx-post=${PATH} hx-target="this" hx-swap="outerHTML" hx-config="timeout:600s">
      ${SELECT_ALL}
      ${table(ready, { caption: 'Ready payrolls', captionHidden: true }, [
        [
          html`<span class="hidden-label">Selected</span>`,
          (payroll) => payrollBox(payroll, payroll.computation.etag),
        ],
        ['Payroll', (payroll) => nameCell(payroll, visit), 'name'],
        ['Employees', ({ computation }) => count(computation.employees), 'number'],
        ['Employee amount', ({ computation }) => money(computation.member_amount), 'number'],
        ['Employer amount', ({ computation }) => money(computation.employer_amount), 'number'],
        ['Difference', ({ computation }) => difference(computation.member_difference), 'number'],
        ['Warnings', warningsOf, 'wide'],
      ])}
      <div class="card">
        <p>A finalized run cannot be changed, only voided. Payroll deducts its amounts. A run that changed since this page was loaded is left open.</p>
        <div class="actions">
          <button type="submit">Finalize the selected payrolls</button>
          <a class="button quiet" href="/">Back to Home</a>
          <span class="busy soft" role="status">Finalizing …</span>
        </div>
      </div>
    </form>
  `;
}

function nameCell(payroll: Ready, { now }: Visit): Html {
  const link = html`<a href=${runPath(payroll.run_id)}>${nameOf(payroll)}</a>`;
  return withNote(link, html`<small>${`Checked ${age(payroll.computation.computed_at, now)}`}</small>`);
}

function warningsOf({ run_id, computation: { warned } }: Ready): Content {
  const items = warned.map(
    ({ check_id }) => html`<li><a href=${findingPath(run_id, check_id)}>${titleOfCheck(check_id)}</a></li>`,
  );
  return items.length > 0 && html`<ul class="problems">${items}</ul>`;
}

/** Finalizes a run with the amounts that were shown, and returns what happened in words. */
async function finalized({ api }: Act, run_id: string, etag: string): Promise<Content> {
  const call = api.perform(finalizePayrollRun, { params: { run_id }, body: {}, ifMatch: `"${etag}"` });
  const { data, problem } = await attempt(call, 403, 404, 409, 412, 422);
  if (problem === undefined) return `finalized, employees pay ${money(data.totals.member_amount)}.`;
  const why = problem.status === 412 ? 'Its amounts changed after they were shown.' : sentenceOf(problem);
  return html`not finalized. ${why} <a href=${runPath(run_id)}>Review it</a>`;
}
