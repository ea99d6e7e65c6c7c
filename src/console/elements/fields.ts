/** Fields of forms with their labels, hints and problems; filter forms; and the summary of a rejected form. */

import type { ProblemDetails } from '../../api/problem.ts';
import { type Content, type Html, html } from '../html.ts';
import { count } from './format.ts';

/** A problem that the API reported: the path of a field and the rule it breaks. */
export type FieldProblem = { readonly path: string; readonly rule: string };

type Described = {
  readonly name: string;
  readonly label: string;
  readonly hint?: Content;
  readonly value: string;
  readonly problems?: readonly FieldProblem[];
  readonly required?: boolean;
};

/** Renders a text, date or time field. Times are UTC, so their labels must say so. */
export function textField({
  type = 'text',
  size,
  ...field
}: Described & { type?: 'text' | 'date' | 'datetime-local'; size?: number }): Html {
  const { name, value } = field;
  return around(
    field,
    html`<input id=${name} name=${name} type=${type} step=${type === 'datetime-local' ? 'any' : undefined} size=${size} value=${value} autocomplete="off" ...${linked(field)} />`,
  );
}

export function linesField({ rows = 3, ...field }: Described & { rows?: number }): Html {
  const { name, value } = field;
  return around(
    field,
    html`<textarea id=${name} name=${name} rows=${rows} autocomplete="off" ...${linked(field)}>${value}</textarea>`,
  );
}

export type Choice = { readonly value: string; readonly label: string };

export const ANY: Choice = { value: '', label: 'Any' };

/** Turns a map from values to labels into choices. */
export function choicesOf(labels: Readonly<Record<string, string>>): Choice[] {
  return Object.entries(labels).map(([value, label]) => ({ value, label }));
}

export function selectField({ choices, ...field }: Described & { choices: readonly Choice[] }): Html {
  const { name, value } = field;
  return around(
    field,
    html`
      <select id=${name} name=${name} ...${linked(field)}>
        ${choices.map((choice) => html`<option value=${choice.value} selected=${choice.value === value}>${choice.label}</option>`)}
      </select>
    `,
  );
}

/** Renders radio buttons, each with an explanation. */
export function choiceField({
  choices,
  ...field
}: Described & { choices: readonly (Choice & { readonly hint: Content })[] }): Html {
  const { name, label, hint, value, problems = [] } = field;
  return html`
    <fieldset class="field choice" id=${name} aria-describedby=${describedBy(field)}>
      <legend>${label}</legend>
      ${problemsOf(name, problems)}
      ${hint !== undefined && html`<p class="hint" id=${`${name}-hint`}>${hint}</p>`}
      ${choices.map(
        (choice) => html`
          <div class="one">
            <input
              type="radio"
              name=${name}
              id=${`${name}-${choice.value}`}
              value=${choice.value}
              checked=${choice.value === value}
              aria-describedby=${`${name}-${choice.value}-hint`}
            />
            <label for=${`${name}-${choice.value}`}>${choice.label}</label>
            <p class="hint" id=${`${name}-${choice.value}-hint`}>${choice.hint}</p>
          </div>
        `,
      )}
    </fieldset>
  `;
}

export function hiddenFields(values: Readonly<Partial<Record<string, string>>>): Html[] {
  return Object.entries(values).map(
    ([name, value]) => html`<input type="hidden" name=${name} value=${value} />`,
  );
}

function around(field: Described, input: Html): Html {
  const { name, label, hint, problems = [] } = field;
  return html`
    <div class=${problems.length > 0 ? 'field wrong' : 'field'}>
      <label for=${name}>${label}</label>
      ${problemsOf(name, problems)}
      ${input}
      ${hint !== undefined && html`<p class="hint" id=${`${name}-hint`}>${hint}</p>`}
    </div>
  `;
}

function linked(field: Described) {
  const { required = false, problems = [] } = field;
  return {
    required,
    'aria-describedby': describedBy(field),
    'aria-invalid': problems.length > 0 ? 'true' : undefined,
  };
}

function describedBy({ name, hint, problems = [] }: Described): string | undefined {
  const ids = [
    ...(problems.length > 0 ? [`${name}-problem`] : []),
    ...(hint === undefined ? [] : [`${name}-hint`]),
  ];
  return ids.length === 0 ? undefined : ids.join(' ');
}

function problemsOf(name: string, problems: readonly FieldProblem[]): Html | null {
  if (problems.length === 0) return null;
  return html`
    <p class="field-problem" id=${`${name}-problem`}>
      ${problems.map(({ path, rule }, index) => `${index > 0 ? '; ' : ''}${path === name ? '' : `${path} `}${rule}`)}
    </p>
  `;
}

/** A time in an address, or in the browser's field, which has no zone and is UTC. */
export function timeField(name: string, label: string, value = ''): Html {
  return textField({ name, label, type: 'datetime-local', value: value.replace(/(:00)?(\.0+)?Z$/, '') });
}

/** Renders the filters of a list; their values are in the page's address, so a filtered list can be bookmarked. */
export function filterForm(path: string, isFiltered: boolean, fields: Content): Html {
  return html`
    <form class="fields" method="get" action=${path} aria-label="Filters">
      ${fields}
      <button type="submit">Show</button>
      ${isFiltered && html`<a class="button quiet" href=${path}>Show all</a>`}
    </form>
  `;
}

/** Problems listed in a summary; the rest is counted. */
const PROBLEMS_SHOWN = 20;

/** The field that a path of the API refers to: its element id and label. */
export type Place = { readonly id: string; readonly label: string };

/**
 * Lists the problems of a rejected form, with links to its fields. `placeOf` returns null for a path outside the form.
 * Without `placeOf` the focus stays where it is.
 */
export function problemSummary(
  { status, title, detail, errors = [], error_count }: ProblemDetails,
  placeOf?: (path: string) => Place | null,
): Html {
  const shown = errors.slice(0, PROBLEMS_SHOWN);
  const more = (error_count ?? errors.length) - shown.length;
  return html`
    <div class="problem" role="alert" tabindex="-1" autofocus=${placeOf !== undefined}>
      <strong>${status === 400 && errors.length > 0 ? 'Fix these fields first' : title}</strong>
      ${errors.length === 0 && detail !== undefined && html`<p>${detail}</p>`}
      ${
        shown.length > 0 &&
        html`<ul>
          ${shown.map(({ path, rule }) => html`<li>${placed(path, placeOf?.(path) ?? null)}${` ${rule}`}</li>`)}
          ${more > 0 && html`<li>${`and ${count(more)} more`}</li>`}
        </ul>`
      }
    </div>
  `;
}

function placed(path: string, place: Place | null): Html {
  return place === null ? html`<code>${path}</code>` : html`<a href=${`#${place.id}`}>${place.label}</a>`;
}
