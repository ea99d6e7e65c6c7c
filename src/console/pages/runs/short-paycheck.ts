/** The form that reports what payroll took from one paycheck. */
import { recordTaken } from '../../../api/operations/payroll-run-lines.ts';
import { amountOf, centsOf } from '../../../money.ts';
import { meantAmount, plainAmount, preview, problemSummary } from '../../elements/fields.ts';
import { dayText, money, plain, term } from '../../elements/format.ts';
import { named, runPath } from '../../elements/links.ts';
import { table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Act, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { employeeFinder } from '../../search.ts';
import type { Line, Run } from './labels.ts';
import { readLines } from './paycheck-lines.ts';

/** Prefix of the field of a line, followed by its place among the lines of the employee, which never changes in a final run. */
const AMOUNT = 'amount:';

const NOTHING = html`<p class="one"><input type="checkbox" id="nothing" name="nothing" value="yes" /> <label for="nothing">Nothing was taken from this paycheck</label></p>`;

/** A report that nothing was taken names only these lines, and no refunds. */
function isTakenFrom({ member_amount }: Line): boolean {
  return centsOf(member_amount) > 0n;
}

export async function paycheckForm({ id, employer_id }: Run, visit: Visit): Promise<Html> {
  const { employee_id } = visit.query;
  const path = runPath(id, '/taken');
  if (employee_id === undefined)
    return html`
      <section class="card" aria-labelledby="paycheck">
        <h2 id="paycheck">One employee</h2>
        ${employeeFinder(employer_id, path, 'Enter the amounts')}
      </section>
    `;
  const { data: lines, problem } = await attempt(readLines(visit, { employee_id }), 400, 422);
  if (problem !== undefined) return problemSummary(problem);
  if (lines.length === 0)
    return html`<p>${named('employee', employee_id)}${' has no lines in this run. '}<a href=${path}>Choose another employee</a></p>`;
  return html`
    <form id="paycheck-form" class="card" aria-labelledby="paycheck" hx-post=${`${path}/paycheck`} hx-target="#outcome" hx-swap="innerHTML show:top">
      <h2 id="paycheck">Paycheck of ${named('employee', employee_id)}</h2>
      <p>${'Enter what payroll took, and leave a field empty if the line was taken in full. '}<a href=${path}>Choose another employee</a></p>
      <input type="hidden" name="employee_id" value=${employee_id} />
      <div class="fields">${lines.map(amountField)}</div>
      ${lines.some(isTakenFrom) && NOTHING}
      <p class="one"><input type="checkbox" id="over" name="over" value="yes" /> <label for="over">An amount larger than its line, or of the other sign, is right</label></p>
      ${preview('paycheck-form', `${path}/preview`)}
      <button type="submit" class="while-unchanged">Save the amounts</button>
    </form>
  `;
}

function amountField(line: Line, index: number): Html {
  const { kind, line_of_coverage, taxability, adjustment_pay_date, member_amount } = line;
  const of = kind === 'regular' ? '' : `, ${kind} of ${adjustment_pay_date && dayText(adjustment_pay_date)}`;
  return html`
    <div class="field">
      <label for=${`line-${index}`}>${term(line_of_coverage)}${`, ${plain(taxability)}${of}`}</label>
      <input id=${`line-${index}`} name=${AMOUNT + index} inputmode="decimal" size="12" autocomplete="off" aria-describedby=${`line-${index}-hint`} />
      <p class="hint" id=${`line-${index}-hint`}>${`${money(member_amount)} in the run.`}</p>
    </div>
  `;
}

/** Shows what each line of the form would leave open. */
export async function leftOpen(act: Act): Promise<Html> {
  const { employee_id = '', nothing, ...fields } = act.form;
  const rows = (await readLines(act, { employee_id })).flatMap((line, index) => {
    const isNothing = nothing !== undefined && isTakenFrom(line);
    const taken = meantAmount(fields[AMOUNT + index]) ?? (isNothing ? 0n : null);
    return taken === null ? [] : [{ ...line, taken }];
  });
  if (rows.length === 0) return html`<p class="hint">Every line counts as taken in full.</p>`;
  return table(rows, { caption: 'What stays open' }, [
    ['Line', ({ line_of_coverage }) => term(line_of_coverage), 'name'],
    ['In the run', ({ member_amount }) => money(member_amount), 'number'],
    ['Taken', ({ taken }) => money(amountOf(taken)), 'number'],
    ['Open', ({ taken, member_amount }) => money(amountOf(centsOf(member_amount) - taken)), 'number'],
  ]);
}

/** Returns the lines of a report with the amounts of the form. */
export async function reportedAmounts(act: Act): Promise<{ lines: object[] }> {
  const { employee_id = '', over, nothing, ...fields } = act.form;
  const lines = await readLines(act, { employee_id });
  const reported = lines.flatMap((line, index) => {
    const amount = plainAmount(fields[AMOUNT + index]);
    return amount === undefined ? [] : [{ employee_id, amount, over: over !== undefined, ...namesOf(line) }];
  });
  // With an amount too, the API refuses the line that both name.
  return { lines: nothing === undefined ? reported : [{ employee_id, amount: '0.00' }, ...reported] };
}

/** Returns the optional columns of a report that a line has. They distinguish it from other lines of its employee. */
function namesOf(line: Line): object {
  const names: readonly string[] = recordTaken.rows?.optional ?? [];
  return Object.fromEntries(Object.entries(line).filter(([name]) => names.includes(name)));
}
