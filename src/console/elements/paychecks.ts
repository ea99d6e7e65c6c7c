/** The last paychecks of an employee: each amount with its pay date and reason. */
import type { RowOf } from '../../api/operation.ts';
import { listPaychecksOfEmployee } from '../../api/operations/employees.ts';
import { amountOf, centsOf } from '../../money.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { state } from './facts.ts';
import { dayOf, money, plain, sentence } from './format.ts';
import { address, runEmployeePath, runPath } from './links.ts';
import { type Column, EMPLOYER_AMOUNT, table, withNote } from './list.ts';

export type Paycheck = RowOf<typeof listPaychecksOfEmployee>;
type Line = Paycheck['lines'][number];

/** Paychecks read for a page: two months of weekly ones. */
const READ = 8;
const SHOWN = 3;

/** Reads the last paychecks of an employee, the latest first; null for a user who may not read runs. */
export async function lastPaychecks({ api, may }: Visit, employee_id: string): Promise<Paycheck[] | null> {
  if (!may('runs:read')) return null;
  const list = { params: { employee_id }, query: { limit: READ } };
  return (await api.perform(listPaychecksOfEmployee, list)).data;
}

export function payDateLink(run_id: string, day: string, employee_id: string): Html {
  return html`<a href=${runEmployeePath(run_id, employee_id)}>${dayOf(day)}</a>`;
}

/** Lists the last amounts of a deduction with their reasons. */
export function paychecksOfDeduction(paychecks: readonly Paycheck[], deductionId: string): Html {
  const lines = paychecks.flatMap(({ run_id, pay_date, lines: all }) =>
    all
      .filter(({ deduction_id }) => deduction_id === deductionId)
      .map((line) => ({ ...line, run_id, pay_date })),
  );
  if (lines.length === 0) return html`<p class="soft">No paycheck has taken it yet.</p>`;
  const shown = lines.slice(0, SHOWN);
  return table(shown, { caption: `Last paychecks of ${deductionId}`, captionHidden: true }, [
    ['Pay date', ({ run_id, pay_date, employee_id }) => payDateLink(run_id, pay_date, employee_id), 'name'],
    ['Employee amount', memberAmountOf, 'number'],
    EMPLOYER_AMOUNT,
    ['Why', whyOf, 'wide'],
  ]);
}

function memberAmountOf({ member_amount, taken }: Line): Content {
  if (taken === null || taken === member_amount) return money(member_amount);
  return withNote(money(member_amount), `${money(taken)} taken`);
}

function whyOf({ kind, explanation }: Line): Html {
  return html`<span>${state(kind)}${` ${sentence(explanation)}`}</span>`;
}

/** Lists paychecks with their totals and the lines that make them up. */
export function paycheckTable(paychecks: readonly Paycheck[], employee_id: string, may: Visit['may']): Html {
  const report: Column<Paycheck> = [
    html`<span class="hidden-label">Action</span>`,
    ({ run_id, pay_date }) =>
      html`<a class="on-screen" href=${address(runPath(run_id, '/taken'), { employee_id })}>${'Report deductions taken'}<span class="hidden-label">${` on ${pay_date}`}</span></a>`,
  ];
  return table(paychecks, { caption: 'Last paychecks' }, [
    ['Pay date', ({ run_id, pay_date }) => payDateLink(run_id, pay_date, employee_id), 'name'],
    ['Employee amount', totalOf, 'number'],
    EMPLOYER_AMOUNT,
    ['Made up of', ({ lines }) => lines.map(partOf).join(' + '), 'wide'],
    ...(may('runs:write') ? [report] : []),
  ]);
}

function totalOf({ member_amount, lines }: Paycheck): Content {
  if (lines.every(({ taken, member_amount: amount }) => taken === null || taken === amount))
    return money(member_amount);
  const taken = lines.reduce((sum, line) => sum + centsOf(line.taken ?? line.member_amount), 0n);
  return withNote(money(member_amount), `${money(amountOf(taken))} taken`);
}

/** `medical $69.23`, `medical adjustment −$4.00`. */
function partOf({ line_of_coverage, kind, member_amount }: Line): string {
  const name = kind === 'regular' ? plain(line_of_coverage) : `${plain(line_of_coverage)} ${kind}`;
  return `${name} ${money(member_amount)}`;
}
