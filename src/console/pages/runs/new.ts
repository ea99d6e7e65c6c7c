/** A new payroll run: its form, previewed, then saved. */

import {
  previewPayrollRun,
  putPayrollRun,
  RUN_BYTES_MAX,
} from '../../../api/operations/payroll-run-creation.ts';
import { getPayrollRunOutline } from '../../../api/operations/payroll-runs.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { RUN_DEFAULTS } from '../../../api/run-schemas.ts';
import { choicesOf, filledForm, type Specs } from '../../elements/fields.ts';
import { lacksScope } from '../../elements/format.ts';
import { address, fitsPath, type Query, runPath } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';
import type { Act, Console, Done, Visit } from '../../page.ts';
import { attempt, dataOrNull } from '../../performing.ts';
import { isFor, scheduleYearsOf } from '../settings/overview.ts';
import { FREQUENCIES, RUN_KINDS } from './labels.ts';
import { previewOf } from './totals.ts';

export function newRunPages({ page, action }: Console): void {
  page('/runs/new', 'runs:read', async (visit) => {
    const { query, may } = visit;
    const copied = query.like === undefined ? null : await copyOf(visit, query.like);
    const { kind = DEFAULTS.kind, employer_id } = query;
    const typed = copied ?? { ...DEFAULTS, kind, employer_id };
    const note =
      copied === null
        ? `There is no run ${query.like} to copy.`
        : copied.pay_date === undefined
          ? `Copied from ${query.like}. Enter the dates.`
          : `Copied from ${query.like}. Check the pay date.`;
    const body = html`
      ${query.like !== undefined && html`<p class="hint">${note}</p>`}
      ${runForm({ typed, maySave: may('runs:write') })}
    `;
    return { title: typed.kind === 'off_cycle' ? 'New off-cycle run' : 'New payroll run', body };
  });

  action('/runs/new', 'runs:read', previewOrSave, { bodyLimit: RUN_BYTES_MAX });
}

async function previewOrSave({ api, may, form: { do: command, ...typed } }: Act): Promise<Html | Done> {
  const body = bodyOf(typed);
  const run_id = (typed.run_id ?? '').trim();
  const isSaved = command === 'save' && run_id !== '' && fitsPath(run_id);
  const call: Promise<object> = isSaved
    ? api.perform(putPayrollRun, { params: { run_id }, body })
    : api.perform(previewPayrollRun, { body });
  const { data, problem } = await attempt(call, 400, 409, 422);
  const form = { typed, maySave: may('runs:write') };
  if (command === 'save' && !isSaved) {
    // Reports the problem of the id together with all others.
    const rule = run_id === '' ? 'is required' : 'must not be . or ..';
    const { errors = [], ...others } = problem ?? { type: '', title: 'The run cannot be saved', status: 422 };
    return runForm({ ...form, problem: { ...others, errors: [{ path: 'run_id', rule }, ...errors] } });
  }
  if (problem !== undefined) {
    const { status, title, detail: rule = title } = problem;
    const isIdTaken = isSaved && status === 409;
    return runForm({
      ...form,
      problem: isIdTaken ? { ...problem, errors: [{ path: 'run_id', rule }] } : problem,
    });
  }
  if (isSaved) return { go: address(runPath(run_id), { saved: 'true' }) };
  return runForm({ ...form, below: previewOf(data as Parameters<typeof previewOf>[0], { may }) });
}

/**
 * Fills the form from a run, without its id and final paychecks. The pay date of a voided run is free again; other runs
 * have the next pay date of the employer's schedule, or none. Returns null when there is no such run.
 */
async function copyOf({ api }: Visit, run_id: string): Promise<Query | null> {
  const run = await dataOrNull(api.perform(getPayrollRunOutline, { params: { run_id } }));
  if (run === null) return null;
  const { employer_id, employee_ids, deductions } = run;
  const years = (await scheduleYearsOf(api, employer_id)).toReversed();
  const schedules = years.flatMap((year) => year.schedules).filter((schedule) => isFor(schedule, run));
  const payDates = schedules.flatMap(({ pay_dates }) => pay_dates);
  const next = payDates.find(({ pay_date }) => pay_date > run.pay_date);
  const dates = run.state === 'voided' ? run : next;
  return {
    ...Object.fromEntries(WORDS.map((name) => [name, run[name as 'pay_group'] ?? undefined])),
    pay_date: dates?.pay_date,
    period_start: dates?.period_start,
    period_end: dates?.period_end,
    employee_ids: employee_ids?.join('\n'),
    deductions: deductions?.join('\n'),
  };
}

const date = { type: 'date', required: true } as const;
const BASICS: Specs = {
  run_id: {
    label: 'Run ID',
    required: true,
    hint: 'Choose any ID, such as acme-2026-07-17: 1 to 128 of A-Z a-z 0-9 . _ -',
  },
  employer_id: { label: 'Employer ID', required: true, hint: 'The ID that the census is uploaded for.' },
  pay_frequency: {
    label: 'Pay frequency',
    choices: choicesOf(FREQUENCIES),
    hint: 'Only employees with this pay frequency are included.',
  },
  pay_group: {
    label: 'Pay group',
    hint: 'Only employees in this pay group. Leave empty if the employer has no pay groups.',
  },
  period_start: { label: 'Pay period start', ...date, hint: 'The first day that this paycheck covers.' },
  period_end: { label: 'Pay period end', ...date, hint: 'The last day that this paycheck covers.' },
  pay_date: { label: 'Pay date', ...date, hint: 'The date employees are paid. It decides the tax year.' },
};
const list = (label: string, hint: string) => ({ label, rows: 3, hint });
/** One id per line, because an id may contain a space or a comma. */
const LISTS: Specs = {
  employee_ids: list(
    'Only these employees',
    'Employee IDs, one per line; a preview then shows their lines. Leave empty for all.',
  ),
  deductions: list(
    'Deductions of an off-cycle run',
    'Deduction IDs, one per line. A regular run takes all deductions.',
  ),
  items: list(
    'Open items of an off-cycle run',
    'Item IDs, one per line. Leave empty to take all items of its employees that it may take.',
  ),
  final_checks: list(
    'Final paychecks',
    'IDs of employees who left and get a final paycheck, one per line. It takes the rest of the month in which they left.',
  ),
};
const SELECTION: Specs = { kind: { label: 'Kind', choices: RUN_KINDS }, ...LISTS };
const SPECS: Specs = { ...BASICS, ...SELECTION };
/** The fields of one value; the run id is in the path. */
const WORDS = Object.keys(SPECS).filter((name) => name !== 'run_id' && !(name in LISTS));

const DEFAULTS: Query = { pay_frequency: 'biweekly', ...RUN_DEFAULTS };

type Form = { typed: Query; maySave: boolean; problem?: ProblemDetails; below?: Html };

/** Renders the form with its problems. `below`: a preview. */
function runForm({ typed, problem, below, maySave }: Form): Html {
  const { summary, isWrong, fieldOf } = filledForm(SPECS, typed, problem);
  const open = (id: string, title: string, specs: Specs) => html`
    <section class="card" aria-labelledby=${id}>
      <h2 id=${id}>${title}</h2>
      <div class="columns">${Object.keys(specs).map(fieldOf)}</div>
    </section>
  `;
  // Fields that are rarely needed. Open when one differs from a new form or has a problem.
  const rare = (title: string, specs: Specs) => {
    const names = Object.keys(specs);
    const isOpen = names.some((name) => isWrong(name) || typed[name] !== DEFAULTS[name]);
    return html`
      <details class="card rare" open=${isOpen}>
        <summary>${title}</summary>
        <div class=${names.length > 1 ? 'columns' : undefined}>${names.map(fieldOf)}</div>
      </details>
    `;
  };
  const saving = maySave
    ? 'A saved run stays open and up to date until you finalize or delete it.'
    : lacksScope('To save a run', 'runs:write');
  return html`
    <div id="run-form">
      ${summary}
      <form class="long" novalidate hx-post="/runs/new" hx-target="#run-form" hx-swap="outerHTML" hx-config="timeout:600s">
        ${open('basics', 'Paycheck', BASICS)}
        ${rare('Off-cycle runs and selected employees', SELECTION)}
        <div class="actions">
          <button type="submit" name="do" value="preview" class=${maySave ? 'quiet' : undefined}>Preview</button>
          ${maySave && html`<button type="submit" name="do" value="save">Save the run</button>`}
          <span class="busy soft" role="status">Computing …</span>
        </div>
        <p class="hint">${`A preview saves nothing. ${saving}`}</p>
      </form>
      ${below}
    </div>
  `;
}

/** Builds the API's body from the form. The API validates it. */
function bodyOf(typed: Query): object {
  const fields: (readonly [name: string, value: string | unknown[]])[] = [
    ...WORDS.map((name) => [name, (typed[name] ?? '').trim()] as const),
    ...Object.keys(LISTS).map((name) => [name, itemsOf(typed[name], /\r?\n/)] as const),
  ];
  return Object.fromEntries(fields.filter(([, value]) => value.length > 0));
}

function itemsOf(text = '', between: RegExp): string[] {
  const items = text.split(between).map((item) => item.trim());
  return items.filter((item) => item !== '');
}
