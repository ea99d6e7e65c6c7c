/** One deduction: its latest state, its state at another time, and all its versions. */
import { getEmployerOfDeduction } from '../../../api/operations/deduction-assignments.ts';
import {
  getDeduction,
  getTimelineOfDeduction,
  listVersionsOfDeduction,
} from '../../../api/operations/deductions.ts';
import { facts, savedNotice, state } from '../../elements/facts.ts';
import { dayText, instant } from '../../elements/format.ts';
import { historyOf } from '../../elements/history.ts';
import { employeeLink, pathOf, type Query } from '../../elements/links.ts';
import { filterFields, filtersIn, PAGE_ROWS, pager } from '../../elements/list.ts';
import { lastPaychecks, paychecksOfDeduction } from '../../elements/paychecks.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console } from '../../page.ts';
import { type Api, dataOrNull } from '../../performing.ts';
import { assignmentActions, assignmentList, assignmentPart } from './assignment.ts';
import { askedOf, knownAtOf, notFound, TIME_FILTERS } from './list.ts';
import { deductedNow } from './now.ts';
import {
  type Deduction,
  employerAdvice,
  employerOf,
  placeholderWords,
  sentence,
  stateOfDeduction,
} from './terms.ts';
import { previousVersion, type Then, versionTable } from './versions.ts';

export function deductionPages(console: Console): void {
  const { page } = console;
  assignmentActions(console);
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
      ${query.assign !== undefined && (await assignmentPart(api, path, deduction.employee_id, may))}
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
    return { title: `Deduction ${id}`, body };
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
        ['Employer', html`<span>${employerOf(deduction)}${' '}${employerAdvice(deduction)}</span>`],
        ['Placeholder', placeholderWords(deduction)],
        ['Assignments', assignments],
        ['Description', description],
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
        ${filterFields(askedOf(asked), TIME_FILTERS)}
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
