/** Lines of a run or a preview by paycheck, with the explanation of each amount. */
import { listDeductions } from '../../../api/operations/deductions.ts';
import { listPayrollRunLines } from '../../../api/operations/payroll-run-lines.ts';
import { getPayrollRun } from '../../../api/operations/payroll-runs.ts';
import { flagTexts } from '../../../formats/flags.ts';
import { facts, state } from '../../elements/facts.ts';
import { problemSummary } from '../../elements/fields.ts';
import { dayText, money, plain, sentence, term } from '../../elements/format.ts';
import { deductionLink, eventOf, idLink, nameable, overridePath, runLink } from '../../elements/links.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { spanOf } from '../ledger/terms.ts';
import * as labels from './labels.ts';
import { outlineOf } from './state.ts';

type Line = labels.Line;
type Options = {
  /** The run of the lines. A preview has none. */
  readonly run?: labels.Run;
  readonly may: Visit['may'];
  /** The lines of the employee in the previous run. */
  readonly before?: readonly Line[];
  /** The last days of the deductions of an employee who left, by id; null for one without an end. */
  readonly ends?: ReadonlyMap<string, string | null>;
};

/** Renders the lines of a preview in their order, grouped by employee. They link nothing: what is typed would be lost. */
export function paychecks(lines: readonly Line[]): Html {
  const paycheckOf = ([employee, ofEmployee]: [string, Line[]]) => html`
    <section class="card paycheck">
      <h3>${nameable('employee', employee, idLink(null, employee))}</h3>
      ${ofEmployee.map((line) => lineOf(line, { may: () => false }))}
    </section>
  `;
  return html`
    <div class="paychecks">
      ${HEADS}
      ${[...Map.groupBy(lines, (line) => line.employee_id)].map(paycheckOf)}
    </div>
  `;
}

const HEADS = html`<div class="paycheck-heads" aria-hidden="true"><span>Employee amount</span><span>Employer amount</span></div>`;

function lineOf(line: Line, options: Options): Html {
  const { kind, change, amount_change, flags } = line;
  return html`
    <details class="line">
      <summary>
        <span class="of">${term(line.line_of_coverage)}<span class="soft">${`, ${plain(line.taxability)}`}</span></span>
        <span class="says">
          ${kind !== 'regular' && state(kind)}
          ${change !== null && change !== 'same' && state(changeOf(change, line.previous_amount))}
          ${change === 'same' && amount_change !== null && amount_change !== 'same' && state(amount_change === 'changed' ? 'amount changed' : labels.changeName(amount_change))}
          ${flags.map((flag) => state(labels.flagLabel(flag), 'warn'))}
          ${line.unapplied !== null && state(sentence(line.unapplied.message), 'warn')}
        </span>
        <span class="pays"><span class="hidden-label">${'employee amount '}</span>${money(line.member_amount)}</span>
        <span class="pays soft"><span class="hidden-label">${'employer amount '}</span>${money(line.employer_amount)}</span>
      </summary>
      <div class="why">
        <ol class="explanation">${line.explanation.split('; plus ').map((step) => html`<li>${sentence(step)}</li>`)}</ol>
        ${flags.length > 0 && html`<ul>${flags.map((flag) => html`<li>${flagTexts(flag).meaning}</li>`)}</ul>`}
        ${line.unapplied !== null && html`<p>${'The newer amount is in a quarantined event: '}${eventOf(line.unapplied.event_id, options)}</p>`}
        ${factsOf(line, options)}
        ${kind === 'regular' && overrideLink(line, options)}
      </div>
    </details>
  `;
}

/** Links to the form that overrides the amounts of a line of an open run. */
function overrideLink({ employee_id, deduction_id }: Line, { run, may }: Options): Content {
  if (run?.state !== 'open' || !may('runs:write')) return null;
  return html`<p class="on-screen"><a href=${overridePath(run.id, { employee_id, deduction_id })}>Override the amounts …</a></p>`;
}

/** `changed from $57.69`, `replaced, was $57.69`. */
function changeOf(change: NonNullable<Line['change']>, previous: string | null): string {
  const label = labels.changeName(change);
  if (change === 'changed') return `${label} from ${money(previous)}`;
  return (change === 'ended' || change === 'replaced') && previous !== null
    ? `${label}, was ${money(previous)}`
    : label;
}

const RECORDS = {
  event: 'event',
  roster: 'roster report',
  decision: 'assignment to an employer',
  void: 'voided run',
  taken: 'report of amounts taken',
};

/** Shows the record since which the amount of an adjustment or arrears line is due. */
function recordOf({ kind, id }: NonNullable<Line['because']>, options: Options): Html {
  return html`<span>${RECORDS[kind]} ${kind === 'event' ? eventOf(id, options) : html`<code>${id}</code>`}</span>`;
}

function factsOf(line: Line, options: Options): Html {
  const { may, run, before = [], ends = new Map() } = options;
  const { deduction_id, version, adjustment_for, period, employer_payroll_code, employer_treatment } = line;
  const linked = (id: string) => (may('ledger:read') ? deductionLink(id) : idLink(null, id));
  const deduction =
    version === null
      ? linked(deduction_id)
      : html`<span>${linked(deduction_id)}${`, version ${version}`}</span>`;
  const previous = before.find(
    (earlier) => earlier.kind === 'regular' && earlier.deduction_id === deduction_id,
  );
  const contribution = (side: 'member_contribution' | 'employer_contribution') => {
    if (period === null) return false;
    const [now, then] = [line, previous ?? line].map((at) => `${money(at[side])} ${at.period ?? ''}`);
    return now === then ? now : `${now}, in the previous run ${then}`;
  };
  const end = ends.get(deduction_id);
  const treatment = employer_treatment === null ? '' : ` (${employer_treatment})`;
  const signed = (amount: string | null) => (amount?.startsWith('-') === false ? '+' : '') + money(amount);
  const changed =
    line.amount_change !== null &&
    line.amount_change !== 'same' &&
    `${labels.changeName(line.amount_change)}: employee ${signed(line.member_difference)}, employer ${signed(line.employer_difference)}`;
  return facts([
    ['Employee contribution', contribution('member_contribution')],
    ['Employer contribution', contribution('employer_contribution')],
    [
      'In effect on',
      line.kind === 'regular' && run !== undefined && labels.choiceOf('applies_on', run.applies_on)?.label,
    ],
    ['Coverage', end !== undefined && (end === null ? 'no end date' : `through ${dayText(end)}`)],
    ['Replaces deduction', line.replaces_deduction_id !== null && linked(line.replaces_deduction_id)],
    ['Previous run', line.previous_amount !== null && money(line.previous_amount)],
    ['Amount change', changed],
    ['Corrects run', adjustment_for !== null && runLink(adjustment_for)],
    ['Open item', line.item_id],
    ['Because of', line.because !== null && recordOf(line.because, options)],
    ['Deduction', deduction_id !== '' && deduction],
    ['Coverage type', line.coverage_type !== null && plain(line.coverage_type)],
    ['Payroll code', line.payroll_code],
    ['Employer payroll code', employer_payroll_code !== null && employer_payroll_code + treatment],
    ['Description', line.description],
  ]);
}

/** Flags of an employee's last lines, which depend on the end of coverage. */
const LEAVER_FLAGS: Line['flags'] = ['open_after_termination', 'coverage_beyond_last_check'];
/** Lines of one employee: deductions, and adjustments of the year. */
const LINES_OF_EMPLOYEE = 1_000;

/** Reads the lines of an employee in the run of the page's address, or in another run. */
export async function readLines(
  { api }: Visit,
  query: { readonly employee_id: string | undefined; readonly kind?: Line['kind'] },
  run_id?: string,
): Promise<Line[]> {
  const list = { query: { ...query, limit: LINES_OF_EMPLOYEE }, ...(run_id && { params: { run_id } }) };
  return (await api.perform(listPayrollRunLines, list)).data;
}

/** Renders all lines of the employee in the address. */
export async function linesOfEmployee(visit: Visit): Promise<Html> {
  const { query, may } = visit;
  const { employee_id } = query;
  const { data: lines, problem } = await attempt(readLines(visit, { employee_id }), 422);
  if (problem !== undefined) return problemSummary(problem);
  if (lines.length === 0) return html`<p class="soft">No lines in this run.</p>`;
  const before = await linesBefore(visit, lines);
  const options = { run: await outlineOf(visit), may, before, ends: await endsAfterLeaving(visit, lines) };
  return html`<div>${HEADS}${lines.map((line) => lineOf(line, options))}</div>`;
}

/** Returns the lines of the employee in the previous run, if an amount changed since. */
async function linesBefore(visit: Visit, lines: readonly Line[]): Promise<Line[]> {
  if (lines.every(({ amount_change }) => amount_change !== 'changed')) return [];
  const { comparison } = await visit.api.perform(getPayrollRun);
  const { employee_id } = visit.query;
  return comparison === null ? [] : readLines(visit, { employee_id }, comparison.previous_run_id);
}

/** Returns until when deductions cover an employee who left, by id; empty for a user who may not see it. */
async function endsAfterLeaving({ api, query, may }: Visit, lines: readonly Line[]) {
  const { employee_id } = query;
  const isOfLeaver = lines.some(({ flags }) => flags.some((flag) => LEAVER_FLAGS.includes(flag)));
  if (employee_id === undefined || !isOfLeaver || !may('ledger:read')) return new Map();
  const { data } = await api.perform(listDeductions, { query: { employee_id, limit: LINES_OF_EMPLOYEE } });
  return new Map(data.map((deduction) => [deduction.id, spanOf(deduction).until]));
}
