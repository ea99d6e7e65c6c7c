/** The readiness findings that finalizing a run accepts, or accepted, each with its employee and event. */
import type { ResultOf } from '../../../api/operation.ts';
import { listPayrollRunFindings } from '../../../api/operations/payroll-run-findings.ts';
import { titleOfCheck } from '../../../api/operations/readiness.ts';
import { later } from '../../elements/facts.ts';
import { actionOn, findingIn, type Sight } from '../../elements/finding.ts';
import { actorName, count, instant } from '../../elements/format.ts';
import { deductionLink, employeeOf, runPath } from '../../elements/links.ts';
import { table } from '../../elements/list.ts';
import type { RunReadiness } from '../../elements/run-readiness.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import type { Run } from './labels.ts';
import { outlineOf } from './state.ts';

type Finding = ResultOf<typeof listPayrollRunFindings>['findings'][number];
type FindingRun = Pick<Run, 'id' | 'employer_id'>;

export function findingPages({ part }: Console): void {
  part('/runs/:run_id/findings', 'runs:read', async (visit) => {
    const { data, problem } = await attempt(visit.api.perform(listPayrollRunFindings), 422);
    if (problem !== undefined || data.count === 0) return html`<div></div>`;
    return listOf(data, await outlineOf(visit), visit);
  });
}

export function findingsOf(run: Pick<Run, 'id'>): Html {
  return later(runPath(run.id, '/findings'), 'Listing the findings …');
}

/** Renders the findings of an open run that a person can accept, by check. */
export async function openFindings(
  visit: Visit,
  run: FindingRun,
  { checks }: RunReadiness,
): Promise<Map<string, Html[]>> {
  const unapplied = checks.flatMap((check) => check.unapplied ?? []);
  const { findings } = await visit.api.perform(listPayrollRunFindings);
  const acceptable = findings.filter((finding) => finding.acceptable);
  const byCheck = Map.groupBy(acceptable, ({ check }) => check);
  const shown = (finding: Finding) =>
    html`${textOf(finding, visit, run, unapplied)} ${actionOn(finding, visit, run)}`;
  return new Map([...byCheck].map(([id, ofCheck]) => [id, ofCheck.map(shown)]));
}

function listOf(
  { count: all, findings }: ResultOf<typeof listPayrollRunFindings>,
  run: Run,
  visit: Visit,
): Html {
  return html`
    <section aria-labelledby="findings">
      <h2 id="findings">Accepted findings</h2>
      ${table(findings, { caption: 'Findings by check', captionHidden: true }, [
        ['Check', ({ check }) => titleOfCheck(check), 'name'],
        ['Employee', ({ employee_id }) => employee_id !== undefined && employeeOf(employee_id, visit)],
        ['Finding', (finding) => textOf(finding, visit, run), 'wide'],
        ['Accepted by', ({ accepted_by }) => actorName(accepted_by ?? null)],
        ['Accepted', ({ accepted_at }) => accepted_at !== undefined && instant(accepted_at), 'date'],
        ['Reason', ({ reason }) => reason, 'wide'],
      ])}
      ${all > findings.length && html`<p class="hint">${`The first ${count(findings.length)} of ${count(all)} are shown.`}</p>`}
    </section>
  `;
}

/** Renders a finding. If it names only its employee, adds what it is based on. */
function textOf(
  finding: Finding,
  sight: Sight,
  run: FindingRun,
  unapplied?: Parameters<typeof findingIn>[3],
): Html {
  const { text, employee_id, ids } = finding;
  if (ids.length === 0 || (text !== undefined && text !== employee_id))
    return findingIn(finding, sight, run, unapplied);
  const basis = basisOf(finding, sight);
  return text === undefined
    ? html`<span>${basis}</span>`
    : html`<span>${findingIn(finding, sight, run)}: ${basis}</span>`;
}

/** Links the deduction that a finding is about; without a single one, lists its deductions, events, versions or dates. */
function basisOf({ deduction_id, version, ids }: Finding, { may }: Sight): Content {
  if (deduction_id === undefined || version === undefined || !may('ledger:read')) return ids.join(', ');
  return [deductionLink(deduction_id), ` version ${version}`];
}
