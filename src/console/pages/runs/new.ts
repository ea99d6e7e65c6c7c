/** A new payroll run: its form, previewed, then saved. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { RUN_BYTES_MAX } from '../../../api/routes/payroll-runs.ts';
import { RUN_DEFAULTS } from '../../../api/run-schemas.ts';
import type { paths } from '../../../client-types.ts';
import { found, rejectedByApi } from '../../api-client.ts';
import {
  choiceField,
  choicesOf,
  type FieldProblem,
  linesField,
  type Place,
  problemSummary,
  selectField,
  textField,
} from '../../elements/fields.ts';
import { fitsPath, runPath } from '../../elements/links.ts';
import { type Content, type Html, html } from '../../html.ts';
import { type Act, action, type ConsoleParts, page, type Visit } from '../../page.ts';
import { isFor, schedulesOf } from '../settings/overview.ts';
import * as labels from './labels.ts';
import { previewOf } from './totals.ts';

export function newRunPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/runs/new', scope: 'runs:read' }, async (visit) => {
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
      place: 'runs',
      body: html`
        ${query.like !== undefined && html`<p class="hint">${note}</p>`}
        ${runForm({ typed, maySave: may('runs:write') })}
      `,
    };
  });

  action(app, parts, { url: '/runs/new', scope: 'runs:read', bodyLimit: RUN_BYTES_MAX }, async (act) => {
    const { do: command, ...typed } = act.form;
    return command === 'save' ? save(act, typed) : preview(act, typed);
  });
}

async function preview({ api, may }: Act, typed: Typed) {
  const { data, error } = await api.POST('/v1/payroll-runs/preview', { body: bodyOf(typed) });
  const form = { typed, maySave: may('runs:write') };
  if (data === undefined) return runForm({ ...form, problem: formProblem(error) });
  return runForm({ ...form, below: previewOf(data) });
}

async function save({ api, may }: Act, typed: Typed) {
  const run_id = (typed.run_id ?? '').trim();
  const body = bodyOf(typed);
  const { error } =
    run_id === '' || !fitsPath(run_id)
      ? withIdProblem((await api.POST('/v1/payroll-runs/preview', { body })).error, run_id)
      : await api.PUT('/v1/payroll-runs/{run_id}', { params: { path: { run_id } }, body });
  if (error === undefined) return { go: runPath(run_id) };
  return runForm({ typed, maySave: may('runs:write'), problem: formProblem(error) });
}

/** Reports the problem of the id together with all others. */
function withIdProblem(error: unknown, runId: string): { error: ProblemDetails } {
  const problem = (error ?? { title: 'The run cannot be saved', status: 422 }) as ProblemDetails;
  const rule = runId === '' ? 'is required' : 'must not be . or ..';
  return { error: { ...problem, errors: [{ path: 'run_id', rule }, ...(problem.errors ?? [])] } };
}

/** A conflict means that the id is taken. Other problems without fields get a page of their own. */
function formProblem(error: unknown): ProblemDetails {
  const problem = error as ProblemDetails;
  if (problem.status === 409) {
    return { ...problem, errors: [{ path: 'run_id', rule: problem.detail ?? problem.title }] };
  }
  if (problem.errors === undefined) throw rejectedByApi(problem);
  return problem;
}

/** Fills the form from a run, with the next pay date of the employer's schedule; null when there is no such run. */
async function copyOf({ api }: Visit, runId: string): Promise<Typed | null> {
  const run = found(
    await api.GET('/v1/payroll-runs/{run_id}/outline', { params: { path: { run_id: runId } } }),
  );
  if (run === null) return null;
  const schedule = (await schedulesOf(api, run.employer_id)).find((one) => isFor(one, run));
  return typedLike(run, schedule?.pay_dates.find(({ pay_date }) => pay_date > run.pay_date) ?? null);
}

/** The values of the fields, without empty ones. */
type Typed = Readonly<Record<string, string>>;
type RunBody = paths['/v1/payroll-runs/{run_id}']['put']['requestBody']['content']['application/json'];
type Field = (name: string) => { name: string; label: string; value: string; problems: FieldProblem[] };

const OPTIONS = ['scheme', 'applies_on', 'remainder', 'extra_paycheck', 'adjustments', 'arrears'] as const;
const WORDS = [
  'employer_id',
  'pay_frequency',
  'period_start',
  'period_end',
  'pay_date',
  'kind',
  'pay_group',
  ...OPTIONS,
  'policy_reason',
] as const;
/** One id per line, because an id may contain a space or a comma. */
const LISTS = ['employee_ids', 'deductions', 'final_checks'] as const;
const FIELDS: readonly string[] = ['run_id', ...WORDS, ...LISTS, 'pay_dates'];

const LABELS: Readonly<Record<string, string>> = {
  run_id: 'Run ID',
  employer_id: 'Employer ID',
  pay_frequency: 'Pay frequency',
  pay_group: 'Pay group',
  period_start: 'Pay period start',
  period_end: 'Pay period end',
  pay_date: 'Pay date',
  kind: 'Kind',
  ...labels.OPTIONS,
  policy_reason: 'Reason for a different policy',
  pay_dates: 'Pay dates',
  employee_ids: 'Only these employees',
  deductions: 'Only these deductions',
  final_checks: 'Final paychecks',
};

/** The values of a new form. */
const DEFAULTS: Typed = { pay_frequency: 'biweekly', ...RUN_DEFAULTS };

/** Renders the form with its problems. `below`: a preview. */
function runForm({
  typed,
  problem,
  below,
  maySave,
}: {
  typed: Typed;
  problem?: ProblemDetails;
  below?: Html;
  maySave: boolean;
}): Html {
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
        ${earlierFields(field)}
        ${rare('Calculation', ['scheme', 'remainder', 'extra_paycheck', 'applies_on', 'policy_reason'], field, amountFields(field))}
        ${rare('Pay dates of the year', ['pay_dates'], field, calendarField(field))}
        ${rare('Off-cycle runs and selected employees', ['kind', 'employee_ids', 'deductions', 'final_checks'], field, selectionFields(field))}
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
        ${selectField({ ...field('pay_frequency'), choices: choicesOf(labels.FREQUENCIES), hint: 'Only employees with this pay frequency are included.' })}
        ${textField({ ...field('pay_group'), hint: 'Only employees in this pay group. Leave empty if the employer has none.' })}
        ${textField({ ...field('period_start'), type: 'date', required: true, hint: 'The first day that this paycheck covers.' })}
        ${textField({ ...field('period_end'), type: 'date', required: true, hint: 'The last day that this paycheck covers.' })}
        ${textField({ ...field('pay_date'), type: 'date', required: true, hint: 'The date employees are paid. It decides the tax year.' })}
      </div>
    </section>
  `;
}

function earlierFields(field: Field): Html {
  return html`
    <section class="card" aria-labelledby="earlier">
      <h2 id="earlier">Earlier runs</h2>
      <div class="columns">
        ${choiceField({ ...field('adjustments'), hint: 'Differences from earlier finalized runs of the year, caused by late changes.', choices: withPolicy(labels.ADJUSTMENTS) })}
        ${choiceField({ ...field('arrears'), hint: 'Amounts that payroll reported as not taken in earlier runs.', choices: withPolicy(labels.ARREARS) })}
      </div>
    </section>
  `;
}

function amountFields(field: Field): Html {
  return html`
    <div class="columns">
      ${choiceField({ ...field('scheme'), hint: 'How a deduction for another period is divided among paychecks.', choices: withPolicy(labels.SCHEMES) })}
      ${choiceField({ ...field('remainder'), hint: 'Which paycheck takes the cents left over from a division.', choices: withPolicy(labels.REMAINDERS) })}
      ${choiceField({ ...field('extra_paycheck'), hint: 'Some years have one more paycheck than usual.', choices: withPolicy(labels.EXTRA_PAYCHECKS) })}
      ${choiceField({ ...field('applies_on'), hint: 'A deduction is taken if it is in effect on this day.', choices: withPolicy(labels.APPLIES_ON) })}
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
      ${choiceField({ ...field('kind'), choices: labels.explained(labels.RUN_KINDS) })}
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

/** The employer's policy decides an option that the run does not set. */
function withPolicy(meanings: Readonly<Record<string, string>>) {
  return [
    { value: '', label: 'Employer policy', hint: 'Uses the payroll policy of the employer.' },
    ...labels.explained(meanings),
  ];
}

/** Builds the API's body from the form. The API validates it. */
function bodyOf(typed: Typed): RunBody {
  const words = WORDS.map((name) => [name, (typed[name] ?? '').trim()] as const);
  const lists = LISTS.map((name) => [name, linesOf(typed[name])] as const);
  const days = (typed.pay_dates ?? '').split(/[\s,;]+/).filter((day) => day !== '');
  const given = [...words, ...lists, ['pay_dates', days] as const];
  return Object.fromEntries(given.filter(([, value]) => value.length > 0)) as unknown as RunBody;
}

/** Fills the form from an earlier run, without its id, pay dates and final paychecks. */
function typedLike(
  run: labels.Run,
  dates: Pick<labels.Run, 'pay_date' | 'period_start' | 'period_end'> | null,
): Typed {
  const { employee_ids, deductions } = run;
  const fields: Record<string, string | null> = {
    ...Object.fromEntries(WORDS.map((name) => [name, run[name]])),
    ...Object.fromEntries(
      OPTIONS.map((name) => [name, run.stated_options.includes(name) ? run[name] : null]),
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
  return name !== undefined && FIELDS.includes(name) ? name : null;
}

function linesOf(text = ''): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
