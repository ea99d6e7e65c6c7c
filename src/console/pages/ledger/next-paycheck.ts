/** The next paychecks of an employee: the lines in the open runs of the payrolls that are due. */
import type { Schemas } from '../../../client.ts';
import { state } from '../../elements/facts.ts';
import { dayText, money, sentence, term } from '../../elements/format.ts';
import { fitsPath, runEmployeePath } from '../../elements/links.ts';
import { table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { flagLabel } from '../runs/labels.ts';

type Line = Schemas['Line'];

/** An employee has a handful of lines. */
const LINES = 100;

export type DuePayrolls = ReadonlyMap<string, readonly Schemas['PayrollDue'][]>;

/** Returns the payrolls that are due of the employers of an employee; none for a user who may not read runs. */
export async function payrollsOfEmployee(
  { api, may }: Visit,
  { employments }: Schemas['Employee'],
): Promise<DuePayrolls> {
  const due = new Map<string, Schemas['PayrollDue'][]>();
  if (!may('runs:read')) return due;
  for (const { employer_id } of employments)
    due.set(employer_id, (await api.get('/v1/payrolls-due', { employer_id })).data);
  return due;
}

/** Renders the lines of each open run that has any. */
export async function nextPaychecks(
  { api }: Visit,
  { id: employee_id }: Schemas['Employee'],
  due: DuePayrolls,
): Promise<Html[]> {
  if (!fitsPath(employee_id)) return [];
  const shown: Html[] = [];
  for (const { run_id, pay_date, state: now } of [...due.values()].flat()) {
    if (run_id === null || pay_date === null || now === 'finalized') continue;
    const list = { run_id, employee_id, limit: LINES };
    // A run that cannot be computed has no lines, and its page states why.
    const { data } = await attempt(api.get('/v1/payroll-runs/{run_id}/lines', list), 409, 422);
    if (data !== undefined && data.data.length > 0) shown.push(paycheck(data.data, { run_id, pay_date }));
  }
  return shown;
}

function paycheck(lines: readonly Line[], run: { run_id: string; pay_date: string }): Html {
  const [{ employee_id }] = lines as [Line];
  const caption = `Next paycheck, ${dayText(run.pay_date)}`;
  return html`
    <div>
      ${table(lines, { caption, stacked: true }, [
        ['Line of coverage', ({ line_of_coverage }) => term(line_of_coverage), 'name'],
        ['Employee amount', ({ member_amount }) => money(member_amount), 'number'],
        ['Employer amount', ({ employer_amount }) => money(employer_amount), 'number'],
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
