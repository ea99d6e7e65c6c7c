/** The payrolls that are due: the setup that each needs, and the button that opens its run. */
import type { RowOf } from '../../api/operation.ts';
import { listPayrollsDue } from '../../api/operations/payrolls-due.ts';
import { hiddenFields } from '../elements/fields.ts';
import { dayText, lacksScope } from '../elements/format.ts';
import { address, censusPath, runPath } from '../elements/links.ts';
import { type Html, html } from '../html.ts';
import { mayApprove, type Visit } from '../page.ts';
import { nameOf } from './runs/labels.ts';

export type Payroll = RowOf<typeof listPayrollsDue>;
export type Missing = Payroll['missing'][number];
export type Key = (typeof KEY)[number];
type Step = readonly [label: string, path: (payroll: Payroll) => string];

const KEY = ['employer_id', 'pay_frequency', 'pay_group', 'pay_date'] as const;
/** Payrolls in a list: more than a payroll specialist has employers. The API lists all. */
const ROWS = 1_000;

/** The steps of the setup of an employer, and where each is done. */
export const STEPS: Readonly<Record<Missing, Step>> = {
  census: ['Upload the census', ({ employer_id }) => censusPath(employer_id)],
  pay_schedule: ['Set the pay schedule', ({ employer_id }) => scheduleEditor({ employer_id })],
  next_pay_dates: ['Add the next pay dates', scheduleEditor],
  payroll_codes: ['Set the payroll codes', ({ employer_id }) => editor('payroll-codes', employer_id)],
  payroll_policy: ['Set the payroll policy', ({ employer_id }) => editor('payroll-policy', employer_id)],
};

/** Renders a link to a step of the setup, or what the user lacks to open its page. */
export function stepLink(what: Missing, payroll: Payroll, { may }: Pick<Visit, 'may'>, button = false): Html {
  const [label, path] = STEPS[what];
  if (what === 'census' && !may('census:read'))
    return html`${lacksScope('To upload the census', 'census:write')}`;
  return button
    ? html`<a class="button" href=${path(payroll)}>${`Next: ${label}`}</a>`
    : html`<a href=${path(payroll)}>${label}</a>`;
}

function editor(setting: string, employer_id: string): string {
  return address(`/settings/${setting}`, { employer_id });
}

function scheduleEditor({ employer_id, ...schedule }: Partial<Payroll>): string {
  const { pay_frequency, pay_group, last_pay_date } = schedule;
  const year = last_pay_date && String(Number(last_pay_date.slice(0, 4)) + 1);
  return address('/settings/pay-schedule', {
    ...{ employer_id, year },
    pay_frequency: pay_frequency ?? undefined,
    pay_group: pay_group ?? undefined,
  });
}

export async function payrollsOf({ api }: Pick<Visit, 'api'>): Promise<Payroll[]> {
  return (await api.perform(listPayrollsDue, { query: { limit: ROWS } })).data;
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

/** Reports whether a step can wait: a payroll with a pay date can be finished without the dates after it. */
function canWait(step: Missing, { pay_date }: Payroll): boolean {
  return step === 'next_pay_dates' && pay_date !== null;
}

/** Renders the hidden fields that name a payroll, in a form that opens its run. */
export function payrollFields(payroll: Readonly<Record<Key, string | null>>): Html[] {
  return hiddenFields(Object.fromEntries(KEY.map((name) => [name, payroll[name] ?? ''])));
}

/** Renders the next step of the setup of an employer or, when nothing is missing, the button that starts its payroll. */
export async function nextStepOf(visit: Visit, employer_id: string): Promise<Html | null> {
  if (!visit.may('runs:write')) return null;
  const payrolls = (await visit.api.perform(listPayrollsDue, { query: { employer_id } })).data;
  const stepsOf = (payroll: Payroll) => payroll.missing.filter((what) => !canWait(what, payroll));
  const payroll =
    payrolls.find((candidate) => stepsOf(candidate).length > 0) ??
    payrolls.find((payroll) => canAct(payroll, visit));
  if (payroll === undefined) return null;
  const [what] = stepsOf(payroll);
  const verb = payroll.run_id === null ? 'Start' : 'Open';
  const start = `${verb} the payroll of ${payroll.pay_date && dayText(payroll.pay_date)}`;
  return html`
    <div class="actions">
      ${what === undefined ? payrollAction(payroll, visit, start) : stepLink(what, payroll, visit, true)}
    </div>
  `;
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
  const named = label === undefined ? ' the payroll of ' : ': ';
  const hidden = html`<span class="hidden-label">${named + nameOf(payroll)}</span>`;
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
