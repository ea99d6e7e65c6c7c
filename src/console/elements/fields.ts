/** Fields of forms with their labels, hints and problems; filters of lists; and the summary of a rejected form. */
import type { ProblemDetails } from '../../api/problem.ts';
import { REASON_MAX_CHARACTERS } from '../../contract/fields.ts';
import { type Content, type Html, html } from '../html.ts';
import { count, plain } from './format.ts';
import type { Query } from './links.ts';

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
/** A field of a form. With `rows` it has lines, with `choices` it is a list or, if they are explained, radio buttons. */
export type Field = Described & {
  /** `datetime-local` has no zone and is UTC, so its label must say so. */
  readonly type?: 'text' | 'date' | 'datetime-local';
  readonly size?: number;
  readonly rows?: number;
  readonly suggestions?: readonly string[];
  readonly choices?: readonly (Choice & { readonly hint?: Content })[];
};

export function field(given: Field): Html {
  const { name, label, value, type = 'text', size, rows, suggestions, choices, problems = [] } = given;
  const attributes = {
    id: name,
    name,
    required: given.required ?? false,
    'aria-describedby': describedBy(given),
    'aria-invalid': problems.length > 0 ? 'true' : undefined,
  };
  if (choices?.some(({ hint }) => hint !== undefined)) return radioButtons(given, choices);
  const isTime = type === 'datetime-local';
  const text = isTime ? value.replace(/(:00)?(\.0+)?Z$/, '') : value;
  const list = suggestions && `${name}-suggestions`;
  const input =
    choices !== undefined
      ? html`<select ...${attributes}>${optionsOf(choices, value)}</select>`
      : rows !== undefined
        ? html`<textarea rows=${rows} autocomplete="off" ...${attributes}>${value}</textarea>`
        : html`<input type=${type} step=${isTime ? 'any' : undefined} size=${size} list=${list} value=${text} autocomplete="off" ...${attributes} />`;
  return html`
    <div class=${problems.length > 0 ? 'field wrong' : 'field'}>
      <label for=${name}>${label}</label>
      ${problemsOf(given)}
      ${input}
      ${suggestions && html`<datalist id=${list}>${suggestions.map((one) => html`<option value=${one}></option>`)}</datalist>`}
      ${hintOf(given)}
    </div>
  `;
}

export type Choice = { readonly value: string; readonly label: string };
export type ExplainedChoice = Choice & { readonly hint: Content };

export const ANY: Choice = { value: '', label: 'Any' };

/** Turns values, or a map from values to labels, into choices. */
export function choicesOf(labels: Readonly<Record<string, string>> | readonly string[]): Choice[] {
  return Array.isArray(labels)
    ? labels.map((value: string) => ({ value, label: plain(value) }))
    : Object.entries(labels).map(([value, label]) => ({ value, label }));
}

export function optionsOf(choices: readonly Choice[], selected: string): Html[] {
  return choices.map(
    ({ value, label }) => html`<option value=${value} selected=${value === selected}>${label}</option>`,
  );
}

function radioButtons(given: Field, choices: readonly (Choice & { readonly hint?: Content })[]): Html {
  const { name, label, value } = given;
  return html`
    <fieldset class="field choice" id=${name} aria-describedby=${describedBy(given)}>
      <legend>${label}</legend>
      ${problemsOf(given)}
      ${hintOf(given)}
      ${choices.map((choice) => {
        const id = `${name}-${choice.value}`;
        return html`
          <div class="one">
            <input type="radio" name=${name} id=${id} value=${choice.value} checked=${choice.value === value} aria-describedby=${`${id}-hint`} />
            <label for=${id}>${choice.label}</label>
            <p class="hint" id=${`${id}-hint`}>${choice.hint}</p>
          </div>
        `;
      })}
    </fieldset>
  `;
}

export function hiddenFields(values: Query): Html[] {
  return Object.entries(values).map(
    ([name, value]) => html`<input type="hidden" name=${name} value=${value} />`,
  );
}

function describedBy({ name, hint, problems = [] }: Described): string | undefined {
  const ids = [problems.length > 0 && `${name}-problem`, hint !== undefined && `${name}-hint`];
  return ids.filter((id) => id !== false).join(' ') || undefined;
}

function hintOf({ name, hint }: Described): Content {
  return hint !== undefined && html`<p class="hint" id=${`${name}-hint`}>${hint}</p>`;
}

function problemsOf({ name, problems = [] }: Described): Content {
  if (problems.length === 0) return null;
  const texts = problems.map(({ path, rule }) => (path === name ? rule : `${path} ${rule}`));
  return html`<p class="field-problem" id=${`${name}-problem`}>${texts.join('; ')}</p>`;
}

/** A filter of a list. */
export type Filter = Omit<Field, 'value'>;

/** Returns the parameters of an address that are filters. The API validates their values and names the wrong ones. */
export function filtersIn(query: Query, filters: readonly Filter[]): Query {
  return Object.fromEntries(
    filters.flatMap(({ name }) => (query[name] === undefined ? [] : [[name, query[name]]])),
  );
}

export function filterFields(query: Query, filters: readonly Filter[]): Html[] {
  return filters.map((filter) => {
    const choices = filter.choices && [ANY, ...filter.choices];
    return field({ ...filter, value: query[filter.name] ?? '', ...(choices && { choices }) });
  });
}

/** Renders the filters of a list; their values are in the page's address, so a filtered list can be bookmarked. */
export function filterForm(path: string, query: Query, filters: readonly Filter[]): Html {
  return html`
    <form class="fields" method="get" action=${path} aria-label="Filters">
      ${filterFields(query, filters)}
      <button type="submit">Show</button>
      ${filters.some(({ name }) => query[name] !== undefined) && html`<a class="button quiet" href=${path}>Show all</a>`}
    </form>
  `;
}

/** Renders a button that decides something, with an explanation; and a field for the reason if it has a label. */
export function decision(
  post: string,
  { button, look = 'quiet', hint, reason }: { button: string; look?: string; hint: string; reason?: string },
): Html {
  return html`
    <form class="decision" hx-post=${post}>
      ${
        reason !== undefined &&
        html`
          <div class="field">
            <label for="reason">${reason}</label>
            <input id="reason" name="reason" required maxlength=${REASON_MAX_CHARACTERS} autocomplete="off" />
          </div>
        `
      }
      <button type="submit" class=${look || undefined}>${button}</button>
      <p class="hint">${hint}</p>
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
  { status, title, detail, errors = [], error_count = errors.length }: ProblemDetails,
  placeOf?: (path: string) => Place | null,
): Html {
  const shown = errors.slice(0, PROBLEMS_SHOWN);
  const more = error_count - shown.length;
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
