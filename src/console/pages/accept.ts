/** Accepts the findings of a check in several payrolls with one reason. */
import { acceptFindings } from '../../api/operations/payroll-run-acceptances.ts';
import { getPayrollRunReadiness } from '../../api/operations/payroll-runs.ts';
import { textsOfCheck, titleOfCheck } from '../../api/operations/readiness.ts';
import { empty, later } from '../elements/facts.ts';
import { field, hiddenFields, reasonSpec, SELECT_ALL } from '../elements/fields.ts';
import { findingIn } from '../elements/finding.ts';
import { count, counted } from '../elements/format.ts';
import { address, runPath } from '../elements/links.ts';
import { table } from '../elements/list.ts';
import type { RunReadiness } from '../elements/run-readiness.ts';
import { type Html, html } from '../html.ts';
import type { Act, Console, Visit } from '../page.ts';
import { type Attempt, attempt } from '../performing.ts';
import { fails, type Payroll, payrollsOf } from './payrolls.ts';
import { nameOf } from './runs/labels.ts';
import { eachSelected, payrollBox, sentenceOf } from './several.ts';

const PATH = '/payrolls/accept';
const FINDINGS_SHOWN = 5;

type Started = Payroll & { run_id: string };

export function acceptPages({ page, part, action }: Console): void {
  const scope = 'runs:approve';

  page(PATH, scope, async ({ query: { check = '' } }) => ({
    title: `Accept: ${titleOfCheck(check)}`,
    body: later(address(`${PATH}/findings`, { check }), 'Reading the findings …'),
  }));

  part(`${PATH}/findings`, scope, (visit) => listOf(visit, visit.query.check ?? ''));

  action(PATH, scope, (act) => {
    const links = html`<a class="button" href="/">Back to Home</a> <a href=${address(PATH, { check: act.form.check })}>Show what is left</a>`;
    return eachSelected(act, (runId, etag) => accepted(act, runId, etag), links);
  });
}

/** Links to the page, for a check that a person may accept. */
export function acceptLink(check: string | undefined, { may }: Visit): Html | null {
  if (check === undefined || !may('runs:approve') || textsOfCheck(check).isBlocking) return null;
  return html`<p><a class="button quiet" href=${address(PATH, { check })}>Accept these findings …</a></p>`;
}

/** Accepts the findings of a run as they were shown, and returns what happened in words. */
async function accepted({ api, form }: Act, run_id: string, etag: string): Promise<string> {
  const { check = '', reason = '' } = form;
  const params = { run_id };
  const body = { accept: [check], reason };
  const call = api.perform(acceptFindings, { params, body, ifMatch: `"${etag}"` });
  const { data, problem } = await attempt(call, 403, 404, 409, 412, 422);
  if (problem === undefined) return `accepted, ${counted(data.findings, 'finding')}.`;
  if (problem.status === 412) {
    // Accepting for another payroll of the employer may have covered these findings.
    const { data: now } = await attempt(api.perform(getPayrollRunReadiness, { params }));
    if (checkIn(now, check)?.result === 'accepted') return 'accepted already.';
    return 'not accepted. The run changed after its findings were shown.';
  }
  return `not accepted. ${sentenceOf(problem)}`;
}

function checkIn(readiness: RunReadiness | undefined, id: string) {
  return readiness?.checks.find((check) => check.id === id);
}

type Row = { payroll: Started; read: Attempt<RunReadiness> };

async function listOf(visit: Visit, check: string): Promise<Html> {
  const isStarted = (payroll: Payroll): payroll is Started => payroll.run_id !== null;
  const payrolls = (await payrollsOf(visit)).filter((payroll) => fails(payroll, check)).filter(isStarted);
  const read = await Promise.all(
    payrolls.map(async (payroll): Promise<Row> => {
      const call = visit.api.perform(getPayrollRunReadiness, { params: { run_id: payroll.run_id } });
      return { payroll, read: await attempt(call, 404, 409, 422) };
    }),
  );
  const rows = read.filter(
    ({ read: { data, problem } }) => problem !== undefined || checkIn(data, check)?.result === 'fail',
  );
  if (rows.length === 0)
    return empty('No payroll fails this check now', html`<p><a href="/">Back to Home</a></p>`);
  const reason = reasonSpec('Kept with each finding. A finding stays accepted until its data changes.');
  return html`
    <form id="accepting" hx-post=${PATH} hx-target="this" hx-swap="outerHTML" hx-config="timeout:600s">
      ${hiddenFields({ check })}
      ${SELECT_ALL}
      ${table(rows, { caption: 'Payrolls that fail this check', captionHidden: true }, [
        [html`<span class="hidden-label">Selected</span>`, boxOf],
        ['Payroll', ({ payroll }) => nameOf(payroll), 'name'],
        ['Findings', (row) => findingsOf(row, check, visit), 'wide'],
      ])}
      <div class="card">
        ${field({ ...reason, name: 'reason', value: '', rows: 3 })}
        <div class="actions">
          <button type="submit">Accept for the selected payrolls</button>
          <a class="button quiet" href="/">Back to Home</a>
          <span class="busy soft" role="status">Accepting …</span>
        </div>
      </div>
    </form>
  `;
}

/** Renders the box of a payroll. The second approval of a run accepts its findings. */
function boxOf({ payroll, read }: Row): Html | null {
  if (read.problem !== undefined || read.data.approval !== null) return null;
  return payrollBox(payroll, read.data.etag);
}

function findingsOf({ payroll, read }: Row, id: string, visit: Visit): Html {
  if (read.problem !== undefined) return html`<p>${sentenceOf(read.problem)}</p>`;
  const { run_id, employer_id } = payroll;
  const { findings = [], count: number = 0, unapplied } = checkIn(read.data, id) ?? {};
  const shown = findings.slice(0, FINDINGS_SHOWN);
  const more = number - shown.length;
  const items = shown.map(
    (finding) => html`<li>${findingIn(finding, visit, { id: run_id, employer_id }, unapplied)}</li>`,
  );
  return html`
    <ul class="examples">${items}${more > 0 && html`<li class="soft">${`and ${count(more)} more`}</li>`}</ul>
    ${read.data.approval !== null && html`<p><a href=${runPath(run_id, '/approve')}>Accept these findings with the second approval</a></p>`}
  `;
}
