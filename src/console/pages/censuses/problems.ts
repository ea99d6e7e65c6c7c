/** What is wrong with a census, by row and field: never a value. */
import { command } from '../../elements/empty.ts';
import { count } from '../../elements/facts.ts';
import type { FieldProblem } from '../../elements/field.ts';
import { type RowPlace, rowProblems } from '../../elements/row-problems.ts';
import { type Html, html } from '../../html.ts';

/** The problems given, of `all`; the command line names more of them. */
export function problemTable(problems: readonly FieldProblem[], all: number, employerId: string): Html {
  return html`
    <div>
      ${problems.length > 0 && rowProblems(problems, placeOf)}
      <p class="hint">
        ${'Row 1 is the first employee: '}<code>employees[0]</code>${' of a JSON, line 2 of a CSV without line breaks in its cells.'}
      </p>
      ${
        all > problems.length &&
        html`
          <div>
            <p>${`And ${count(all - problems.length)} more. The first 1,000 are named by`}</p>
            ${command(`benefits-sidecar census validate census.json --employer ${shellWord(employerId)}`)}
          </div>
        `
      }
    </div>
  `;
}

/** `employees[17].address.state` as `18` and `address.state`. */
function placeOf(path: string): RowPlace {
  const [, index, field] = /^employees\[(\d+)\]\.?(.*)$/s.exec(path) ?? [];
  if (index !== undefined) return { row: count(Number(index) + 1), field: field || 'the whole row' };
  const [, ofOrganization] = /^organization\.?(.*)$/s.exec(path) ?? [];
  if (ofOrganization !== undefined) return { row: 'organization', field: ofOrganization || 'all of it' };
  return { row: 'the file', field: path || 'all of it' };
}

/** As one word of a shell, whatever it holds. */
export function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
