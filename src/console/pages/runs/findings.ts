/** The readiness findings that finalizing a run accepts, or accepted, each with its employee and event. */
import type { ResultOf } from '../../../api/operation.ts';
import { listPayrollRunFindings } from '../../../api/operations/payroll-run-findings.ts';
import { getPayrollRunOutline } from '../../../api/operations/payroll-runs.ts';
import { titleOfCheck } from '../../../api/operations/readiness.ts';
import type { Scope } from '../../../security/scopes.ts';
import { type Fixes, linkedExample, runFixes } from '../../elements/checks.ts';
import { later } from '../../elements/facts.ts';
import { actorName, count, instant, withInstants } from '../../elements/format.ts';
import { deductionLink, employeeOf, eventLink, runEmployeeLink, runPath } from '../../elements/links.ts';
import { table } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import type { Run } from './labels.ts';

type Finding = ResultOf<typeof listPayrollRunFindings>['findings'][number];
type FindingRun = Pick<Run, 'id' | 'employer_id'>;

export function findingPages({ part }: Console): void {
  part('/runs/:run_id/findings', 'runs:read', async (visit) => {
    const { data, problem } = await attempt(visit.api.perform(listPayrollRunFindings), 422);
    if (problem !== undefined || data.count === 0) return html`<div></div>`;
    return listOf(data, await visit.api.perform(getPayrollRunOutline), visit);
  });
}

/** Renders the list of accepted findings, which loads separately. */
export function findingsOf(run: Pick<Run, 'id'>): Html {
  return later(runPath(run.id, '/findings'), 'Listing the findings …');
}

/** Renders the findings of an open run that a person can accept, by check. */
export async function openFindings(visit: Visit, run: FindingRun): Promise<Map<string, Html[]>> {
  const { findings } = await visit.api.perform(listPayrollRunFindings);
  const fixes = runFixes(run, visit.may);
  const textOf = (finding: Finding) => textWith(described(finding, fixes, visit), finding, run.id);
  const byCheck = Map.groupBy(findings, ({ check_id }) => check_id);
  return new Map([...byCheck].map(([id, each]) => [id, each.map(textOf)]));
}

function listOf(
  { count: all, findings }: ResultOf<typeof listPayrollRunFindings>,
  run: Run,
  visit: Visit,
): Html {
  // Nothing of a final run can be overridden.
  const fixes = runFixes(run);
  return html`
    <section aria-labelledby="findings">
      <h2 id="findings">Accepted findings</h2>
      ${table(findings, { caption: 'Findings by check', captionHidden: true, stacked: true }, [
        ['Check', ({ check_id }) => titleOfCheck(check_id), 'name'],
        ['Employee', ({ employee_id }) => employee_id !== null && employeeOf(employee_id, visit)],
        ['Finding', (finding) => described(finding, fixes, visit), 'wide'],
        ['Accepted by', ({ accepted_by }) => actorName(accepted_by)],
        ['Accepted', ({ accepted_at }) => accepted_at !== null && instant(accepted_at), 'date'],
        ['Reason', ({ reason }) => reason, 'wide'],
      ])}
      ${all > findings.length && html`<p class="hint">${`The first ${count(findings.length)} of ${count(all)} are shown.`}</p>`}
    </section>
  `;
}

/** Shows what was found, after its employee unless the text already names the employee. */
function textWith(what: Content, { employee_id, example, ids }: Finding, runId: string): Html {
  if (employee_id === null || (example !== null && example !== employee_id))
    return html`<span>${what}</span>`;
  const employee = runEmployeeLink(runId, employee_id);
  return ids.length === 0 ? employee : html`<span>${employee}: ${what}</span>`;
}

/** Shows the events or versions of a finding that only names its employee. */
function described({ check_id, example, employee_id, ids }: Finding, fixes: Fixes, { may }: Visit): Content {
  const { scope, example: linked } = fixes[check_id] ?? {};
  if (example !== null && example !== employee_id)
    return scope === undefined || may(scope) ? linkedExample(linked, example) : withInstants(example);
  return ids.map((id, place) => [place > 0 && ', ', linkOf(id, scope, may)]);
}

/** Links an event, or the deduction of a version such as `ded-1:2`. */
function linkOf(id: string, scope: Scope | undefined, may: Visit['may']): Content {
  const [, deduction, version] = /^(.+):(\d+)$/s.exec(id) ?? [];
  if (deduction !== undefined && may('ledger:read')) return [deductionLink(deduction), ` version ${version}`];
  return scope === 'events:read' && may(scope) ? eventLink(id) : id;
}
