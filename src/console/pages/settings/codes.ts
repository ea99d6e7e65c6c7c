/** Payroll's own codes of an employer, edited as a table. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { CODES_MAX } from '../../../api/routes/payroll-settings.ts';
import type { Schemas } from '../../../client.ts';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../../contract/deduction.ts';
import { ANY } from '../../elements/field.ts';
import { address } from '../../elements/pager.ts';
import { plain } from '../../elements/plain.ts';
import { problemSummary } from '../../elements/problem-summary.ts';
import {
  changedRows,
  type Focus,
  type Row,
  type RowColumn,
  type RowList,
  rowsOf,
  wishOf,
} from '../../elements/row-form.ts';
import { byPlace, placeOfRow, returnSaves, rowTable } from '../../elements/row-table.ts';
import { table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { action, page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { changedMeanwhile, loadedField, loadedOf, markOf } from './loaded.ts';

type Code = Schemas['PayrollCodes']['codes'][number];

const choices = (values: readonly string[]) => values.map((value) => ({ value, label: plain(value) }));

const codeColumns = [
  {
    name: 'line_of_coverage',
    title: 'Line of coverage',
    kind: 'select',
    choices: choices(LINES_OF_COVERAGE),
  },
  { name: 'taxability', title: 'Taxability', kind: 'select', choices: [ANY, ...choices(TAXABILITIES)] },
  { name: 'side', title: 'Side', kind: 'select', choices: choices(['employee', 'employer']) },
  { name: 'code', title: 'Code', kind: 'text' },
  {
    name: 'treatment',
    title: 'Employer’s side is',
    kind: 'select',
    choices: [{ value: '', label: 'not said' }, ...choices(['deposit', 'memo'])],
  },
] as const satisfies readonly (RowColumn & { name: keyof Code })[];

const CODES: RowList = {
  rows: 'payroll codes',
  columns: codeColumns,
  max: CODES_MAX,
  command: 'benefits-sidecar codes put FILE --employer ID',
};

/** What the table shows for a value that it edits. */
export function labelOf({ choices }: RowColumn, value: string): string {
  return choices?.find((choice) => choice.value === value)?.label ?? value;
}

/** The codes to be read; `captionHidden` where a heading says the same already. */
export function codeTable(codes: readonly Code[], caption: string, captionHidden: boolean): Html {
  return table({
    caption,
    captionHidden,
    columns: codeColumns.map((column) => ({
      title: column.title,
      cell: (code: Code) => labelOf(column, code[column.name] ?? ''),
    })),
    rows: codes,
  });
}

export function codePages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';
  const url = '/settings/payroll-codes';

  page(app, parts, { url, scope }, async ({ api, query }) => {
    const employer_id = query.employer_id ?? '';
    const codes = await codesOf(api, employer_id);
    const rows = codes.map(typedOf);
    return {
      title: `Payroll codes of ${employer_id}`,
      place: 'runs',
      body: codeForm({ employer_id, rows: rows.length === 0 ? [{}] : rows, loaded: markOf(codes) }),
    };
  });

  action(app, parts, { url, scope }, async ({ api, form }) => {
    const employer_id = form.employer_id ?? '';
    const loaded = loadedOf(form);
    if (wishOf(form).do !== 'save') return codeForm({ employer_id, loaded, ...changedRows(form, CODES) });
    const rows = rowsOf(form, CODES);
    const now = await codesOf(api, employer_id);
    if (markOf(now) !== loaded) return codeForm({ employer_id, rows, loaded: markOf(now), meanwhile: now });
    const answer = await api.PUT('/v1/employers/{employer_id}/payroll-codes', {
      params: { path: { employer_id } },
      body: { codes: rows as unknown as Code[] },
    });
    if (answer.response.status === 422) {
      return codeForm({ employer_id, rows, loaded, problem: answer.error });
    }
    need(answer);
    return { go: address('/settings', { employer_id, saved: 'codes' }) };
  });
}

export async function codesOf(api: Visit['api'], employer_id: string): Promise<Code[]> {
  const path = { employer_id };
  return need(await api.GET('/v1/employers/{employer_id}/payroll-codes', { params: { path } })).codes;
}

function typedOf(code: Code): Row {
  return Object.fromEntries(
    Object.entries(code).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, value]],
    ),
  );
}

type Shown = {
  readonly employer_id: string;
  readonly rows: readonly Row[];
  readonly loaded: string;
  readonly focus?: Focus;
  readonly problem?: ProblemDetails | undefined;
  /** What is there by now, where that is not what was loaded. */
  readonly meanwhile?: readonly Code[];
};

function codeForm({ employer_id, rows, loaded, focus, problem, meanwhile }: Shown): Html {
  const placeOf = (path: string) => {
    const [, row, field] = /^codes\[(\d+)\](?:\.(\w+))?$/.exec(path) ?? [];
    return row === undefined ? null : placeOfRow(Number(row), field ?? null, codeColumns);
  };
  const wrong = byPlace(problem?.errors ?? [], placeOf);
  return html`
    <form id="codes" novalidate hx-post="/settings/payroll-codes" hx-target="this" hx-swap="outerHTML">
      ${returnSaves()}
      ${problem !== undefined && problemSummary(problem, placeOf)}
      ${meanwhile !== undefined && changedMeanwhile('the payroll codes', meanwhile.length === 0 ? html`<p>No payroll code.</p>` : codeTable(meanwhile, 'Payroll codes now', false))}
      <p>A line takes the code of its line of coverage and taxability, or else the one for any. The employee’s side and the employer’s have codes of their own. What is saved takes the place of all codes that were there.</p>
      <input type="hidden" name="employer_id" value=${employer_id} />
      ${loadedField(loaded)}
      ${rowTable({
        caption: 'Payroll codes',
        columns: codeColumns,
        rows,
        focus,
        problems: (index, name) => wrong(placeOfRow(index, name, codeColumns).id),
      })}
      <div class="actions">
        <button type="submit" name="do" value="save">Save the codes</button>
        <a class="button quiet" href=${address('/settings', { employer_id })}>Back</a>
      </div>
    </form>
  `;
}
