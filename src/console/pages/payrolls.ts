/** The payrolls that are due: the setup that each needs, and the button that opens its run. */
import type { RowOf } from '../../api/operation.ts';
import { openPayrollRun } from '../../api/operations/payroll-run-creation.ts';
import { listPayrollsDue } from '../../api/operations/payrolls-due.ts';
import { hiddenFields } from '../elements/fields.ts';
import { dayText } from '../elements/format.ts';
import { address, runPath } from '../elements/links.ts';
import { type Html, html } from '../html.ts';
import { mayApprove, type Visit } from '../page.ts';
import { nameOf } from './runs/labels.ts';

export type Payroll = RowOf<typeof listPayrollsDue>;
type Missing = Payroll['missing'][number];
export type Key = (typeof KEY)[number];
const KEY = ['employer_id', 'pay_frequency', 'pay_group', 'pay_date'] as const;
/** Payrolls in a list: more than a payroll specialist has employers. The API lists all. */
const ROWS = 1_000;

/** The parts of the setup of an employer. */
const SETUP: Readonly<Partial<Record<Missing, string>>> = {
  census: 'census',
  pay_schedule: 'pay dates',
  payroll_codes: 'payroll codes',
  payroll_policy: 'payroll policy',
};

/** The path of the page that sets up an employer. A form adds the ID of a new employer. */
export function setupPath(employer_id?: string): string {
  return address('/settings/setup', { employer_id });
}

/** Links to the setup, and names the parts that are missing. */
export function setupLink(employer_id: string, parts: readonly string[]): Html {
  return html`<a href=${setupPath(employer_id)}>Finish the setup</a><span class="soft">${`: ${parts.join(', ')}`}</span>`;
}

/** Returns the missing parts of the setup. Pay dates later than the due pay date are not required. */
export function setupOf({ missing }: Payroll): string[] {
  return missing.flatMap((what) => SETUP[what] ?? []);
}

/** Links to the editor of the schedule's next year. */
export function nextDatesLink({ employer_id, pay_frequency, pay_group, last_pay_date }: Payroll): Html {
  const year = last_pay_date && String(Number(last_pay_date.slice(0, 'YYYY'.length)) + 1);
  const path = address('/settings/pay-schedule', {
    ...{ employer_id, year },
    pay_frequency: pay_frequency ?? undefined,
    pay_group: pay_group ?? undefined,
  });
  return html`<a href=${path}>Add the next pay dates</a>`;
}

/** Opens the run of a payroll, which creates it if there is none, and returns its id. */
export async function openRunOf(
  { api }: Pick<Visit, 'api'>,
  payroll: Readonly<Record<Key, string | null | undefined>>,
): Promise<string> {
  const { employer_id, pay_frequency, pay_group, pay_date } = payroll;
  const body = { employer_id, pay_frequency, ...(pay_group && { pay_group }), pay_date };
  return (await api.perform(openPayrollRun, { body })).id;
}

/** Opens the run of an employer's first payroll, and returns its path; null without a pay date. */
export async function openFirst(visit: Pick<Visit, 'api'>, employer_id: string): Promise<string | null> {
  const payroll = (await payrollsOf(visit, employer_id)).find(({ pay_date }) => pay_date !== null);
  return payroll === undefined ? null : runPath(await openRunOf(visit, payroll));
}

export async function payrollsOf({ api }: Pick<Visit, 'api'>, employer_id?: string): Promise<Payroll[]> {
  return (await api.perform(listPayrollsDue, { query: { employer_id, limit: ROWS } })).data;
}

/** Reports whether the setup of an employer lacks a part, and the user can finish it. */
export async function needsSetup(visit: Pick<Visit, 'api' | 'may'>, employer_id: string): Promise<boolean> {
  if (!visit.may('runs:write') || !visit.may('runs:read')) return false;
  return (await payrollsOf(visit, employer_id)).some((payroll) => setupOf(payroll).length > 0);
}

/** Reports whether the run of a payroll is approved, and another person must finalize it. */
export function waitsForAnother({ approval }: Payroll, { caller }: Pick<Visit, 'caller'>): boolean {
  return approval === 'yours' || (approval === 'given' && caller?.person == null);
}

/** Reports whether the user can do something about a payroll, so that it is offered as the next one. */
export function canAct(payroll: Payroll, visit: Pick<Visit, 'may' | 'caller'>): boolean {
  const { state: now, approval, computation } = payroll;
  if (now === 'finalized' || now === 'needs_setup' || waitsForAnother(payroll, visit)) return false;
  if (approval === 'missing' && mayApprove(visit)) return true;
  // Until a check fails, there is nothing to do but to approve.
  const isToFix = computation !== null && (computation.problem !== null || computation.failed.length > 0);
  return visit.may('runs:write') && (approval !== 'missing' || isToFix);
}

/** Renders the hidden fields that name a payroll, in a form that opens its run. */
export function payrollFields(payroll: Readonly<Record<Key, string | null>>): Html[] {
  return hiddenFields(Object.fromEntries(KEY.map((name) => [name, payroll[name] ?? ''])));
}

/** Renders the next step of an employer: its setup or, when nothing is missing, the button that starts its payroll. */
export async function nextStepOf(visit: Visit, employer_id: string): Promise<Html | null> {
  if (!visit.may('runs:write')) return null;
  const payrolls = await payrollsOf(visit, employer_id);
  if (payrolls.some((payroll) => setupOf(payroll).length > 0))
    return html`<div class="actions"><a class="button" href=${setupPath(employer_id)}>Next: Finish the setup</a></div>`;
  const payroll = payrolls.find((candidate) => canAct(candidate, visit));
  if (payroll === undefined) return null;
  return html`<div class="actions">${startOf(payroll, visit)}</div>`;
}

/** Renders the button that opens the run of a payroll, or creates it, as the next step of its employer. */
export function startOf(payroll: Payroll, visit: Pick<Visit, 'may' | 'caller'>): Html | null {
  const { run_id, pay_date } = payroll;
  const verb = run_id === null ? 'Start' : 'Open';
  return pay_date === null
    ? null
    : payrollAction(payroll, visit, `${verb} the payroll of ${dayText(pay_date)}`);
}

/**
 * Renders the button that opens the run of a payroll, or creates it; null without a pay date. With a label, it is the next
 * step. `after`: a final run with the same findings, whose reason the next page suggests.
 */
export function payrollAction(
  payroll: Payroll,
  visit: Pick<Visit, 'may' | 'caller'>,
  label?: string,
  after?: string,
): Html | null {
  const { run_id, state: now, voided_run_id } = payroll;
  if (payroll.pay_date === null) return null;
  const before = label === undefined ? ' the payroll of ' : ': ';
  const hidden = html`<span class="hidden-label">${before}${nameOf(payroll)}</span>`;
  if (run_id !== null) {
    const isDone = now === 'finalized';
    if (label === undefined && now === 'waiting_for_approval' && mayApprove(visit))
      return html`<a class="button quiet" href=${runPath(run_id, '/approve')}>Approve${hidden}</a>`;
    return html`<a class=${label === undefined ? 'button quiet' : 'button'} href=${address(runPath(run_id), { after })}>${label ?? (isDone ? 'Open' : 'Review')}${hidden}</a>`;
  }
  if (!visit.may('runs:write')) return null;
  return html`
    <form hx-post="/payrolls/open">
      ${payrollFields(payroll)}
      <button type="submit" class=${label === undefined ? 'quiet' : undefined}>${label ?? (voided_run_id === null ? 'Start' : 'Run again')}${hidden}</button>
    </form>
  `;
}
