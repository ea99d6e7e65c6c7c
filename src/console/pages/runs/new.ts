/** A new payroll run: its form, previewed, then saved. */
import type { ProblemDetails } from '../../../api/problem.ts';
import { RUN_BYTES_MAX } from '../../../api/routes/payroll-runs.ts';
import { RUN_DEFAULTS } from '../../../api/run-schemas.ts';
import type { paths } from '../../../client-types.ts';
import { attempt, found } from '../../api-client.ts';
import {
  choiceField,
  choicesOf,
  type ExplainedChoice,
  type FieldProblem,
  linesField,
  type Place,
  problemSummary,
  selectField,
  textField,
} from '../../elements/fields.ts';
import { fitsPath, runPath } from '../../elements/links.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Act, Console, Done, Visit } from '../../page.ts';
import { isFor, schedulesOf } from '../settings/overview.ts';
import { FREQUENCIES, OPTION_NAMES, OPTIONS, RUN_KINDS, type Run } from './labels.ts';
import { previewOf } from './totals.ts';

export function newRunPages({ page, action }: Console): void {
  page('/runs/new', 'runs:read', async (visit) => {
    const { query, may } = visit;
    const copied = query.like === undefined ? null : await copyOf(visit, query.like);
    const typed = copied ?? { ...DEFAULTS, ...(query.employer_id && { employer_id: query.employer_id }) };
    const note =
      copied === null
        ? `There is no run ${query.like} to copy.`
        : copied.pay_date === undefined
          ? `Options copied from ${query.like}. Enter the dates.`
          : `Options copied from ${query.like}, with the next pay date of the schedule.`;
    return {
      title: 'New payroll run',
      body: html`
        ${query.like !== undefined && html`<p class="hint">${note}</p>`}
        ${runForm({ typed, maySave: may('runs:write') })}
      `,
    };
  });

  action('/runs/new', 'runs:read', previewOrSave, { bodyLimit: RUN_BYTES_MAX });
}

async function previewOrSave({ api, may, form: { do: command, ...typed } }: Act): Promise<Html | Done> {
  const body = bodyOf(typed);
  const run_id = (typed.run_id ?? '').trim();
  const isSaved = command === 'save' && run_id !== '' && fitsPath(run_id);
  const { data, problem } = await attempt<object>(
    isSaved
      ? api.send('put', '/v1/payroll-runs/{run_id}', { run_id }, body)
      : api.send('post', '/v1/payroll-runs/preview', {}, body),
    400,
    409,
    422,
  );
  const form = { typed, maySave: may('runs:write') };
  if (command === 'save' && !isSaved) return runForm({ ...form, problem: withIdProblem(problem, run_id) });
  if (problem !== undefined) return runForm({ ...form, problem: isSaved ? ofTakenId(problem) : problem });
  if (isSaved) return { go: runPath(run_id) };
  return runForm({ ...form, below: previewOf(data as Parameters<typeof previewOf>[0]) });
}

/** Reports the problem of the id together with all others. */
function withIdProblem(problem: ProblemDetails | undefined, runId: string): ProblemDetails {
  const rule = runId === '' ? 'is required' : 'must not be . or ..';
  const { errors = [], ...others } = problem ?? { type: '', title: 'The run cannot be saved', status: 422 };
  return { ...others, errors: [{ path: 'run_id', rule }, ...errors] };
}

/** A conflict means that the id is taken. */
function ofTakenId(problem: ProblemDetails): ProblemDetails {
  const { status, title, detail = title } = problem;
  return status === 409 ? { ...problem, errors: [{ path: 'run_id', rule: detail }] } : problem;
}

/** Fills the form from a run, with the next pay date of the employer's schedule; null when there is no such run. */
async function copyOf({ api }: Visit, run_id: string): Promise<Typed | null> {
  const run = await found(api.get('/v1/payroll-runs/{run_id}/outline', { run_id }));
  if (run === null) return null;
  const schedule = (await schedulesOf(api, run.employer_id)).find((one) => isFor(one, run));
  return typedLike(run, schedule?.pay_dates.find(({ pay_date }) => pay_date > run.pay_date) ?? null);
}

/** The values of the fields, without empty ones. */
type Typed = Readonly<Record<string, string>>;
type RunBody = paths['/v1/payroll-runs/{run_id}']['put']['requestBody']['content']['application/json'];
type Field = (name: string) => { name: string; label: string; value: string; problems: FieldProblem[] };

const WORDS = [
  'employer_id',
  'pay_frequency',
  'period_start',
  'period_end',
  'pay_date',
  'kind',
  'pay_group',
  ...OPTION_NAMES,
  'policy_reason',
] as const;
/** One id per line, because an id may contain a space or a comma. */
const LISTS = ['employee_ids', 'deductions', 'final_checks'] as const;

const LABELS: Readonly<Record<string, string>> = {
  run_id: 'Run ID',
  employer_id: 'Employer ID',
  pay_frequency: 'Pay frequency',
  pay_group: 'Pay group',
  period_start: 'Pay period start',
  period_end: 'Pay period end',
  pay_date: 'Pay date',
  kind: 'Kind',
  ...Object.fromEntries(OPTION_NAMES.map((name) => [name, OPTIONS[name].label])),
  policy_reason: 'Reason for a different policy',
  pay_dates: 'Pay dates',
  employee_ids: 'Only these employees',
  deductions: 'Only these deductions',
  final_checks: 'Final paychecks',
};

/** The values of a new form. */
const DEFAULTS: Typed = { pay_frequency: 'biweekly', ...RUN_DEFAULTS };

type Form = { typed: Typed; maySave: boolean; problem?: ProblemDetails; below?: Html };

/** Renders the form with its problems. `below`: a preview. */
function runForm({ typed, problem, below, maySave }: Form): Html {
  const errors = Map.groupBy(problem?.errors ?? [], ({ path }) => fieldOf(path));
  const field: Field = (name) => ({
    name,
    label: LABELS[name] ?? name,
    value: typed[name] ?? '',
    problems: errors.get(name) ?? [],
  });
  return html`
    <div id="run-form">
      ${problem !== undefined && problemSummary(problem, placeOf)}
      <form class="long" novalidate hx-post="/runs/new" hx-target="#run-form" hx-swap="outerHTML" hx-config="timeout:600s">
        ${basicFields(field)}
        <section class="card" aria-labelledby="earlier">
          <h2 id="earlier">Earlier runs</h2>
          <div class="columns">${optionFields(field, ['adjustments', 'arrears'])}</div>
        </section>
        ${rare('Calculation', [...CALCULATION, 'policy_reason'], field, amountFields(field))}
        ${rare('Pay dates of the year', ['pay_dates'], field, calendarField(field))}
        ${rare('Off-cycle runs and selected employees', ['kind', ...LISTS], field, selectionFields(field))}
        <div class="actions">
          <button type="submit" name="do" value="preview" class=${maySave ? 'quiet' : undefined}>Preview</button>
          ${maySave && html`<button type="submit" name="do" value="save">Save the run</button>`}
          <span class="busy soft" role="status">Computing …</span>
        </div>
        <p class="hint">
          ${maySave ? 'A preview saves nothing. A saved run stays open and up to date until you finalize or delete it.' : 'A preview saves nothing. To save a run, your token needs the scope runs:write.'}
        </p>
      </form>
      ${below}
    </div>
  `;
}

/** `employee_ids[3]` is the fourth line of its field. */
function placeOf(path: string): Place | null {
  const id = fieldOf(path);
  if (id === null) return null;
  const [, index] = /\[(\d+)\]$/.exec(path) ?? [];
  const label = LABELS[id] ?? id;
  return { id, label: index === undefined ? label : `${label}, line ${Number(index) + 1}` };
}

function basicFields(field: Field): Html {
  return html`
    <section class="card" aria-labelledby="basics">
      <h2 id="basics">Paycheck</h2>
      <div class="columns">
        ${textField({ ...field('run_id'), required: true, hint: 'Choose any ID, such as acme-2026-07-17: 1 to 128 of A-Z a-z 0-9 . _ -' })}
        ${textField({ ...field('employer_id'), required: true, hint: 'The ID that the census is uploaded for.' })}
        ${selectField({ ...field('pay_frequency'), choices: choicesOf(FREQUENCIES), hint: 'Only employees with this pay frequency are included.' })}
        ${textField({ ...field('pay_group'), hint: 'Only employees in this pay group. Leave empty if the employer has none.' })}
        ${textField({ ...field('period_start'), type: 'date', required: true, hint: 'The first day that this paycheck covers.' })}
        ${textField({ ...field('period_end'), type: 'date', required: true, hint: 'The last day that this paycheck covers.' })}
        ${textField({ ...field('pay_date'), type: 'date', required: true, hint: 'The date employees are paid. It decides the tax year.' })}
      </div>
    </section>
  `;
}

const CALCULATION = ['scheme', 'remainder', 'extra_paycheck', 'applies_on'] as const;
/** The employer's policy decides an option that the run does not set. */
const BY_POLICY: ExplainedChoice = {
  value: '',
  label: 'Employer policy',
  hint: 'Uses the payroll policy of the employer.',
};

function optionFields(field: Field, names: readonly (typeof OPTION_NAMES)[number][]): Html[] {
  return names.map((name) =>
    choiceField({ ...field(name), ...OPTIONS[name], choices: [BY_POLICY, ...OPTIONS[name].choices] }),
  );
}

function amountFields(field: Field): Html {
  return html`
    <div class="columns">
      ${optionFields(field, CALCULATION)}
      ${textField({ ...field('policy_reason'), hint: 'Required if an option here or above differs from the employer’s payroll policy.' })}
    </div>
  `;
}

function calendarField(field: Field): Html {
  return linesField({
    ...field('pay_dates'),
    rows: 6,
    hint: 'All regular pay dates of the calendar year, one per line, such as 2026-07-17. Leave empty to use the employer’s pay schedule. Without a schedule, weekly and biweekly dates are counted from the pay date of the run.',
  });
}

function selectionFields(field: Field): Html {
  return html`
    <div class="columns">
      ${choiceField({ ...field('kind'), choices: RUN_KINDS })}
      ${linesField({ ...field('employee_ids'), hint: 'Employee IDs, one per line; a preview then shows their lines. Leave empty for all.' })}
      ${linesField({ ...field('deductions'), hint: 'Deduction IDs, one per line. Leave empty for all.' })}
      ${linesField({ ...field('final_checks'), hint: 'IDs of employees who left before this pay period and get a final paycheck, one per line.' })}
    </div>
  `;
}

/** Fields that are rarely needed. Open when one differs from a new form or has a problem. */
function rare(title: string, names: readonly string[], field: Field, content: Content): Html {
  const isOpen = names
    .map(field)
    .some(({ name, value, problems }) => problems.length > 0 || value !== (DEFAULTS[name] ?? ''));
  return html`
    <details class="card rare" open=${isOpen}>
      <summary>${title}</summary>
      ${content}
    </details>
  `;
}

/** Builds the API's body from the form. The API validates it. */
function bodyOf(typed: Typed): RunBody {
  const given: (readonly [name: string, value: string | string[]])[] = [
    ...WORDS.map((name) => [name, (typed[name] ?? '').trim()] as const),
    ...LISTS.map((name) => [name, itemsOf(typed[name], /\r?\n/)] as const),
    ['pay_dates', itemsOf(typed.pay_dates, /[\s,;]+/)],
  ];
  return Object.fromEntries(given.filter(([, value]) => value.length > 0)) as unknown as RunBody;
}

function itemsOf(text = '', between: RegExp): string[] {
  return text
    .split(between)
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Fills the form from an earlier run, without its id, pay dates and final paychecks. */
function typedLike(run: Run, dates: Pick<Run, 'pay_date' | 'period_start' | 'period_end'> | null): Typed {
  const { employee_ids, deductions, stated_options } = run;
  const fields: Record<string, string | null> = {
    ...Object.fromEntries(WORDS.map((name) => [name, run[name]])),
    ...Object.fromEntries(
      OPTION_NAMES.map((name) => [name, stated_options.includes(name) ? run[name] : null]),
    ),
    ...(dates ?? { pay_date: null, period_start: null, period_end: null }),
    employee_ids: employee_ids?.join('\n') ?? null,
    deductions: deductions?.join('\n') ?? null,
  };
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== null),
  );
}

/** Returns the field of an API path: `employee_ids` for `employee_ids[3]`. */
function fieldOf(path: string): string | null {
  const [name] = /^[a-z_]+/.exec(path) ?? [];
  return name !== undefined && Object.hasOwn(LABELS, name) ? name : null;
}
