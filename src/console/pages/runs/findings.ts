/** The readiness findings that finalizing a run accepts, or accepted, each with its employee and event. */
import { titleOfCheck } from '../../../api/routes/readiness.ts';
import type { Schemas } from '../../../client.ts';
import type { Scope } from '../../../security/scopes.ts';
import { attempt } from '../../api-client.ts';
import { runFixes } from '../../elements/checks.ts';
import { later } from '../../elements/facts.ts';
import { count } from '../../elements/format.ts';
import { deductionLink, employeeOf, eventLink, runPath } from '../../elements/links.ts';
import { type Column, table } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import type { Run } from './labels.ts';

type Finding = Schemas['PayrollRunFindings']['findings'][number];

export function findingPages({ part }: Console): void {
  part('/runs/:run_id/findings', 'runs:read', async (visit) => {
    const { data, problem } = await attempt(visit.api.get('/v1/payroll-runs/{run_id}/findings'), 422);
    if (problem !== undefined || data.count === 0) return html`<div></div>`;
    return listOf(data, await visit.api.get('/v1/payroll-runs/{run_id}/outline'), visit);
  });
}

/** Renders the list, which loads separately. */
export function findingsOf(run: Pick<Run, 'id' | 'state'>): Html {
  return later(runPath(run.id, '/findings'), 'Listing the findings …');
}

function listOf({ count: all, findings }: Schemas['PayrollRunFindings'], run: Run, visit: Visit): Html {
  const isOpen = run.state === 'open';
  const rule: Column<Finding> = [
    'To finalize',
    ({ result }) => (result === 'fail' ? 'Must be accepted' : 'Can be accepted'),
  ];
  const title = isOpen ? 'Findings to accept' : 'Accepted findings';
  return html`
    <section aria-labelledby="findings">
      <h2 id="findings">${title}</h2>
      ${table(findings, { caption: 'Findings by check', captionHidden: true, stacked: true }, [
        ['Check', ({ check_id }) => titleOfCheck(check_id), 'name'],
        ['Employee', ({ employee_id }) => employee_id !== null && employeeOf(employee_id, visit)],
        ['Finding', (finding) => described(finding, run, visit), 'wide'],
        ...(isOpen ? [rule] : []),
      ])}
      ${all > findings.length && html`<p class="hint">${`The first ${count(findings.length)} of ${count(all)} are shown.`}</p>`}
    </section>
  `;
}

/** Shows the events or versions of a finding that only names its employee. */
function described({ check_id, example, employee_id, ids }: Finding, run: Run, { may }: Visit): Content {
  const { scope, example: linked } = runFixes(run)[check_id] ?? {};
  if (example !== null && example !== employee_id)
    return linked !== undefined && (scope === undefined || may(scope)) ? linked(example) : example;
  return html`<ul class="examples">${ids.map((id) => html`<li>${linkOf(id, scope, may)}</li>`)}</ul>`;
}

/** Links an event, or the deduction of a version such as `ded-1:2`. */
function linkOf(id: string, scope: Scope | undefined, may: Visit['may']): Content {
  const [, deduction, version] = /^(.+):(\d+)$/s.exec(id) ?? [];
  if (deduction !== undefined && may('ledger:read'))
    return [deductionLink(deduction), `, version ${version}`];
  return scope === 'events:read' && may(scope) ? eventLink(id) : id;
}
