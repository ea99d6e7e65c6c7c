/** Uploading a census: the file is checked and compared first, then the same file is staged. */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ResultOf } from '../../api/operation.ts';
import { putCensus, validateCensus } from '../../api/operations/census-uploads.ts';
import { Refusal } from '../../api/problem.ts';
import type { Problem } from '../../errors.ts';
import { WHOLE_FILE } from '../../formats/csv-header.ts';
import { field, reasonSpec } from '../elements/fields.ts';
import {
  chosenFileForm,
  type FileOf,
  folded,
  hasOtherForm,
  isTable,
  OUTCOME,
  readOtherwise,
  repairsOf,
  rowProblems,
  sendFile,
  warningsIn,
} from '../elements/file.ts';
import { count, counted, since } from '../elements/format.ts';
import { address, censusPath, employeeOf } from '../elements/links.ts';
import { table } from '../elements/list.ts';
import { type Upload, upload } from '../forms.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { needsSetup, setupPath } from './payrolls.ts';

type Report = ResultOf<typeof validateCensus>;
type Changes = NonNullable<Report['changes']>;

const LISTED = 200;

export function censusUploads(pages: Console): void {
  upload(pages, '/census/:employer_id/check', 'census:write', async (uploaded) => {
    const { file, digest, lacksOrganization } = contentOf(uploaded);
    const report = await uploaded.api.upload(validateCensus, file, { query: personsOf(uploaded) });
    const problems = lacksOrganization ? report.problems.map(inForm) : report.problems;
    return outcome({ ...report, problems }, uploaded, digest(), await uploaded.isSendingOff());
  });

  upload(pages, '/census/:employer_id/stage', 'census:write', async (uploaded) => {
    const { file } = contentOf(uploaded, uploaded.query.checked ?? '');
    const { id } = await uploaded.api.upload(putCensus, file, { query: personsOf(uploaded) });
    return { go: await pageAfter(uploaded, id) };
  });
}

/** Returns the setup of an employer that lacks more than the census; else the page of the census. */
async function pageAfter(visit: Upload, staged: string): Promise<string> {
  const { employer_id = '' } = visit.params;
  return (await needsSetup(visit, employer_id))
    ? address(setupPath(), { employer_id, staged })
    : address(censusPath(employer_id), { staged });
}

/** For a missing organization of a CSV, the API names a header, and the form has a field. */
function inForm(problem: Problem): Problem {
  if (problem.path !== 'organization') return problem;
  return { ...problem, rule: 'is required: add its JSON file, or set it in the file format' };
}

/** Returns who the user confirmed to be one person with an employee of another employer, and why. */
function personsOf({ fields }: Upload) {
  const { same_person: ids = '', reason } = fields;
  return { same_person: ids.split(/\r?\n/).filter((id) => id.trim() !== ''), reason };
}

/**
 * Prepares the file for the API. `digest` is complete once the API has responded. `checked` is the digest of the file
 * that the user saw checked: another file fails before its last bytes are passed on, so it is not staged.
 */
function contentOf({ filename, file, small }: Upload, checked: string | null = null) {
  const [, ending] = /\.(json|csv|tsv|txt|xls[xmb]?|ods)$/i.exec(filename) ?? [];
  if (ending === undefined) throw new Refusal('INVALID_REQUEST', 'Choose a .json, .csv or .xlsx file.');
  const isCsv = ending.toLowerCase() !== 'json';
  const organization = isCsv ? small.organization : undefined;
  const hash = createHash('sha256').update(isCsv ? 'csv\n' : 'json\n');
  hash.update(organization ?? '').update('\n');
  let digest = '';
  async function* hashed(): AsyncGenerator<Buffer> {
    let held: Buffer | null = null;
    for await (const part of file as AsyncIterable<Buffer>) {
      hash.update(part);
      if (held !== null) yield held;
      held = part;
    }
    digest = hash.digest('base64url');
    if (checked !== null && checked !== digest) {
      throw new Refusal('CONFLICT', 'This is not the file that was checked. Check it first.');
    }
    if (held !== null) yield held;
  }
  return {
    file: {
      content: Readable.from(hashed(), { objectMode: false }),
      headers: {
        'content-type': isCsv ? 'text/csv' : 'application/json',
        // Headers arrive over the network as bytes, so this one is passed the same way.
        ...(organization !== undefined && { 'census-organization': organization.toString('latin1') }),
      },
    },
    digest: () => digest,
    lacksOrganization: isCsv && organization === undefined,
  };
}

/** The file stays in the form until it is staged; the result of the check is shown below the form. */
export function uploadForm(employerId: string): Html {
  const before = html`
    <details class="field">
      <summary>For a CSV or Excel file: add the organization</summary>
      <label for="organization">Organization (JSON file)</label>
      <input id="organization" name="organization" type="file" accept=".json,application/json" />
      <p class="hint">Such a file has one row per employee and no row for the employer. The file format of the employer may have its organization.</p>
    </details>
    <details class="field">
      <summary>For an employee who also works for another employer: confirm that they are one person</summary>
      ${field({ name: 'same_person', label: 'Same person (employee IDs)', rows: 2, value: '', hint: 'One ID in each line: employees whose birth date or SSN differs in the census of the other employer, because one of them was corrected.' })}
      ${field({ ...reasonSpec('Stored in the audit record.'), name: 'reason', label: 'Why they are one person', value: '', required: false })}
    </details>
  `;
  const form = chosenFileForm(`${censusPath(employerId)}/check`, {
    ...{ label: 'Census (JSON, CSV or Excel file)', accept: '.json,.csv,.xlsx,application/json,text/csv' },
    ...{ hint: 'Choose a file or drop it here. At most 256 MiB.', button: 'Check' },
    ...{ busy: 'Checking every row …', before },
  });
  return html`
    <section class="card" aria-labelledby="upload">
      <h2 id="upload">Upload a census</h2>
      <p>Choose the export of your HR or payroll system as it is. First, each row is checked, also against the last upload if there was one, and nothing is saved. Then you can stage the same file, which stores it encrypted.</p>
      ${form}
      <div id=${OUTCOME}></div>
    </section>
  `;
}

/** Shows the result of a check with ids and field names, never values. For a file of another form, recognizes its columns instead. */
function outcome(report: Report, visit: Upload, digest: string, isOff: boolean): Html {
  const { valid, employees, problem_count, problems } = report;
  const file: FileOf = { employer_id: visit.params.employer_id ?? '', kind: 'census' };
  const isOther = hasOtherForm(problems) || problems.some(({ path }) => path === 'organization');
  const hasColumns = isTable(visit);
  if (isOther && hasColumns && visit.may('runs:write')) return readOtherwise(file, visit, true);
  const listed = problems.filter(({ path }) => path !== WHOLE_FILE);
  const title = `${valid ? 'No problems' : counted(problem_count, 'problem')} in ${counted(employees, 'employee')}`;
  const rejected = html`
    <p>Nothing was saved. Fix the file, choose it again, and check it again.</p>
    ${rowProblems(listed, problem_count - problems.length + listed.length)}
  `;
  return html`
    <section class="outcome" aria-labelledby="outcome-title">
      <h3 id="outcome-title" tabindex="-1" autofocus>${title}</h3>
      ${repairsOf(report)}
      ${warningsIn(report.warnings, report.warning_count)}
      ${valid ? accepted(report, visit, digest, isOff) : rejected}
      ${hasColumns && (!valid || report.repairs !== null) && readOtherwise(file, visit, false)}
    </section>
  `;
}

function accepted(report: Report, visit: Visit, digest: string, isOff: boolean): Html {
  return html`
    ${changesOf(report, visit)}
    <div class="actions">
      ${sendFile(`${censusPath(visit.params.employer_id ?? '')}/stage?checked=${digest}`, 'Stage this census')}
      <span class="hint">${isOff ? 'Stores the file, encrypted. While sending is off, it is not uploaded.' : 'Stores the file, encrypted, for the next upload.'}</span>
    </div>
  `;
}

function changesOf({ last_upload, changes }: Report, visit: Visit): Html {
  if (last_upload === null) return html`<p>This is the first census of this employer.</p>`;
  const uploaded = since(last_upload.uploaded_at, visit.now);
  if (changes === null) {
    return html`<p>${'The census cannot be compared with the last upload, '}${uploaded}${': its hash key is missing.'}</p>`;
  }
  const { added, absent, needs_scope, changed, unchanged, organization } = changes;
  const absentees =
    absent.count === 1 ? '1 employee is absent.' : `${count(absent.count)} employees are absent.`;
  return html`
    <p>${'Compared with the upload of '}${uploaded}${`, ${counted(last_upload.employees, 'employee')}:`}</p>
    <dl class="tally">
      ${tallyOf('added', added.count)} ${changed !== null && tallyOf('changed', changed.count)}
      ${tallyOf('absent', absent.count)} ${unchanged !== null && tallyOf('unchanged', unchanged)}
    </dl>
    ${absent.count > 0 && html`<p class="problem"><strong>${absentees}</strong>${' The service may treat them as terminated. Stage this census only if they have left.'}</p>`}
    ${needs_scope !== null && html`<p class="hint">${'Only employee IDs are compared: comparing their fields requires a token with the scope '}<code>${needs_scope}</code>.</p>`}
    ${organization !== null && organization.length > 0 && html`<p>${'Changed fields of the organization: '}${fieldNames(organization)}</p>`}
    ${listOf('Absent', absent, visit)} ${listOf('Added', added, visit)} ${changed !== null && changedTable(changed, visit)}
  `;
}

function tallyOf(what: string, number: number): Html {
  const tone = number === 0 ? 'none' : what === 'absent' ? 'loud' : undefined;
  return html`<div class=${tone}><dt>${what}</dt><dd>${count(number)}</dd></div>`;
}

function listOf(title: string, { count: all, employee_ids }: Changes['added'], visit: Visit): Html | null {
  const ids = employee_ids.slice(0, LISTED);
  const items = ids.map((id) => html`<li>${employeeOf(id, visit)}</li>`);
  return folded(title, all, ids.length, html`<ul class="ids">${items}</ul>`);
}

function changedTable({ count: all, employees }: NonNullable<Changes['changed']>, visit: Visit): Html | null {
  const rows = employees.slice(0, LISTED);
  const content = table(rows, { caption: 'Changed employees and fields', captionHidden: true }, [
    ['Employee', ({ employee_id }) => employeeOf(employee_id, visit), 'name'],
    ['Fields', ({ fields }) => fieldNames(fields)],
  ]);
  return folded('Changed', all, rows.length, content);
}

function fieldNames(fields: readonly string[]): Content {
  return fields.map((field, index) => [index > 0 && ', ', html`<code>${field}</code>`]);
}
