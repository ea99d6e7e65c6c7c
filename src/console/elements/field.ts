/** Fields of forms: each with its label, what it means, and what is wrong with it. */
import { type Content, type Html, html } from '../html.ts';

/** One thing that is wrong with what was sent: the API's path and rule. */
export type FieldProblem = { readonly path: string; readonly rule: string };

type Described = {
  readonly name: string;
  readonly label: string;
  readonly hint?: Content;
  readonly value: string;
  readonly problems?: readonly FieldProblem[];
  readonly required?: boolean;
};

/** A line of text, a day, or a time, which is one in UTC: the label says so. */
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

/** Several lines of text. */
export function linesField({ rows = 3, ...field }: Described & { rows?: number }): Html {
  const { name, value } = field;
  return around(
    field,
    html`<textarea id=${name} name=${name} rows=${rows} autocomplete="off" ...${linked(field)}>${value}</textarea>`,
  );
}

export type Choice = { readonly value: string; readonly label: string };

/** The choice that narrows nothing. */
export const ANY: Choice = { value: '', label: 'any' };

/** `said`: the label of each value. */
export function choicesOf(said: Readonly<Record<string, string>>): Choice[] {
  return Object.entries(said).map(([value, label]) => ({ value, label }));
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

/** A choice of few, each with a sentence that says what it does. */
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

/** What a form sends along and nobody types, by the names of its fields. */
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
