/** The pages of the lines of a run, and their CSV download. */
import { listDeductions } from '../../../api/operations/deductions.ts';
import { listPayrollRunLines } from '../../../api/operations/payroll-run-lines.ts';
import { getPayrollRun, getPayrollRunOutline } from '../../../api/operations/payroll-runs.ts';
import { FLAG_NAMES } from '../../../formats/flags.ts';
import { empty, savedNotice } from '../../elements/facts.ts';
import { choicesOf, problemSummary } from '../../elements/fields.ts';
import { address, runPath } from '../../elements/links.ts';
import { type Filter, filterFields, filtersIn, PAGE_ROWS, pager } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { spanOf } from '../ledger/terms.ts';
import * as labels from './labels.ts';
import { overridePath } from './overrides.ts';
import { HEADS, lineOf, paychecks } from './paycheck-lines.ts';

type Line = labels.Line;

const FILTERS: readonly Filter[] = [
  { name: 'employee_id', label: 'Employee ID' },
  { name: 'change', label: 'Change since the previous run', choices: choicesOf(labels.CHANGES) },
  {
    name: 'flag',
    label: 'Flag',
    choices: FLAG_NAMES.map((value) => ({ value, label: labels.flagLabel(value) })),
  },
];
/** Flags of an employee's last lines, which depend on the end of coverage. */
const LEAVER_FLAGS: Line['flags'] = ['open_after_termination', 'coverage_beyond_last_check'];
/** Lines of one employee: deductions, and adjustments of the year. */
const LINES_OF_EMPLOYEE = 1_000;
const KIND_FILTER: Filter = { name: 'kind', label: 'Kind', choices: choicesOf(labels.LINE_KINDS) };

export function runLinePages({ part, csv }: Console): void {
  part('/runs/:run_id/lines', 'runs:read', async (visit) => {
    const { state: now } = await visit.api.perform(getPayrollRunOutline);
    return linePage(visit, now === 'open');
  });

  csv('/runs/:run_id/lines.csv', listPayrollRunLines, async ({ api, params: { run_id }, query }) => {
    const { state: now } = await api.perform(getPayrollRunOutline);
    // Only the whole file of a final run is what payroll loads.
    const { file_format, ...filter } = query;
    const download = now === 'finalized' && Object.keys(filter).length === 0 ? 'true' : undefined;
    // A file of another state must not pass for the final one.
    const state = now === 'finalized' ? '' : `-${now}`;
    const filename = `${run_id}${file_format === undefined ? '' : '-payroll'}${state}.csv`;
    return { query: { ...query, download }, filename };
  });
}

/** Reports whether the address selects lines; otherwise the page lists employees. */
export function isOfLines(query: Visit['query']): boolean {
  return Object.keys(filtersOf(query)).length > 0;
}

/** Renders the lines that match the address. A filter other than the employee reads the whole run, so they load later. */
export async function linesOfRun(visit: Visit, { id: run_id, state: now }: labels.Run): Promise<Html> {
  const { query } = visit;
  const filter = filtersOf(query);
  const { employee_id, ...slow } = filter;
  const path = runPath(run_id);
  const shown =
    Object.keys(slow).length > 0
      ? html`<div hx-get=${address(`${path}/lines`, query)} hx-trigger="load" hx-swap="outerHTML"><p class="soft" role="status">Searching the run …</p></div>`
      : await linePage(visit, now === 'open');
  return html`
    <section id="lines" aria-labelledby="lines-title">
      <h2 id="lines-title">${employee_id === undefined ? 'Lines' : `Lines of ${employee_id}`}</h2>
      ${savedNotice(query, path, 'Back to the run')}
      <p class="on-screen"><a href=${`${path}#employees`}>All employees</a></p>
      ${tabs(query, path)}
      <form class="fields" method="get" action=${`${path}#lines`} role="search" aria-label="Lines">
        ${query.kind !== undefined && html`<input type="hidden" name="kind" value=${query.kind} />`}
        ${filterFields(query, FILTERS)}
        <button type="submit" class="quiet">Show</button>
      </form>
      ${shown}
      <div class="actions while-stored">
        <a class="button quiet" href=${address(`${path}/lines.csv`, filter)} download>Download these lines (CSV)</a>
        ${now === 'open' && visit.may('runs:write') && html`<a class="button quiet" href=${overridePath(run_id, { employee_id })}>Override an amount …</a>`}
      </div>
    </section>
  `;
}

/** Renders all lines of the employee in the address. */
export async function linesOfEmployee(visit: Visit): Promise<Html> {
  const { api, params, query, may } = visit;
  const { run_id: runId = '' } = params;
  const { employee_id } = query;
  const run = await api.perform(getPayrollRunOutline);
  const list = { employee_id, limit: LINES_OF_EMPLOYEE };
  const { data, problem } = await attempt(api.perform(listPayrollRunLines, { query: list }), 422);
  if (problem !== undefined) return problemSummary(problem);
  if (data.data.length === 0) return html`<p class="soft">No lines in this run.</p>`;
  const isOpen = run.state === 'open';
  const before = await linesBefore(api, data.data, list);
  const options = { runId, run, isOpen, may, before, ends: await endsAfterLeaving(visit, data.data) };
  return html`<div>${HEADS}${data.data.map((line) => lineOf(line, options))}</div>`;
}

/** Returns the lines of the employee in the previous run, if an amount changed since. */
async function linesBefore(
  api: Visit['api'],
  lines: readonly Line[],
  list: { employee_id: string | undefined; limit: number },
): Promise<Line[]> {
  if (lines.every(({ amount_change }) => amount_change !== 'changed')) return [];
  const { comparison } = await api.perform(getPayrollRun);
  if (comparison === null) return [];
  const run_id = comparison.previous_run_id;
  return (await api.perform(listPayrollRunLines, { params: { run_id }, query: list })).data;
}

/** Returns until when deductions cover an employee who left, by id; empty for a user who may not see it. */
async function endsAfterLeaving({ api, query, may }: Visit, lines: readonly Line[]) {
  const { employee_id } = query;
  const isOfLeaver = lines.some(({ flags }) => flags.some((flag) => LEAVER_FLAGS.includes(flag)));
  if (employee_id === undefined || !isOfLeaver || !may('ledger:read')) return new Map();
  const { data } = await api.perform(listDeductions, { query: { employee_id, limit: LINES_OF_EMPLOYEE } });
  return new Map(data.map((deduction) => [deduction.id, spanOf(deduction).until]));
}

/** Renders a page of the lines that match the filters of the address, which has at least one. */
async function linePage(visit: Visit, isOpen: boolean): Promise<Html> {
  const { api, params, query, may } = visit;
  const { run_id: runId = '' } = params;
  const { cursor } = query;
  const list = { limit: PAGE_ROWS, cursor, ...filtersOf(query) };
  // The run cannot be computed any more (422), or was finalized since the list began (409).
  const { data: page, problem } = await attempt(api.perform(listPayrollRunLines, { query: list }), 409, 422);
  if (problem !== undefined) {
    return html`
      ${problemSummary(problem)}
      ${cursor !== undefined && html`<p><a href=${runPath(runId)}>Back to the first page</a></p>`}
    `;
  }
  const { data, next_cursor } = page;
  const isOfEmployee = query.employee_id !== undefined;
  const options = { runId, isOpen, may, isOfEmployee, ends: await endsAfterLeaving(visit, data) };
  return html`
    ${data.length > 0 ? paychecks(data, options) : empty('No matching lines', html`<p><a href=${`${runPath(runId)}#employees`}>Show all employees</a></p>`)}
    ${pager(runPath(runId), query, next_cursor)}
  `;
}

/** Returns the filters of the address whose values the API knows. */
function filtersOf(query: Visit['query']) {
  const isKnown = ({ name, choices }: Filter) =>
    choices === undefined || choices.some(({ value }) => value === query[name]);
  return filtersIn(query, [KIND_FILTER, ...FILTERS].filter(isKnown));
}

function tabs({ kind: current, employee_id }: Visit['query'], path: string): Html {
  const tab = (title: string, kind?: string) =>
    html`<li><a href=${`${address(path, { employee_id, kind })}#lines`} aria-current=${kind === current ? 'true' : undefined}>${title}</a></li>`;
  return html`
    <nav class="tabs" aria-label="Kinds of lines">
      <ul>${tab('All lines')}${Object.entries(labels.LINE_KINDS).map(([kind, title]) => tab(title, kind))}</ul>
    </nav>
  `;
}
