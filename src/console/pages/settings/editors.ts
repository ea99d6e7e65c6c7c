/** Edits the payroll codes and the payroll policy of an employer. */
import { listPayrollRunFindings } from '../../../api/operations/payroll-run-findings.ts';
import { listPayrollRuns } from '../../../api/operations/payroll-runs.ts';
import {
  listLinesOfCoverage,
  putPayrollCodes,
  putPayrollPolicy,
} from '../../../api/operations/payroll-settings.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { isDay } from '../../../contract/instant.ts';
import { CODES_MAX, SIDES } from '../../../formats/payroll-code.ts';
import { recoupIn, recoupText } from '../../../formats/recoup.ts';
import {
  changesOf,
  commandOf,
  type Edited,
  editor,
  hashOf,
  placeOfRow,
  type RowList,
} from '../../elements/editor.ts';
import { filledForm, hiddenFields, preview, type Specs } from '../../elements/fields.ts';
import { dayText } from '../../elements/format.ts';
import { address, nameIn, runPath } from '../../elements/links.ts';
import { table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Act, Console, Done } from '../../page.ts';
import { type Api, attempt } from '../../performing.ts';
import { choiceOf, OPTION_NAMES, OPTIONS, RECOUP } from '../runs/labels.ts';
import * as settings from './overview.ts';

const CODES: RowList = {
  id: 'codes',
  path: '/settings/payroll-codes',
  rows: 'payroll codes',
  what: 'payroll codes',
  explanation:
    'Each line gets the code that names most of its line of coverage, taxability and coverage type. Employee and employer amounts have separate codes. Rows without a code are left out. Saving replaces all codes of the employer.',
  columns: settings.CODE_COLUMNS,
  key: ['line_of_coverage', 'taxability', 'side', 'coverage_type'],
  needs: 'code',
  max: CODES_MAX,
};
const POLICY_PATH = '/settings/payroll-policy';
const POLICY: Specs = {
  effective_from: { label: 'Pay dates from', type: 'date', required: true },
  ...Object.fromEntries(
    OPTION_NAMES.map((name) => [name, { label: OPTIONS[name].label, choices: OPTIONS[name].choices }]),
  ),
  recoup: RECOUP,
};
/** The API's default of each option is its first choice. */
const POLICY_DEFAULTS: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(OPTION_NAMES.map((name) => [name, OPTIONS[name].choices[0]?.value])),
  recoup: '1x',
};

export function editorPages({ page, action }: Console): void {
  page(CODES.path, 'runs:write', async ({ api, query: { employer_id = '', run } }) => {
    const codes = await settings.codesOf(api, employer_id);
    const missing = run === undefined ? [] : await rowsMissingIn(api, run);
    const known = [...codes, ...missing];
    const rows = [...known, ...(await rowsWithoutCode(api, employer_id, known))];
    const focus = missing.length > 0 && { focus: placeOfRow(codes.length, CODES.needs, CODES).id };
    const edited = { rows: rows.length > 0 ? rows : [{}], loaded: hashOf(codes), ...focus };
    const body = codeForm({ employer_id, run }, codes, edited);
    return { title: html`Payroll codes of ${nameIn('employer', employer_id)}`, body };
  });
  action(CODES.path, 'runs:write', saveCodes);
  action(`${CODES.path}/preview`, 'runs:write', async ({ api, form }) =>
    changesOf(CODES, await settings.codesOf(api, form.employer_id ?? ''), commandOf(form, CODES).rows),
  );

  page(POLICY_PATH, 'runs:write', async ({ api, query: { employer_id = '', run }, today }) => {
    const [latest] = await settings.policiesOf(api, employer_id);
    const body = policyForm({ employer_id, run }, { ...policyTexts(latest), effective_from: today });
    return { title: html`Payroll policy of ${nameIn('employer', employer_id)}`, body };
  });
  action(`${POLICY_PATH}/preview`, 'runs:write', policyChanges);
  action(POLICY_PATH, 'runs:write', async ({ api, query: { run }, form: { employer_id = '', ...typed } }) => {
    const body = { ...typed, recoup: recoupIn(typed.recoup ?? '1x') };
    const call = api.perform(putPayrollPolicy, { params: { employer_id }, body });
    const { problem } = await attempt(call, 400, 422);
    if (problem !== undefined) return policyForm({ employer_id, run }, typed, problem);
    return { go: address('/settings', { employer_id, saved: 'policy' }) };
  });
}

type Policy = Awaited<ReturnType<typeof settings.policiesOf>>[number];

/** Returns the options of a version as the form has them; without a version, the defaults. */
function policyTexts(version: Policy | undefined): Readonly<Record<string, unknown>> {
  if (version === undefined) return POLICY_DEFAULTS;
  return { ...POLICY_DEFAULTS, ...version, recoup: recoupText(version.recoup) };
}

/** Shows what a new version changes, and in which open runs. */
async function policyChanges({ api, form }: Act): Promise<Html> {
  const { employer_id = '', effective_from = '' } = form;
  if (!isDay(effective_from)) return html`<p class="hint">The changes appear here once it has a date.</p>`;
  const versions = await settings.policiesOf(api, employer_id);
  const before = policyTexts(versions.find((version) => version.effective_from <= effective_from));
  const rows = [...OPTION_NAMES, 'recoup' as const].flatMap((name) => {
    const shown = (value: unknown) =>
      (name !== 'recoup' && choiceOf(name, String(value))?.label) || String(value);
    const [then, now] = [shown(before[name]), shown(form[name] ?? POLICY_DEFAULTS[name])];
    return then === now ? [] : [{ option: POLICY[name]?.label, then, now }];
  });
  if (rows.length === 0) return html`<p class="hint">Nothing differs from the options on that date.</p>`;
  const list = { employer_id, state: 'open', limit: 500 };
  const { data } = await api.perform(listPayrollRuns, { query: list });
  const until = versions.findLast((version) => version.effective_from > effective_from)?.effective_from;
  const runs = data.filter(
    ({ pay_date }) => effective_from <= pay_date && (until === undefined || pay_date < until),
  );
  return html`
    ${table(rows, { caption: 'What changes' }, [
      ['Option', ({ option }) => option, 'name'],
      ['Before', ({ then }) => then],
      ['With this version', ({ now }) => now],
    ])}
    <p>${runs.length === 0 ? 'No open run changes.' : `Open runs that change: ${runs.map(({ pay_date }) => dayText(pay_date)).join('; ')}.`}</p>
  `;
}

/** Returns rows for the codes that an open run lacks; none for a run that cannot be computed. */
async function rowsMissingIn(api: Api, run_id: string) {
  const of = { params: { run_id }, query: { check: 'codes-missing' } };
  const { data } = await attempt(api.perform(listPayrollRunFindings, of));
  const open = data?.findings.filter(({ result }) => result === 'fail') ?? [];
  return open.map(({ line_of_coverage = '', taxability = '', side = '', coverage_type = '' }) => {
    return { line_of_coverage, taxability, side, coverage_type };
  });
}

/** Returns rows for the lines of coverage in use that have neither a code nor a row yet. */
async function rowsWithoutCode(
  api: Api,
  employer_id: string,
  codes: readonly { line_of_coverage: string; side: string }[],
) {
  const { lines_of_coverage } = await api.perform(listLinesOfCoverage, { params: { employer_id } });
  const used = lines_of_coverage.flatMap((line_of_coverage) =>
    SIDES.map((side) => ({ line_of_coverage, side })),
  );
  return used.filter(
    (row) => !codes.some((code) => code.line_of_coverage === row.line_of_coverage && code.side === row.side),
  );
}

async function saveCodes({ api, form, query: { run } }: Act): Promise<Html | Done> {
  const { employer_id = '', loaded = '' } = form;
  const of = { employer_id, run };
  const { do: command, ...edited } = commandOf(form, CODES);
  const saved = await settings.codesOf(api, employer_id);
  if (command === 'show') return codeForm(of, saved, { ...edited, loaded });
  if (hashOf(saved) !== loaded) {
    const current =
      saved.length === 0
        ? html`<p>No payroll codes.</p>`
        : settings.codeTable(saved, 'Current payroll codes', false);
    return codeForm(of, saved, { ...edited, loaded: hashOf(saved), current });
  }
  // A suggested row that was left without a code is not a code.
  const places = [...edited.rows.keys()].filter((place) => edited.rows[place]?.code !== undefined);
  const codes = places.map((place) => edited.rows[place]);
  const call = api.perform(putPayrollCodes, { params: { employer_id }, body: { codes } });
  const { problem } = await attempt(call, 422);
  if (problem !== undefined) return codeForm(of, saved, { ...edited, loaded, problem }, places);
  if (run !== undefined) return { go: address(runPath(run), { saved: 'codes' }) };
  return { go: address('/settings', { employer_id, saved: 'codes' }) };
}

/** `run`: the run from whose page the user came. */
type Of = { readonly employer_id: string; readonly run?: string | undefined };

/** `places`: the row of each code that the API received; by default, every row has a code. */
function codeForm(
  of: Of,
  saved: readonly settings.Code[],
  edited: Edited,
  places: readonly number[] = [],
): Html {
  return editor(CODES, edited, {
    saved,
    hidden: { employer_id: of.employer_id },
    back: of.run === undefined ? address('/settings', of) : runPath(of.run),
    placeOf(path) {
      const [, row, field] = /^codes\[(\d+)\](?:\.(\w+))?$/.exec(path) ?? [];
      return row === undefined ? null : placeOfRow(places[Number(row)] ?? Number(row), field, CODES);
    },
  });
}

function policyForm(of: Of, typed: Readonly<Record<string, unknown>>, problem?: ProblemDetails): Html {
  const { summary, fieldOf } = filledForm(POLICY, typed, problem);
  return html`
    <form id="policy" class="long" novalidate hx-post=${POLICY_PATH} hx-target="this" hx-swap="outerHTML">
      ${summary}
      <p>Saving adds a version. Open runs with a pay date on or after its date use it; finalized runs do not change.</p>
      ${hiddenFields({ employer_id: of.employer_id })}
      <section class="card">
        ${fieldOf('effective_from')}
        <div class="columns">${[...OPTION_NAMES, 'recoup'].map(fieldOf)}</div>
      </section>
      ${preview('policy', `${POLICY_PATH}/preview`)}
      <div class="actions">
        <button type="submit">Save payroll policy</button>
        <a class="button quiet" href=${address('/settings', of)}>Back</a>
      </div>
    </form>
  `;
}
