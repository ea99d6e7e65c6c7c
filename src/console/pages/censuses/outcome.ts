/** What the check of a file says: what is wrong with it, or what it would change. Ids and names of fields, no values. */
import { command } from '../../elements/empty.ts';
import { count, counted } from '../../elements/facts.ts';
import { employeeOf } from '../../elements/links.ts';
import { table } from '../../elements/table.ts';
import { since } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { stageButton } from './bring-form.ts';
import { problemTable, shellWord } from './problems.ts';
import type { Report } from './report.ts';

type Changes = NonNullable<Report['changes']>;
type Checked = { readonly employerId: string; readonly checked: string; readonly visit: Visit };

/** Of each kind: what a person reads through here. All are counted, and the command line lists 1,000. */
const LISTED = 200;

export function outcome(report: Report, given: Checked): Html {
  const { valid, employees, problem_count, problems } = report;
  const { employerId, checked } = given;
  if (!valid) {
    return html`
      <section class="outcome" aria-labelledby="outcome-says">
        <h3 id="outcome-says" tabindex="-1" autofocus>${`Refused: ${counted(problem_count, 'place')} in ${counted(employees, 'employee')} to mend`}</h3>
        <p>Nothing of it was kept. Mend the file, choose it again, and check it again.</p>
        ${problemTable(problems.slice(0, LISTED), problem_count, employerId)}
      </section>
    `;
  }
  return html`
    <section class="outcome" aria-labelledby="outcome-says">
      <h3 id="outcome-says" tabindex="-1" autofocus>${`Good: ${counted(employees, 'employee')}, nothing to mend`}</h3>
      ${changesOf(report, given)}
      <div class="actions">
        ${stageButton(employerId, checked)}
        <span class="hint">Sends the file once more and keeps it, encrypted, for the next upload.</span>
      </div>
    </section>
  `;
}

function changesOf({ last_upload, changes }: Report, given: Checked): Html {
  if (last_upload === null) {
    return html`<p>Nothing to compare with: the service took no census of this employer yet.</p>`;
  }
  const { now } = given.visit;
  if (changes === null) {
    return html`
      <p>
        ${'The last upload, '}${since(last_upload.uploaded_at, now)}${', can not be compared: an older release staged it, or its hash key is gone.'}
      </p>
    `;
  }
  const { added, changed, absent, unchanged, organization } = changes;
  return html`
    <div>
      <p>${'Against the upload of '}${since(last_upload.uploaded_at, now)}${`, ${counted(last_upload.employees, 'employee')}:`}</p>
      <dl class="tally">
        ${tallyOf('added', added.count)} ${tallyOf('changed', changed.count)} ${tallyOf('absent', absent.count)}
        ${tallyOf('unchanged', unchanged)}
      </dl>
      ${
        absent.count > 0 &&
        html`
          <p class="problem">
            <strong>${absent.count === 1 ? '1 employee is absent.' : `${count(absent.count)} employees are absent.`}</strong>
            ${' The service may take them to have left: stage this only if they have.'}
          </p>
        `
      }
      ${organization.length > 0 && html`<p>${'The organization changes in '}${fieldNames(organization)}.</p>`}
      ${listOf('Absent', absent, given)} ${listOf('Added', added, given)} ${changedTable(changed, given)}
    </div>
  `;
}

function tallyOf(what: string, number: number): Html {
  const tone = number === 0 ? 'none' : what === 'absent' ? 'loud' : undefined;
  return html`<div class=${tone}><dt>${what}</dt><dd>${count(number)}</dd></div>`;
}

function listOf(what: string, { count: all, employee_ids }: Changes['added'], given: Checked): Content {
  if (all === 0) return null;
  const shown = employee_ids.slice(0, LISTED);
  return html`
    <details open=${all <= 20}>
      <summary>${`${what}: ${count(all)}`}</summary>
      <ul class="ids">${shown.map((id) => html`<li>${employeeOf(id, given.visit)}</li>`)}</ul>
      ${more(all - shown.length, given.employerId)}
    </details>
  `;
}

function changedTable({ count: all, employees }: Changes['changed'], given: Checked): Content {
  if (all === 0) return null;
  const rows = employees.slice(0, LISTED);
  return html`
    <details open=${all <= 20}>
      <summary>${`Changed: ${count(all)}`}</summary>
      ${table({
        caption: 'Changed employees and fields',
        captionHidden: true,
        columns: [
          {
            title: 'Employee',
            kind: 'name',
            cell: ({ employee_id }) => employeeOf(employee_id, given.visit),
          },
          { title: 'Fields', cell: ({ fields }) => fieldNames(fields) },
        ],
        rows,
      })}
      ${more(all - rows.length, given.employerId)}
    </details>
  `;
}

function more(left: number, employerId: string): Content {
  if (left <= 0) return null;
  return html`
    <div>
      <p>${`And ${count(left)} more. The first 1,000 are listed by`}</p>
      ${command(`benefits-sidecar census validate census.json --employer ${shellWord(employerId)} --json`)}
    </div>
  `;
}

function fieldNames(fields: readonly string[]): Content {
  return fields.map((field, index) => [index > 0 && ', ', html`<code>${field}</code>`]);
}
