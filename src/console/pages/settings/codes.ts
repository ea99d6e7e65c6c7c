/** The payroll codes of an employer, shown and edited as a table. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { CODES_MAX } from '../../../api/routes/payroll-settings.ts';
import type { Schemas } from '../../../client.ts';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../../contract/deduction.ts';
import { need } from '../../api-client.ts';
import { ANY, problemSummary } from '../../elements/fields.ts';
import { plain } from '../../elements/format.ts';
import { address } from '../../elements/links.ts';
import {
  byPlace,
  changedMeanwhile,
  changedRows,
  commandOf,
  type Focus,
  hashOf,
  loadedField,
  loadedHash,
  placeOfRow,
  type Row,
  type RowColumn,
  type RowList,
  rowsOf,
  rowTable,
  saveOnReturn,
} from '../../elements/row-editor.ts';
import { table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { action, type ConsoleParts, page, type Visit } from '../../page.ts';

type Code = Schemas['PayrollCodes']['codes'][number];

const choices = (values: readonly string[]) => values.map((value) => ({ value, label: plain(value) }));

const COLUMNS = [
  {
    name: 'line_of_coverage',
    title: 'Line of coverage',
    kind: 'select',
    choices: choices(LINES_OF_COVERAGE),
  },
  { name: 'taxability', title: 'Taxability', kind: 'select', choices: [ANY, ...choices(TAXABILITIES)] },
  { name: 'side', title: 'Paid by', kind: 'select', choices: choices(['employee', 'employer']) },
  { name: 'code', title: 'Code', kind: 'text' },
  {
    name: 'treatment',
    title: 'Employer treatment',
    kind: 'select',
    choices: [{ value: '', label: 'not set' }, ...choices(['deposit', 'memo'])],
  },
] as const satisfies readonly (RowColumn & { name: keyof Code })[];
const CODES: RowList = { rows: 'payroll codes', columns: COLUMNS, max: CODES_MAX };

/** `captionHidden`: a heading above already names the table. */
export function codeTable(codes: readonly Code[], caption: string, captionHidden: boolean): Html {
  return table<Code>({
    caption,
    captionHidden,
    columns: COLUMNS.map((column: RowColumn & { name: keyof Code }) => ({
      title: column.title,
      cell: (code) => {
        const value = code[column.name] ?? '';
        return column.choices?.find((choice) => choice.value === value)?.label ?? value;
      },
    })),
    rows: codes,
  });
}

export async function codesOf(api: Visit['api'], employer_id: string): Promise<Code[]> {
  const path = { employer_id };
  return need(await api.GET('/v1/employers/{employer_id}/payroll-codes', { params: { path } })).codes;
}

export function codePages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';
  const url = '/settings/payroll-codes';

  page(app, parts, { url, scope }, async ({ api, query }) => {
    const employer_id = query.employer_id ?? '';
    const codes = await codesOf(api, employer_id);
    const rows = codes.map(rowOf);
    return {
      title: `Payroll codes of ${employer_id}`,
      place: 'runs',
      body: codeForm({ employer_id, rows: rows.length === 0 ? [{}] : rows, loaded: hashOf(codes) }),
    };
  });

  action(app, parts, { url, scope }, async ({ api, form }) => {
    const employer_id = form.employer_id ?? '';
    const loaded = loadedHash(form);
    if (commandOf(form).do !== 'save') return codeForm({ employer_id, loaded, ...changedRows(form, CODES) });
    const rows = rowsOf(form, CODES);
    const current = await codesOf(api, employer_id);
    if (hashOf(current) !== loaded) return codeForm({ employer_id, rows, loaded: hashOf(current), current });
    const response = await api.PUT('/v1/employers/{employer_id}/payroll-codes', {
      params: { path: { employer_id } },
      body: { codes: rows as unknown as Code[] },
    });
    if (response.response.status === 422) {
      return codeForm({ employer_id, rows, loaded, problem: response.error });
    }
    need(response);
    return { go: address('/settings', { employer_id, saved: 'codes' }) };
  });
}

function rowOf(code: Code): Row {
  return Object.fromEntries(
    Object.entries(code).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, value]],
    ),
  );
}

/** `current`: the codes by now, where they are not those that the form was loaded from. */
function codeForm({
  employer_id,
  rows,
  loaded,
  focus,
  problem,
  current,
}: {
  employer_id: string;
  rows: readonly Row[];
  loaded: string;
  focus?: Focus;
  problem?: ProblemDetails | undefined;
  current?: readonly Code[];
}): Html {
  const placeOf = (path: string) => {
    const [, row, field] = /^codes\[(\d+)\](?:\.(\w+))?$/.exec(path) ?? [];
    return row === undefined ? null : placeOfRow(Number(row), field ?? null, COLUMNS);
  };
  const wrong = byPlace(problem?.errors ?? [], placeOf);
  const currentTable = (codes: readonly Code[]) =>
    codes.length === 0 ? html`<p>No payroll codes.</p>` : codeTable(codes, 'Current payroll codes', false);
  return html`
    <form id="codes" novalidate hx-post="/settings/payroll-codes" hx-target="this" hx-swap="outerHTML">
      ${saveOnReturn()}
      ${problem !== undefined && problemSummary(problem, placeOf)}
      ${current !== undefined && changedMeanwhile('the payroll codes', currentTable(current))}
      <p>A line gets the code of its line of coverage and taxability, or else the code for any taxability. Employee and employer amounts have separate codes. Saving replaces all codes of the employer.</p>
      <input type="hidden" name="employer_id" value=${employer_id} />
      ${loadedField(loaded)}
      ${rowTable({
        caption: 'Payroll codes',
        columns: COLUMNS,
        rows,
        focus,
        problems: (index, name) => wrong(placeOfRow(index, name, COLUMNS).id),
      })}
      <div class="actions">
        <button type="submit" name="do" value="save">Save payroll codes</button>
        <a class="button quiet" href=${address('/settings', { employer_id })}>Back</a>
      </div>
    </form>
  `;
}
