/** The cut-over: payroll's people, then its deductions and an export of the service, are compared and signed off. */
import type { ResultOf } from '../../api/operation.ts';
import { compareCutOverList, signCutOverList } from '../../api/operations/cut-over.ts';
import { Refusal } from '../../api/problem.ts';
import { savedNotice, state } from '../elements/facts.ts';
import { field, reasonSpec } from '../elements/fields.ts';
import {
  chosenFileForm,
  fileOf,
  OUTCOME,
  rejectedFile,
  rejectedRows,
  repairsOf,
  sendFile,
} from '../elements/file.ts';
import { count, counted, instant, lacksScope, term } from '../elements/format.ts';
import { address, censusPath, cutOverPath, employeeOf, nameIn } from '../elements/links.ts';
import { table } from '../elements/list.ts';
import { upload } from '../forms.ts';
import { type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { attempt } from '../performing.ts';

type Comparison = ResultOf<typeof compareCutOverList>;
type CutOverList = Comparison['list'];

const PATH = '/cut-over/:employer_id/:list';
/** In the order in which they are signed. */
const LISTS: Readonly<Record<CutOverList, { title: string; hint: string }>> = {
  people: {
    title: 'People',
    hint: 'Everyone who works for the employer today, with employee_id. A file with other columns is read through the format of its census.',
  },
  deductions: {
    title: 'Deductions',
    hint: 'What payroll takes today, with the columns of an import. A file with other columns is read through the format of its deductions.',
  },
  service: {
    title: 'Export of the service',
    hint: 'The deductions of the benefits service with their IDs, in the columns of an import.',
  },
};
const NAMES = Object.keys(LISTS) as CutOverList[];
const KINDS: Readonly<Record<Comparison['shown'][number]['difference'], string>> = {
  only_here: 'Not in the file',
  only_in_file: 'Only in the file',
  differs: 'Different',
  missing_id: 'No ID of the service',
};

export function cutOverPages(pages: Console): void {
  pages.page(PATH, 'ledger:read', async ({ params, query, may }) => {
    const { employer_id = '' } = params;
    const list = listOf(params.list);
    const body = html`
      ${savedNotice({ saved: query.signed }, censusPath(employer_id), 'Census', `Signed off: ${query.signed}.`)}
      <p>Before the first run, compare what payroll has with the roster and the ledger: the people first, then the deductions. Nothing of a file is stored.</p>
      <ol>${NAMES.map((each) => html`<li>${each === list ? html`<strong>${LISTS[each].title}</strong>` : html`<a href=${cutOverPath(employer_id, each)}>${LISTS[each].title}</a>`}</li>`)}</ol>
      ${fileForm(employer_id, list, may('runs:write'))}
      <div id=${OUTCOME} aria-live="polite"></div>
    `;
    return { title: html`${LISTS[list].title}: cut-over of ${nameIn('employer', employer_id)}`, body };
  });

  upload(pages, PATH, 'ledger:read', async (uploaded) => {
    const list = listOf(uploaded.params.list);
    const { data, problem } = await attempt(uploaded.api.upload(compareCutOverList, fileOf(uploaded)), 422);
    if (problem === undefined) return outcome(data, list, uploaded);
    const kind = list === 'people' ? 'census' : 'deductions';
    return rejectedFile(
      problem,
      { employer_id: uploaded.params.employer_id ?? '', kind, use: list },
      uploaded,
    );
  });

  upload(pages, `${PATH}/sign`, 'runs:write', async (uploaded) => {
    const { api, params, query, fields } = uploaded;
    const list = listOf(params.list);
    if (!fields.reason?.trim()) throw new Refusal('INVALID_REQUEST', 'Enter why the differences are right.');
    const signature = { etag: query.etag, reason: fields.reason };
    const call = api.upload(signCutOverList, fileOf(uploaded), { query: signature });
    const { problem } = await attempt(call, 422);
    if (problem !== undefined) return rejectedRows(problem);
    const next = NAMES[NAMES.indexOf(list) + 1] ?? list;
    const signed = LISTS[list].title.toLowerCase();
    return { go: address(cutOverPath(params.employer_id ?? '', next), { signed }) };
  });
}

function listOf(name: string | undefined): CutOverList {
  const list = NAMES.find((each) => each === name);
  if (list === undefined) throw new Refusal('NOT_FOUND', 'No such list.');
  return list;
}

/** The file stays in the form until it is signed off. */
function fileForm(employerId: string, list: CutOverList, maySign: boolean): Html {
  const reason = field({
    ...reasonSpec('Stored in the audit record.'),
    ...{ name: 'reason', label: 'Why the differences are right (only to sign off)', value: '' },
    required: false,
  });
  return chosenFileForm(cutOverPath(employerId, list), {
    ...{ label: `File: ${LISTS[list].title.toLowerCase()}`, accept: '.csv,.xlsx,.json,.ndjson,text/csv' },
    ...{ hint: `${LISTS[list].hint} Excel, CSV, JSON or NDJSON, at most 64 MiB.`, button: 'Compare' },
    ...{ busy: 'Reading the file …', before: maySign && reason, look: 'card' },
  });
}

function outcome(compared: Comparison, list: CutOverList, visit: Visit): Html {
  const { same, differences, signed_off, signed_at, missing_ids, unknown_employees, shown } = compared;
  const all = differences + signed_off;
  const isSame = differences === 0;
  return html`
    <section aria-labelledby="result">
      <h2 id="result" tabindex="-1" autofocus>${isSame ? state('identical') : state(counted(differences, 'difference'), 'bad')}${` ${counted(same, 'entry agrees', 'entries agree')}`}</h2>
      ${repairsOf(compared)}
      ${signed_at !== null && html`<p>${'Signed off '}${instant(signed_at)}${`: ${counted(signed_off, 'difference is', 'differences are')} unchanged since.`}</p>`}
      ${missing_ids > 0 && html`<p class="problem">${`${counted(missing_ids, 'deduction')} without an ID of the service. They cannot be signed off: wait for the events of the service, or import the IDs.`}</p>`}
      ${unknown_employees > 0 && html`<p>${`${counted(unknown_employees, 'employee')} of the file not employed here: compare the people first.`}</p>`}
      ${table(shown, { caption: 'Differences' }, [
        ['Difference', ({ difference }) => KINDS[difference], 'name'],
        ['Employee', ({ employee_id }) => employeeOf(employee_id, visit)],
        ...(list === 'people'
          ? []
          : ([
              ['Coverage', ({ line_of_coverage }) => term(line_of_coverage ?? '–')],
              ['Taxability', ({ taxability }) => term(taxability ?? '–')],
              ['Here', ({ here }) => here ?? '–'],
              ['File', ({ file }) => file ?? '–'],
            ] as const satisfies Parameters<typeof table<Comparison['shown'][number]>>[2])),
        ['Signed off', ({ signed_off: isSigned }) => (isSigned ? 'yes' : 'no')],
      ])}
      ${shown.length < all && html`<p class="hint">${`The first ${count(shown.length)} of ${count(all)} are shown.`}</p>`}
      ${signOff(compared, list, visit)}
    </section>
  `;
}

function signOff({ etag, missing_ids }: Comparison, list: CutOverList, { params, may }: Visit): Html | null {
  if (missing_ids > 0) return null;
  if (!may('runs:write')) return html`<p>${lacksScope('To sign off', 'runs:write')}</p>`;
  const to = address(`${cutOverPath(params.employer_id ?? '', list)}/sign`, { etag });
  return html`
    <div class="actions">
      ${sendFile(to, 'Sign off')}
      <span class="hint">Keeps these differences as known. A difference that changes is shown again.</span>
    </div>
  `;
}
