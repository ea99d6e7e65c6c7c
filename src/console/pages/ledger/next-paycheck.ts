/** The next paychecks of an employee: the lines in the open runs of the payrolls that are due. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import type { getEmployee } from '../../../api/operations/employees.ts';
import { listPayrollsDue } from '../../../api/operations/payrolls-due.ts';
import { state } from '../../elements/facts.ts';
import { dayText, sentence, term } from '../../elements/format.ts';
import { runEmployeePath } from '../../elements/links.ts';
import { AMOUNT_COLUMNS, table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { flagLabel, type Line } from '../runs/labels.ts';
import { readLines } from '../runs/paycheck-lines.ts';

export type DuePayrolls = ReadonlyMap<string, readonly RowOf<typeof listPayrollsDue>[]>;

/** Returns the payrolls that are due of the employers of an employee; none for a user who may not read runs. */
export async function payrollsOfEmployee(
  { api, may }: Visit,
  { employments }: ResultOf<typeof getEmployee>,
): Promise<DuePayrolls> {
  const due = new Map<string, RowOf<typeof listPayrollsDue>[]>();
  if (!may('runs:read')) return due;
  for (const { employer_id } of employments)
    due.set(employer_id, (await api.perform(listPayrollsDue, { query: { employer_id } })).data);
  return due;
}

/** Renders the lines of each open run that has any. */
export async function nextPaychecks(
  visit: Visit,
  { id: employee_id }: ResultOf<typeof getEmployee>,
  due: DuePayrolls,
): Promise<Html[]> {
  const shown: Html[] = [];
  for (const { run_id, pay_date, state: now } of [...due.values()].flat()) {
    if (run_id === null || pay_date === null || now === 'finalized') continue;
    // A run that cannot be computed has no lines, and its page states why.
    const { data: lines = [] } = await attempt(readLines(visit, { employee_id }, run_id), 409, 422);
    if (lines.length > 0) shown.push(paycheck(lines, { run_id, pay_date }));
  }
  return shown;
}

function paycheck(lines: readonly Line[], run: { run_id: string; pay_date: string }): Html {
  const [{ employee_id }] = lines as [Line];
  const caption = `Next paycheck, ${dayText(run.pay_date)}`;
  return html`
    <div>
      ${table(lines, { caption }, [
        ['Line of coverage', ({ line_of_coverage }) => term(line_of_coverage), 'name'],
        ...AMOUNT_COLUMNS,
        ['Why', whyOf, 'wide'],
      ])}
      <p class="on-screen"><a href=${runEmployeePath(run.run_id, employee_id)}>Open these lines in the run</a></p>
    </div>
  `;
}

function whyOf({ kind, flags, explanation }: Line): Html {
  return html`
    <span>
      ${state(kind)}
      ${flags.map((flag) => [' ', state(flagLabel(flag), 'warn')])}
      ${` ${sentence(explanation)}`}
    </span>
  `;
}
