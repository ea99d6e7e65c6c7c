/** One employee: where employed, what is deducted, what was reported, what payroll still owes. No names, no SSN. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { empty } from '../../elements/empty.ts';
import { deductionLink, idLink, pathOf } from '../../elements/links.ts';
import { address, PAGE_ROWS } from '../../elements/pager.ts';
import { plain } from '../../elements/plain.ts';
import { state } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { instant } from '../../elements/time.ts';
import { type Html, html } from '../../html.ts';
import { found } from '../../own-api.ts';
import { type Page, page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { changePath, KINDS } from '../changes/words.ts';
import { deductionTable } from './deduction-table.ts';
import { employerOf, whatToDo } from './employer.ts';
import { nothingFound } from './find.ts';
import { employments, rosterTable } from './roster.ts';

type Employee = Schemas['Employee'];

/** Changes shown; the newest are what somebody looks for, and their own list has all. */
const CHANGES_SHOWN = 10;

export function employeePages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/employees/:employee_id', scope: 'ledger:read' }, showEmployee);
}

async function showEmployee(visit: Visit): Promise<Page> {
  const { api, params, query, now, may } = visit;
  const { employee_id: id = '' } = params;
  const path = pathOf('/employees', id);
  const employee =
    path === null
      ? null
      : found(await api.GET('/v1/employees/{employee_id}', { params: { path: { employee_id: id } } }));
  if (path === null || employee === null) return nothingFound('employee', id, visit);
  const today = now.toISOString().slice(0, 10);
  const { roster } = employee;
  return {
    title: `Employee ${id}`,
    place: 'ledger',
    body: html`
      <div>
        ${whose(employee)}
        ${roster.length > 0 && employments(employee.employments, today)}
        ${deductionsOf(employee, today)}
        ${arrearsOf(employee)}
        ${changesOf(employee)}
        ${roster.length > 0 && rosterTable(roster, { path, all: query.roster === 'all', mayChanges: may('changes:read') })}
        ${leftOut(employee)}
      </div>
    `,
  };
}

/** Said only where it needs somebody: the table of employments says the rest. */
function whose({ employer_id, roster }: Employee): Html | null {
  if (employer_id !== null) return null;
  const matching = { employer_id, matched: roster.length > 0 };
  return html`<p class="notice">${employerOf(matching)}${' '}${whatToDo(matching)}</p>`;
}

function deductionsOf({ employee_id, deductions }: Employee, today: string): Html {
  const { data, next_cursor } = deductions;
  if (data.length === 0) return empty('No deductions of this employee');
  const isMore = next_cursor !== null || data.length > PAGE_ROWS;
  return html`
    <section>
      ${deductionTable(data.slice(0, PAGE_ROWS), { caption: 'Deductions', day: today, of: 'employee' })}
      ${isMore && html`<p><a href=${address('/ledger', { employee_id })}>All deductions of this employee</a></p>`}
    </section>
  `;
}

/** Who may see arrears may see runs. */
function arrearsOf({ arrears }: Employee): Html | null {
  if (arrears === undefined) return null;
  if (arrears.length === 0)
    return html`<p class="soft">No arrears: what was finalized is what payroll took, as far as it said.</p>`;
  return table({
    caption: 'Arrears: what payroll took too little of, and no later run has collected',
    stacked: true,
    columns: [
      {
        title: 'Deduction',
        kind: 'name',
        cell: ({ deduction_id }: (typeof arrears)[number]) => deductionLink(deduction_id),
      },
      { title: 'Line of coverage', cell: ({ line_of_coverage }) => plain(line_of_coverage) },
      { title: 'Employer', cell: ({ employer_id }) => employer_id },
      { title: 'Run', cell: ({ run_id }) => idLink(pathOf('/runs', run_id), run_id) },
      { title: 'Amount', kind: 'number', cell: ({ amount }) => amount },
      { title: 'How it comes about', cell: ({ explanation }) => explanation },
    ],
    rows: arrears,
  });
}

function changesOf({ employee_id, changes }: Employee): Html | null {
  if (changes === undefined) return null;
  if (changes.data.length === 0) return html`<p class="soft">No employment changes were reported.</p>`;
  const shown = changes.data.slice(0, CHANGES_SHOWN);
  return html`
    <section>
      ${table({
        caption: 'Employment changes, the newest first',
        stacked: true,
        columns: [
          {
            title: 'Change',
            kind: 'name',
            cell: ({ kind, change_id }: (typeof shown)[number]) =>
              html`<a href=${changePath(change_id)}>${KINDS[kind]}</a>`,
          },
          { title: 'State', cell: ({ state: now }) => state(now) },
          { title: 'Reason', cell: ({ reason }) => reason },
          { title: 'Accepted', kind: 'date', cell: ({ created_at }) => instant(created_at) },
        ],
        rows: shown,
      })}
      ${shown.length < changes.data.length && html`<p><a href=${address('/changes', { employee_id })}>All changes of this employee</a></p>`}
    </section>
  `;
}

/** A part that is missing must not look like one that is empty. */
function leftOut({ left_out }: Employee): Html | null {
  if (left_out.length === 0) return null;
  const parts = left_out.map(({ part, scope }) => `${part} (${scope})`).join(' and ');
  return html`<p class="soft">${`Not shown, because your token lacks the scope: ${parts}.`}</p>`;
}
