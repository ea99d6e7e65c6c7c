/** One deduction: what payroll deducts now, its state at another time, its versions, and its employer. */
import type { ResultOf } from '../../../api/operation.ts';
import { assignDeduction, getEmployerOfDeduction } from '../../../api/operations/deduction-assignments.ts';
import {
  getDeduction,
  getTimelineOfDeduction,
  listVersionsOfDeduction,
} from '../../../api/operations/deductions.ts';
import { getEmployee } from '../../../api/operations/employees.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { facts, savedNotice, state } from '../../elements/facts.ts';
import { filledForm, hiddenFields, idsIn, reasonSpec } from '../../elements/fields.ts';
import { actorName, capitalized, dayText, instant, lacksScope, plain } from '../../elements/format.ts';
import { historyOf } from '../../elements/history.ts';
import {
  address,
  employeeLink,
  employerLink,
  eventOf,
  nameIn,
  pathOf,
  type Query,
} from '../../elements/links.ts';
import { filterFields, filtersIn, PAGE_ROWS, pager } from '../../elements/list.ts';
import { lastPaychecks, paychecksOfDeduction } from '../../elements/paychecks.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Act, Console, Visit } from '../../page.ts';
import { type Api, attempt, dataOrNull } from '../../performing.ts';
import { employerChoices } from '../employers.ts';
import { knownAtOf, notFound, TIME_FILTERS } from './list.ts';
import {
  changeList,
  changesBetween,
  type Deduction,
  employerAdvice,
  employerOf,
  placeholderWords,
  sentence,
  stateOfDeduction,
  stateOn,
} from './terms.ts';
import { previousVersion, type Then, type Timeline, versionTable } from './versions.ts';

export function deductionPages({ page, action }: Console): void {
  action('/deductions/:deduction_id/employer', 'runs:write', async (act) => {
    const { api, params, form } = act;
    const { employer_id, effective_on, reason } = form;
    const body = { employer_id, effective_on, reason };
    const path = `/deductions/${encodeURIComponent(params.deduction_id ?? '')}`;
    const also = form.others === undefined ? [] : idsIn(form, ALSO);
    // After a refusal, the deductions before it stay assigned: assigning them again changes nothing.
    for (const deduction_id of [params.deduction_id ?? '', ...also]) {
      const call = api.perform(assignDeduction, { params: { deduction_id }, body });
      const { problem } = await attempt(call, 400, 404, 409, 422);
      if (problem !== undefined) return assignmentForm(act, path, await api.perform(getDeduction), problem);
    }
    return { go: address(path, { saved: 'true' }) };
  });

  page('/deductions/:deduction_id', 'ledger:read', async (visit) => {
    const { api, params, query, today, may } = visit;
    const { deduction_id: id = '' } = params;
    const path = pathOf('/deductions', id);
    const deduction = path === null ? null : await dataOrNull(api.perform(getDeduction));
    if (path === null || deduction === null) return notFound('deduction', id, may);
    const asked = filtersIn(query, TIME_FILTERS);
    const isAsked = Object.keys(asked).length > 0;
    const past = isAsked ? await dataOrNull(api.perform(getDeduction, { query: asked })) : null;
    const then: Then | null = isAsked
      ? { on: asked.on ?? null, knownAt: knownAtOf(asked), version: past?.version ?? null }
      : null;
    const { versions, next } = await versionsOf(api, query.cursor);
    const { versions: inEffect } = await api.perform(getTimelineOfDeduction);
    const paychecks = await lastPaychecks(visit, deduction.employee_id);
    const { assignments } = await api.perform(getEmployerOfDeduction);
    const body = html`
      ${savedNotice(query, '/', 'All payrolls')}
      ${query.assign !== undefined && (await assignmentForm(visit, path, deduction))}
      ${deductedNow(deduction, inEffect, visit)}
      ${paychecks !== null && html`<section><h2>Last paychecks</h2>${paychecksOfDeduction(paychecks, id)}</section>`}
      <div class="cards beside">
        ${summary(deduction, today, assignmentList(assignments, path, may))}
        ${timeForm(path, asked, past, then)}
      </div>
      ${versionTable(versions, { latest: deduction.version, inEffect, then, may })}
      ${pager(path, { ...asked, cursor: query.cursor }, next)}
      ${await historyOf(visit, { resource_type: 'deduction', resource_id: id })}
    `;
    const title = html`${capitalized(plain(deduction.line_of_coverage))} of ${nameIn('employee', deduction.employee_id)}`;
    return { title, body };
  });
}

/** Reads a page of versions, newest first, each with its previous version, which may be on the next page. */
async function versionsOf(api: Api, cursor: string | undefined) {
  const read = (after: string | undefined) => {
    const query = { order: 'newest_first', limit: PAGE_ROWS, cursor: after };
    return api.perform(listVersionsOfDeduction, { query });
  };
  const { data, next_cursor } = await read(cursor);
  const older = next_cursor === null ? null : await read(next_cursor);
  const all = [...data, ...(older?.data ?? [])];
  const isAll = (older?.next_cursor ?? null) === null;
  const versions = data.map((version, index) => {
    return { ...version, previous: previousVersion(version, all.slice(index + 1), isAll) };
  });
  return { versions, next: next_cursor };
}

function summary(deduction: Deduction, today: string, assignments: Content): Html {
  const { version, position, event_time, recorded_at, description } = deduction;
  return html`
    <section class="card">
      <h2>Latest state</h2>
      <p>${sentence(deduction)}${' '}${state(...stateOfDeduction(deduction, today))}</p>
      ${facts([
        ['Employee', employeeLink(deduction.employee_id)],
        ['Employer', employerOf(deduction)],
        ['Placeholder', placeholderWords(deduction)],
        ['Assignments', assignments],
        ['Description', description],
        ['Deduction ID', html`<code>${deduction.id}</code>`],
        ['Latest version', `${version}, at ledger position ${position}`],
        ['Event time', instant(event_time)],
        ['Recorded', instant(recorded_at)],
      ])}
    </section>
  `;
}

function timeForm(path: string, asked: Query, past: Deduction | null, then: Then | null): Html {
  return html`
    <section class="card">
      <h2>At another time</h2>
      <form method="get" action=${path} class="filters">
        ${filterFields(asked, TIME_FILTERS)}
        <div class="actions">
          <button type="submit" class="quiet">Show</button>
          ${then !== null && html`<a class="button quiet" href=${path}>Back to today</a>`}
        </div>
      </form>
      ${then !== null && html`<p class="notice" role="note">${stateThen(past, then)}</p>`}
    </section>
  `;
}

function stateThen(past: Deduction | null, { on, knownAt }: Then): Content {
  const known = knownAt !== null && html`<span>${', as known at '}${instant(knownAt)}</span>`;
  const when = html`<strong>${on === null ? 'Latest state' : `On ${dayText(on)}`}${known}${': '}</strong>`;
  if (past === null) return [when, on === null ? 'not known yet.' : 'not in effect.'];
  return [when, `${sentence(past)} (version ${past.version}).`];
}

/** Renders what payroll deducts now, and why. `timeline`: the versions that are in effect on some day, in the order of their days. */
function deductedNow(deduction: Deduction, timeline: Timeline, visit: Pick<Visit, 'today' | 'may'>): Html {
  if (deduction.employer_id === null) {
    const advice = html`<p>${employerAdvice(deduction)}</p>`;
    return card('Payroll deducts nothing: its runs skip this deduction.', advice);
  }
  const { today } = visit;
  const place = timeline.findIndex(({ in_effect }) => stateOn(in_effect, today)[0] === 'in effect');
  const [current, previous] = [timeline[place], timeline[place - 1]];
  const next = timeline.find(({ in_effect: { from } }) => from !== null && from > today);
  if (current === undefined) return card(nothingNow(next, timeline.at(-1)));
  const change =
    next !== undefined &&
    html`<p>${`Then: ${sentence(next, next.in_effect)}, because of event `}${eventOf(next.event_id, visit)}.</p>`;
  return card(`Payroll deducts ${sentence(current, current.in_effect)}.`, [
    reasonOf(current, previous, eventOf(current.event_id, visit)),
    change,
  ]);
}

function card(lead: string, rest: Content = null): Html {
  return html`
    <section class="card" aria-label="What payroll deducts now">
      <p class="lead">${lead}</p>
      ${rest}
    </section>
  `;
}

/** Names the event of the version in effect, and what it changed since the version before. */
function reasonOf(current: Timeline[number], previous: Timeline[number] | undefined, event: Html): Html {
  if (previous === undefined)
    return html`<p>${'Because of event '}${event}${current.version === 1 && ', the first of this deduction'}.</p>`;
  return html`<div><p>${'Because of event '}${event}, which changed:</p>${changeList(changesBetween(previous, current))}</div>`;
}

/** `last`: the version that was in effect last. */
function nothingNow(next: Timeline[number] | undefined, last: Timeline[number] | undefined): string {
  if (next !== undefined) return `Payroll deducts nothing now. Later: ${sentence(next, next.in_effect)}.`;
  return last?.in_effect.until == null
    ? 'Payroll deducts nothing: the deduction is in effect on no date.'
    : `Payroll deducts nothing: the deduction ended on ${dayText(last.in_effect.until)}.`;
}

type Assignment = ResultOf<typeof getEmployerOfDeduction>['assignments'][number];

/** Renders the form with the employers of the employee, and with what was typed if an action refuses it. */
async function assignmentForm(
  visit: Visit & Partial<Pick<Act, 'form'>>,
  path: string,
  { id, employee_id }: Deduction,
  problem?: ProblemDetails,
): Promise<Html> {
  if (!visit.may('runs:write'))
    return html`<p class="hint">${lacksScope('To assign the deduction to an employer', 'runs:write')}</p>`;
  const employee = await dataOrNull(visit.api.perform(getEmployee, { params: { employee_id } }));
  const employers = employee?.employments.map(({ employer_id }) => employer_id) ?? [];
  const unassigned = employee?.deductions.data.filter(({ employer_id }) => employer_id === null) ?? [];
  const others = unassigned.filter((deduction) => deduction.id !== id);
  const specs = {
    employer_id: { label: 'Employer', choices: await employerChoices(visit, employers) },
    effective_on: {
      label: 'From the pay period of',
      type: 'date',
      hint: 'Without a date, from the pay period that contains today.',
    },
    reason: reasonSpec('Stored with the assignment.'),
  } as const;
  const { summary, fieldOf } = filledForm(specs, visit.form ?? {}, problem);
  return html`
    <form id="assignment" class="card" aria-labelledby="assign" novalidate hx-post=${`${path}/employer`} hx-target="this" hx-swap="outerHTML">
      <h2 id="assign">Assign to an employer</h2>
      ${summary}
      <p>The runs of this employer take the deduction, and the runs of another employer do not.</p>
      ${Object.keys(specs).map(fieldOf)}
      ${others.length > 0 && alsoAssign(others, visit.form ?? {})}
      <div class="actions">
        <button type="submit">Assign the deduction</button>
        <a class="button quiet" href=${path}>Cancel</a>
      </div>
    </form>
  `;
}

/** Prefix of the hidden field for another deduction of the form, followed by its ID. */
const ALSO = 'also:';

/** Offers to assign the employee's other deductions without an employer: an employee who moves takes every deduction along. */
function alsoAssign(others: readonly Deduction[], typed: Query): Html {
  return html`
    <div class="field">
      ${hiddenFields(Object.fromEntries(others.map(({ id }) => [ALSO + id, 'yes'])))}
      <label><input type="checkbox" name="others" value="yes" checked=${typed.others !== undefined} /> Also assign the other deductions of this employee that no employer takes</label>
      <ul>${others.map((deduction) => html`<li>${sentence(deduction)}</li>`)}</ul>
    </div>
  `;
}

/** Lists assignments, the newest first. Null without one. */
function assignmentList(assignments: readonly Assignment[], path: string, may: Visit['may']): Content {
  if (assignments.length === 0) return null;
  const items = assignments.map(({ employer_id, effective_on, assigned_by, reason }) => {
    const made = ` from the pay period of ${dayText(effective_on)}. Assigned by ${actorName(assigned_by)}: ${reason}`;
    return html`<li>${employerLink(employer_id)}${made}</li>`;
  });
  const again = may('runs:write') && html`<a href=${address(path, { assign: 'true' })}>Assign it again</a>`;
  return html`<ul>${items}</ul>${again}`;
}
