/** The actions of people on open items in the worlds of the payroll model: opening items, decisions, and overrides. */
import type { LINES_OF_COVERAGE, TAXABILITIES } from '../../../src/contract/deduction.ts';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { openItemsOf } from '../../../src/payroll/compute/item-pages.ts';
import type { OpenItem } from '../../../src/payroll/compute/item-state.ts';
import { type NewDecision, recordDecisions } from '../../../src/payroll/facts/decisions.ts';
import { putOpeningItems } from '../../../src/payroll/facts/opening-items.ts';
import { NO_TERMS } from '../../../src/payroll/reconciliation/requested-decisions.ts';
import type { Run } from '../../../src/payroll/records/body.ts';
import { lockPayroll } from '../../../src/payroll/settings/lock.ts';
import { DEFAULTS, type Options } from '../../../src/payroll/settings/policy.ts';
import { acting } from '../../support/audit.ts';
import { daysAfter } from '../../support/payroll.ts';
import fc from '../../support/seeded.ts';
import { checkOf, isGone, type ModelRun, type World } from './model.ts';
import { dollars } from './model-calendar.ts';
import {
  groupOf,
  itemsOf,
  keyOfItem,
  type ModelItemDecision,
  type ModelOpening,
  type StandingItem,
} from './model-items.ts';

const person = fc.constantFrom('e0', 'e1', 'e2', 'e3');
const employer = fc.constantFrom('acme', 'acme', 'acme', 'other');

export const opening = fc.record({
  employee: person,
  employer,
  deduction: fc.constantFrom<string | null>(null, 'd0', 'd1'),
  coverage: fc.constantFrom<(typeof LINES_OF_COVERAGE)[number]>('medical', 'dental', 'hsa'),
  taxability: fc.constantFrom<(typeof TAXABILITIES)[number]>('pre_tax', 'post_tax'),
  amounts: fc.record({
    member: fc.constantFrom(4_000n, -1_500n, 0n, 12_050n),
    employer: fc.constantFrom(0n, 3_500n),
  }),
  daysAgo: fc.nat({ max: 400 }),
});

export const settling = fc.record({
  which: fc.nat({ max: 99 }),
  employer,
  action: fc.constantFrom<ModelItemDecision['action']>(
    ...(['take', 'take', 'take', 'hold', 'write_off', 'paid_directly'] as const),
  ),
  /** A part of the amount; a hold of all items of the employee. */
  isPart: fc.boolean(),
  /** The days until it begins or ends; null: at once, or never. */
  days: fc.constantFrom<number | null>(null, null, 10, 45),
});

/** The amounts that a person sets in a run before it is finalized. */
export const overriding = fc.record({
  place: fc.nat({ max: 99 }),
  member: fc.constantFrom(0n, 2_500n, -500n),
  employer: fc.constantFrom(0n, 1_000n),
});

export const recoup: fc.Arbitrary<Options['recoup']> = fc.constantFrom(
  { method: 'all' as const },
  { method: 'all' as const },
  { method: 'multiple' as const, value: '1' },
  { method: 'multiple' as const, value: '0.5' },
  { method: 'amount' as const, value: '50.00' },
);

export type Opening = typeof opening extends fc.Arbitrary<infer O> ? O : never;
export type Settling = typeof settling extends fc.Arbitrary<infer S> ? S : never;
export type Overriding = typeof overriding extends fc.Arbitrary<infer O> ? O : never;

/** A run that takes no regular amounts and pays today: lists of items are as of its pay date. */
function listing(employer_id: string, today: string): Run {
  return {
    ...{ employer_id, kind: 'off_cycle', pay_frequency: 'monthly', pay_group: null },
    ...{ period_start: today, period_end: today, pay_date: today },
    ...{ employee_ids: null, deductions: [], items: null, final_checks: [] },
    ...DEFAULTS,
  };
}

/** Returns the outstanding items of an employee in a list of a day. */
export function listedItems(world: World, employerId: string, employee: string, today: string) {
  const run = listing(employerId, today);
  const runs = world.runs.filter((one: ModelRun) => one.run.employer_id === employerId);
  const gone = isGone(world, checkOf(world, run, runs), employee) ? ['no_further_paycheck'] : [];
  return itemsOf({ world, run, runs, now: null, employee })
    .filter(({ outstanding }) => outstanding.member !== 0n || outstanding.employer !== 0n)
    .map((item) => ({ ...item, flags: [...item.flags, ...gone] }));
}

/** Returns the outstanding items of an employee in the list of the real system. */
export async function storedItems(db: Db, employerId: string, employee: string, today: string) {
  const found: OpenItem[] = [];
  for await (const page of openItemsOf(db, employerId, today, { only: [employee] }))
    found.push(...page.flatMap(({ items }) => items));
  return found.filter(({ outstanding }) => outstanding.member !== 0n || outstanding.employer !== 0n);
}

export function printedItem(item: StandingItem): string {
  const { amount, outstanding, state, needsDecision, flags } = item;
  const money = [amount.member, amount.employer, outstanding.member, outstanding.employer].map(dollars);
  return JSON.stringify([keyOfItem(item), ...money, state, needsDecision, flags.toSorted()]);
}

export function printedOpenItem({ identity, line, outstanding, state, needsDecision }: OpenItem): string {
  const { kind, source, deduction_id, line_of_coverage, taxability } = identity;
  const key = [kind, source, deduction_id ?? '', line_of_coverage, taxability].join(' ');
  const money = [line.amounts.member, line.amounts.employer, outstanding.member, outstanding.employer];
  return JSON.stringify([key, ...money.map(dollars), state, needsDecision, line.flags.toSorted()]);
}

/** Returns the items that a step decides: a `take` or `hold` of one item of a group is one of all. */
export function decidedWith(
  { action, isPart }: Settling,
  item: StandingItem,
  items: readonly StandingItem[],
): StandingItem[] {
  const isJoint = action === 'take' || (action === 'hold' && !isPart);
  return isJoint ? groupOf(item, items) : [item];
}

/** Returns the decision of a step on an item, or null if it is not possible. */
export function decisionOf(
  { action, isPart, days }: Settling,
  employerId: string,
  item: StandingItem,
  today: string,
): ModelItemDecision | null {
  const { member } = item.outstanding;
  const later = days === null ? null : daysAfter(today, days);
  const part = isPart ? member / 2n : member;
  const base = {
    ...{ employer: employerId, employee: item.employee, item: keyOfItem(item), action },
    ...{ madeFor: item.amount, amount: null, until: null },
  };
  switch (action) {
    case 'take':
      return base;
    case 'hold':
      return { ...base, ...(isPart && { item: null, madeFor: null }), until: later };
    default:
      return part === 0n ? null : { ...base, amount: action === 'write_off' ? member : part };
  }
}

export async function storeDecision(db: Db, decision: ModelItemDecision, of: OpenItem, now: string) {
  const item = decision.item === null ? null : of;
  const stored: NewDecision = {
    ...NO_TERMS,
    employee_id: decision.employee,
    item_id: item?.id ?? null,
    run_id: item === null || item.identity.kind === 'opening' ? null : item.identity.source,
    ...{ action: decision.action, made_for: decision.madeFor, amount: decision.amount },
    until: decision.until,
    paid_on: decision.action === 'paid_directly' ? now.slice(0, 'YYYY-MM-DD'.length) : null,
    reason: 'a test',
  };
  await transact(db, async (trx) => {
    await lockPayroll(trx);
    await recordDecisions(trx, decision.employer, [stored], acting(now));
  });
}

export async function storeOpening(db: Db, item: ModelOpening, now: string): Promise<void> {
  const { id, employee, deduction, coverage, taxability, amounts, payDate } = item;
  const stored = {
    ...{
      opening_id: id,
      employee_id: employee,
      deduction_id: deduction,
      line_of_coverage: coverage,
      taxability,
    },
    ...{ amount: amounts, pay_date: payDate },
  };
  await transact(db, (trx) => putOpeningItems(trx, item.employer, [stored], acting(now)));
}
