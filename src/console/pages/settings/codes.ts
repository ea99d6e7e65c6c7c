/** The payroll codes of an employer, shown and edited as a table. */
import { CODES_MAX } from '../../../api/routes/payroll-settings.ts';
import type { Schemas } from '../../../client.ts';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../../contract/deduction.ts';
import { type Api, attempt } from '../../api-client.ts';
import { ANY, choicesOf } from '../../elements/fields.ts';
import { address } from '../../elements/links.ts';
import {
  commandOf,
  type Edited,
  editor,
  hashOf,
  placeOfRow,
  type Row,
  type RowColumn,
  type RowList,
} from '../../elements/row-editor.ts';
import { type Column, table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import type { Console } from '../../page.ts';

type Code = Schemas['PayrollCodes']['codes'][number];

const COLUMNS: readonly (RowColumn & { readonly name: keyof Code })[] = [
  {
    name: 'line_of_coverage',
    title: 'Line of coverage',
    kind: 'select',
    choices: choicesOf(LINES_OF_COVERAGE),
  },
  { name: 'taxability', title: 'Taxability', kind: 'select', choices: [ANY, ...choicesOf(TAXABILITIES)] },
  { name: 'side', title: 'Paid by', kind: 'select', choices: choicesOf(['employee', 'employer']) },
  { name: 'code', title: 'Code', kind: 'text' },
  {
    name: 'treatment',
    title: 'Employer treatment',
    kind: 'select',
    choices: choicesOf({ '': 'not set', deposit: 'deposit', memo: 'memo' }),
  },
];
const LIST: RowList = {
  id: 'codes',
  path: '/settings/payroll-codes',
  rows: 'payroll codes',
  what: 'payroll codes',
  explanation:
    'Each line gets the code for its line of coverage and taxability or, if there is none, the code for any taxability. Employee and employer amounts have separate codes. Saving replaces all codes of the employer.',
  columns: COLUMNS,
  max: CODES_MAX,
};

/** `captionHidden`: a heading above already names the table. */
export function codeTable(codes: readonly Code[], caption: string, captionHidden: boolean): Html {
  const columns = COLUMNS.map(({ title, name, choices }): Column<Code> => {
    const shown = (value: string) => choices?.find((choice) => choice.value === value)?.label ?? value;
    return [title, (code) => shown(code[name] ?? '')];
  });
  return table(codes, { caption, captionHidden }, columns);
}

export async function codesOf(api: Api, employer_id: string): Promise<Code[]> {
  return (await api.get('/v1/employers/{employer_id}/payroll-codes', { employer_id })).codes;
}

export function codePages({ page, action }: Console): void {
  page(LIST.path, 'runs:write', async ({ api, query: { employer_id = '' } }) => {
    const codes = await codesOf(api, employer_id);
    const rows = codes.length === 0 ? [{}] : codes.map(rowOf);
    return {
      title: `Payroll codes of ${employer_id}`,
      body: codeForm(employer_id, { rows, loaded: hashOf(codes) }),
    };
  });

  action(LIST.path, 'runs:write', async ({ api, form }) => {
    const { employer_id = '', loaded = '' } = form;
    const { do: command, ...shown } = commandOf(form, LIST);
    if (command === 'show') return codeForm(employer_id, { ...shown, loaded });
    const current = await codesOf(api, employer_id);
    const hash = hashOf(current);
    if (hash !== loaded) return codeForm(employer_id, { ...shown, loaded: hash, current: tableOf(current) });
    const codes = shown.rows as unknown as Code[];
    const call = api.send('put', '/v1/employers/{employer_id}/payroll-codes', { employer_id }, { codes });
    const { problem } = await attempt(call, 422);
    if (problem !== undefined) return codeForm(employer_id, { ...shown, loaded, problem });
    return { go: address('/settings', { employer_id, saved: 'codes' }) };
  });
}

function rowOf(code: Code): Row {
  return Object.fromEntries(
    Object.entries(code).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

function tableOf(codes: readonly Code[]): Html {
  return codes.length === 0
    ? html`<p>No payroll codes.</p>`
    : codeTable(codes, 'Current payroll codes', false);
}

function codeForm(employer_id: string, edited: Edited): Html {
  return editor(LIST, edited, {
    hidden: { employer_id },
    back: address('/settings', { employer_id }),
    placeOf(path) {
      const [, row, field] = /^codes\[(\d+)\](?:\.(\w+))?$/.exec(path) ?? [];
      return row === undefined ? null : placeOfRow(Number(row), field, LIST);
    },
  });
}
