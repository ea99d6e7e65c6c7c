/** The employers to which a deduction was assigned, and the form that assigns it to one of them. */
import type { ResultOf } from '../../../api/operation.ts';
import {
  assignDeduction,
  type getEmployerOfDeduction,
} from '../../../api/operations/deduction-assignments.ts';
import { getEmployee } from '../../../api/operations/employees.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { filledForm, hiddenFields, type Specs } from '../../elements/fields.ts';
import { actorName, dayText } from '../../elements/format.ts';
import { address, employerLink, type Query } from '../../elements/links.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { type Api, attempt, dataOrNull } from '../../performing.ts';

type Assignment = ResultOf<typeof getEmployerOfDeduction>['assignments'][number];

function specsOf(employers: readonly string[]): Specs {
  return {
    employer_id: { label: 'Employer', choices: employers.map((id) => ({ value: id, label: id })) },
    effective_on: {
      label: 'From the pay period of',
      type: 'date',
      hint: 'Without a date, from the pay period that contains today.',
    },
    reason: { label: 'Reason', required: true, hint: 'Stored with the assignment. At most 500 characters.' },
  };
}

export function assignmentActions({ action }: Console): void {
  action('/deductions/:deduction_id/employer', 'runs:write', async ({ api, params, form }) => {
    const path = `/deductions/${encodeURIComponent(params.deduction_id ?? '')}`;
    const { employer_id, effective_on = '', reason = '', employee_id = '' } = form;
    const body = { employer_id, reason, ...(effective_on !== '' && { effective_on }) };
    const call = api.perform(assignDeduction, { body });
    const { problem } = await attempt(call, 400, 404, 409, 422);
    if (problem === undefined) return { go: address(path, { saved: 'true' }) };
    return assignmentForm(path, await employersOf(api, employee_id), form, problem);
  });
}

/** Returns the form on the page of a deduction. */
export async function assignmentPart(
  api: Api,
  path: string,
  employee_id: string,
  may: Visit['may'],
): Promise<Html> {
  if (!may('runs:write'))
    return html`<p class="hint">To assign the deduction to an employer, your token needs the scope runs:write.</p>`;
  return assignmentForm(path, await employersOf(api, employee_id), { employee_id });
}

/** Returns the employers that an employee has or had. */
async function employersOf(api: Api, employee_id: string): Promise<string[]> {
  const employee = await dataOrNull(api.perform(getEmployee, { params: { employee_id } }));
  return (employee?.employments ?? []).map(({ employer_id }) => employer_id);
}

function assignmentForm(
  path: string,
  employers: readonly string[],
  typed: Query,
  problem?: ProblemDetails,
): Html {
  const { summary, fieldOf } = filledForm(specsOf(employers), typed, problem);
  return html`
    <form id="assignment" class="card" aria-labelledby="assign" novalidate hx-post=${`${path}/employer`} hx-target="this" hx-swap="outerHTML">
      <h2 id="assign">Assign to an employer</h2>
      ${summary}
      <p>The runs of this employer take the deduction, and the runs of another employer do not.</p>
      ${hiddenFields({ employee_id: typed.employee_id })}
      ${fieldOf('employer_id')}
      ${fieldOf('effective_on')}
      ${fieldOf('reason')}
      <div class="actions">
        <button type="submit">Assign the deduction</button>
        <a class="button quiet" href=${path}>Cancel</a>
      </div>
    </form>
  `;
}

/** Lists assignments, the newest first. Null without one. */
export function assignmentList(assignments: readonly Assignment[], path: string, may: Visit['may']): Content {
  if (assignments.length === 0) return null;
  const items = assignments.map(({ employer_id, effective_on, assigned_by, reason }) => {
    const made = ` from the pay period of ${dayText(effective_on)}. Assigned by ${actorName(assigned_by)}: ${reason}`;
    return html`<li>${employerLink(employer_id)}${made}</li>`;
  });
  const again = may('runs:write') && html`<a href=${address(path, { assign: 'true' })}>Assign it again</a>`;
  return html`<ul>${items}</ul>${again}`;
}
