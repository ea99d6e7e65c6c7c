/** Fields of forms with their labels, hints and problems, and the summary of a rejected form. */
import { type ProblemDetails, problemOf, Refusal } from '../../api/problem.ts';
import { toMilliseconds } from '../../api/schemas.ts';
import { REASON_MAX_CHARACTERS } from '../../contract/fields.ts';
import { toInstant } from '../../contract/instant.ts';
import * as meant from '../../contract/meant.ts';
import type { Problem } from '../../errors.ts';
import { type Cents, centsOf } from '../../money.ts';
import { type Content, type Html, html } from '../html.ts';
import { capitalized, count, plain } from './format.ts';
import type { Query } from './links.ts';

export type Choice = { readonly value: string; readonly label: string; readonly hint?: Content };

/** A field of a form. With `rows` it has lines, with `choices` it is a list or, if they are explained, radio buttons. */
export type Field = {
  readonly name: string;
  readonly label: string;
  readonly hint?: Content;
  readonly value: string;
  readonly problems?: readonly Problem[];
  /** Replaces a rule of the API that is about the JSON of the value. */
  readonly rule?: string;
  readonly required?: boolean;
  /** `datetime-local` is UTC. The page's script shows it, and sends it, from the local time. */
  readonly type?: 'text' | 'date' | 'datetime-local';
  readonly size?: number;
  readonly rows?: number;
  readonly suggestions?: readonly string[];
  readonly choices?: readonly Choice[];
};
/** Fields by name, without what a user entered. */
export type Specs = Readonly<Record<string, Omit<Field, 'name' | 'value' | 'problems'>>>;

/** The required reason of an action. `kept`: a sentence that says where it is stored. */
export function reasonSpec(kept: string): Specs[string] {
  return { label: 'Reason', required: true, hint: `${kept} At most ${REASON_MAX_CHARACTERS} characters.` };
}

export const ANY: Choice = { value: '', label: 'Any' };

/** Turns values, or a map from values to labels, into choices. Their labels start with a capital letter. */
export function choicesOf(labels: Readonly<Record<string, string>> | readonly string[]): Choice[] {
  const pairs = Array.isArray(labels)
    ? labels.map((value: string) => [value, plain(value)] as const)
    : Object.entries(labels);
  return pairs.map(([value, label]) => ({ value, label: capitalized(label) }));
}

export function field(spec: Field): Html {
  const { name, label, value, type = 'text', size, rows, suggestions, choices, problems = [] } = spec;
  const attributes = {
    id: name,
    name,
    required: spec.required ?? false,
    'aria-describedby': describedBy(spec),
    'aria-invalid': problems.length > 0 ? 'true' : undefined,
  };
  if (choices?.some(({ hint }) => hint !== undefined)) return radioButtons(spec, choices);
  const isTime = type === 'datetime-local';
  const text =
    isTime && toInstant(value) !== null ? toMilliseconds(value).replace(/(:00)?(\.0+)?Z$/, '') : value;
  const list = suggestions && `${name}-suggestions`;
  const input =
    choices !== undefined
      ? html`<select ...${attributes}>${optionsOf(choices, value)}</select>`
      : rows !== undefined
        ? html`<textarea rows=${rows} autocomplete="off" ...${attributes}>${value}</textarea>`
        : html`<input type=${type} step=${isTime ? 'any' : undefined} size=${size} list=${list} value=${text} autocomplete="off" ...${attributes} />`;
  return html`
    <div class=${problems.length > 0 ? 'field wrong' : 'field'}>
      <label for=${name}>${label}${isTime && html`<span class="zone"> (UTC)</span>`}</label>
      ${problemsOf(spec)}
      ${input}
      ${suggestions && html`<datalist id=${list}>${suggestions.map((text) => html`<option value=${text}></option>`)}</datalist>`}
      ${hintOf(spec)}
    </div>
  `;
}

export function optionsOf(choices: readonly Choice[], selected: string): Html[] {
  return choices.map(
    ({ value, label }) => html`<option value=${value} selected=${value === selected}>${label}</option>`,
  );
}

function radioButtons(spec: Field, choices: readonly Choice[]): Html {
  const { name, label, value } = spec;
  const buttons = choices.map((choice) => {
    const id = `${name}-${choice.value}`;
    return html`
      <div class="one">
        <input type="radio" name=${name} id=${id} value=${choice.value} checked=${choice.value === value} aria-describedby=${`${id}-hint`} />
        <label for=${id}>${choice.label}</label>
        <p class="hint" id=${`${id}-hint`}>${choice.hint}</p>
      </div>
    `;
  });
  return html`
    <fieldset class="field choice" id=${name} aria-describedby=${describedBy(spec)}>
      <legend>${label}</legend>
      ${problemsOf(spec)}
      ${hintOf(spec)}
      ${buttons}
    </fieldset>
  `;
}

/** Returns the IDs in the names of a form's fields that start with `prefix`. */
export function idsIn(form: Query, prefix: string): string[] {
  return Object.keys(form).flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
}

/** Renders a hidden field for each value. Undefined values have none. */
export function hiddenFields(values: Query): Html[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [html`<input type="hidden" name=${name} value=${value} />`],
  );
}

function describedBy({ name, hint, problems = [] }: Field): string | undefined {
  const ids = [problems.length > 0 && `${name}-problem`, hint !== undefined && `${name}-hint`];
  return ids.filter((id) => id !== false).join(' ') || undefined;
}

function hintOf({ name, hint }: Field): Content {
  return hint !== undefined && html`<p class="hint" id=${`${name}-hint`}>${hint}</p>`;
}

function problemsOf({ name, problems = [] }: Field): Content {
  if (problems.length === 0) return null;
  const texts = problems.map(({ path, rule, hint }) =>
    [ruleText(path === name ? rule : `${path} ${rule}`), ...(hint === undefined ? [] : [hint])].join('; '),
  );
  return html`<p class="field-problem" id=${`${name}-problem`}>${texts.join('; ')}</p>`;
}

/** `hidden`: what the user saw, so that the decision is about that. */
type Decision = { button: string; look?: string; hint: string; reason?: string; hidden?: Query };

/** Renders a button that decides something, with an explanation; and a field for the reason if it has a label. */
export function decision(
  post: string,
  { button, look = 'quiet', hint, reason, hidden = {} }: Decision,
): Html {
  return html`
    <form class="decision" hx-post=${post}>
      ${hiddenFields(hidden)}
      ${reason !== undefined && reasonField(reason, post)}
      <button type="submit" class=${look || undefined}>${button}</button>
      <p class="hint">${hint}</p>
    </form>
  `;
}

/** Renders the same below a summary. Refreshes of a part keep what is typed. */
export function foldedDecision(summary: string, post: string, options: Decision): Html {
  return html`<details id=${`decide-${post}`} hx-morph-skip><summary>${summary}</summary>${decision(post, options)}</details>`;
}

/** Renders the field for the reason of a decision, which is sent to `post`. */
export function reasonField(label: string, post: string): Html {
  const id = `reason-${post}`;
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      <input id=${id} name="reason" required maxlength=${REASON_MAX_CHARACTERS} autocomplete="off" />
    </div>
  `;
}

/** Writes the names of fields in a rule as words: `pay_group` as `pay group`. */
export function ruleText(rule: string): string {
  return rule.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, plain);
}

/**
 * Renders what a form would do, before it is saved. The element asks again when a field of the form changes: the action at
 * `path` gets the form. The form's buttons stay enabled meanwhile, because a click on one is often what ends a change.
 */
export function preview(formId: string, path: string, content: Content = null): Html {
  return html`<div class="preview-of" aria-live="polite" hx-post=${path} hx-trigger=${`change from:#${formId} delay:200ms`} hx-include=${`#${formId}`} hx-target="this" hx-swap="innerHTML" hx-disable="">${content}</div>`;
}

/** Returns an amount as the API reads it, for a text with one meaning: `−$1,205.27`, as pages print it, is -1205.27. */
export function plainAmount(text: string | undefined): string | undefined {
  const typed = text?.trim();
  return typed ? (meant.meantAmount(typed) ?? typed) : undefined;
}

/** Returns the amount that a text means, for a preview; null for an empty field and for what the API will refuse. */
export function meantAmount(text: string | undefined): Cents | null {
  const [, whole, cents = ''] = /^(-?\d{1,12})(?:\.(\d{1,2}))?$/.exec(plainAmount(text) ?? '') ?? [];
  return whole === undefined ? null : centsOf(`${whole}.${cents.padEnd(2, '0')}`);
}

/** A box that selects all boxes of its form, with the page's script. */
export const SELECT_ALL = html`<p class="one on-screen"><input type="checkbox" class="select-all" id="select-all" /> <label for="select-all">Select all on this page</label></p>`;

/** Returns what the API would report for fields that the page refuses. */
export function problemIn(problems: readonly Problem[]): ProblemDetails {
  return problemOf(new Refusal('INVALID_REQUEST', '', { problems: [...problems] }));
}

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
  const items = errors.slice(0, PROBLEMS_SHOWN).map(({ path, rule }) => {
    const place = placeOf?.(path);
    return html`<li>${place ? html`<a href=${`#${place.id}`}>${place.label}</a>` : html`<code>${path}</code>`}${` ${place ? ruleText(rule) : rule}`}</li>`;
  });
  const more = error_count - items.length;
  return html`
    <div class="problem" role="alert" tabindex="-1" autofocus=${placeOf !== undefined}>
      <strong>${status === 400 && errors.length > 0 ? 'Fix these fields first' : title}</strong>
      ${errors.length === 0 && detail !== undefined && html`<p>${detail}</p>`}
      ${items.length > 0 && html`<ul>${items}${more > 0 && html`<li>${`and ${count(more)} more`}</li>`}</ul>`}
    </div>
  `;
}

/**
 * Renders the fields of a form with what the user entered and the problems that the API reported, and their summary.
 * `elsewhere` returns the place of a path that is in no field of `specs`.
 */
export function filledForm(
  specs: Specs,
  typed: Readonly<Record<string, unknown>>,
  problem?: ProblemDetails,
  elsewhere?: (path: string) => Place | null,
) {
  /** `employee_ids[3]` is the fourth line of its field. */
  const placeOf = (path: string): Place | null => {
    const [, id = '', index] = /^([a-z_]+)(?:\[(\d+)\])?/.exec(path) ?? [];
    const label = Object.hasOwn(specs, id) ? specs[id]?.label : undefined;
    if (label === undefined) return elsewhere?.(path) ?? null;
    return { id, label: index === undefined ? label : `${label}, line ${Number(index) + 1}` };
  };
  // For an empty field, the API reports the rule of its format. The user only needs to enter a value.
  const isMissing = (name: string) =>
    specs[name]?.required === true && String(typed[name] ?? '').trim() === '';
  const errors = problem?.errors?.map((error) => {
    const isNamed = error.rule.startsWith('is required');
    if (isMissing(error.path) && !isNamed) return { ...error, rule: 'is required' };
    const [name = ''] = error.path.split('.');
    return { ...error, rule: specs[name]?.rule ?? error.rule };
  });
  const wrong = Map.groupBy(errors ?? [], ({ path }) => placeOf(path)?.id);
  return {
    summary: problem !== undefined && problemSummary({ ...problem, ...(errors && { errors }) }, placeOf),
    isWrong: (name: string) => wrong.has(name),
    fieldOf: (name: string) => {
      const { label, ...spec } = specs[name] ?? { label: name };
      return field({
        ...spec,
        name,
        label,
        value: String(typed[name] ?? ''),
        problems: wrong.get(name) ?? [],
      });
    },
  };
}
