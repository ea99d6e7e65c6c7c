/** The amounts of an employee's open items by today's facts, before anything was settled. Pure. */
import { printReadable } from '../../money.ts';
import {
  type ItemIdentity,
  type ItemKind,
  isAdjustment,
  itemId,
  itemIdentity,
} from '../calculation/items.ts';
import {
  type Because,
  type Election,
  type Line,
  NO_ITEM,
  regularLineKey,
  regularLineOf,
} from '../calculation/line.ts';
import type { OpeningItem } from '../facts/opening-items.ts';
import { adjustmentLines, type TakenLine } from './adjustments.ts';
import { contentOn } from './history.ts';
import { paidDirectly } from './item-state.ts';
import type { Attended } from './missed-checks.ts';
import type { EarlierRun, Payee, Payout } from './payout.ts';

/**
 * `line`: the content and amounts of the item. `isInTime`: no retroactive change of an election. `isPartlyCovered`: other runs
 * cover a part of the period of a missed check.
 */
export type ItemAmount = {
  id: string;
  identity: ItemIdentity;
  payDate: string;
  line: Line;
  isInTime: boolean;
  isPartlyCovered: boolean;
};

/** Returns the items of the reopened runs and the opening items. `attended`: the runs that the employee is in. */
export function itemAmounts(payout: Payout, employee: Payee, attended: readonly Attended[]): ItemAmount[] {
  return [
    ...employee.reopened.flatMap((earlier) => arrearsOf(payout, employee, earlier)),
    ...[...employee.revised].flatMap((earlier) => adjustmentsOf(payout, employee, earlier, attended)),
    ...employee.openings.map((opening) => openingOf(payout, employee, opening)),
  ];
}

/** Returns the differences between what a revised run took and what it should have taken. */
function adjustmentsOf(
  payout: Payout,
  employee: Payee,
  earlier: EarlierRun,
  attended: readonly Attended[],
): ItemAmount[] {
  const wasIn = employee.earlierLines.attended.has(earlier.freezeId);
  const settled = settledLines(payout, employee, earlier, isAdjustment);
  const adjustments = adjustmentLines(payout, employee, earlier, attended, settled);
  return adjustments.map(({ line, isInTime, isPartlyCovered }) => ({
    ...itemOf(wasIn ? 'adjustment' : 'missed_check', earlier.runId, earlier.run.pay_date, line),
    ...{ isInTime, isPartlyCovered },
  }));
}

/** Returns the amounts not taken on lines that settle no item. A voided run has none, so that collected ones are returned. */
function arrearsOf(payout: Payout, employee: Payee, earlier: EarlierRun): ItemAmount[] {
  const { runId, freezeId, isVoided, voidedAt } = earlier;
  const lines = employee.earlierLines.frozen.get(freezeId) ?? [];
  const owed = isVoided ? [] : employee.owed.filter((amount) => amount.runId === runId && amount.owed !== 0n);
  const items = owed.flatMap((amount) => {
    const line = lines.find(
      ({ kind, account }) => kind === 'regular' && regularLineKey(account.deduction_id) === amount.line,
    );
    if (line === undefined) return [];
    const { member } = line.amounts;
    const reported = payout.dayInWords(payout.dayOf(amount.reportedAt));
    const taken = printReadable(member - amount.owed);
    return arrearsItem(payout, earlier, line, amount.owed, {
      because: { kind: 'taken', id: `${runId}:${amount.report}`, received_at: amount.reportedAt },
      words: `was ${printReadable(member)}; ${taken} was taken (reported ${reported})`,
    });
  });
  const known = new Set(items.map(({ id }) => id));
  const returned = settledLines(payout, employee, earlier, ({ kind }) => kind === 'arrears').map((line) =>
    arrearsItem(payout, earlier, line, 0n, {
      because: isVoided && voidedAt !== null ? { kind: 'void', id: runId, received_at: voidedAt } : null,
      words: isVoided ? 'was voided' : 'was taken in full',
    }),
  );
  return [...items, ...returned.filter(({ id }) => !known.has(id))];
}

function arrearsItem(
  payout: Payout,
  { runId, run }: EarlierRun,
  line: TakenLine,
  member: bigint,
  { because, words }: { because: Because | null; words: string },
): ItemAmount {
  const day = payout.dayInWords(run.pay_date);
  const item = arrearsLine(payout, line, {
    amounts: { member, employer: 0n },
    settles: { ...NO_ITEM, adjustment_for: runId, adjustment_pay_date: run.pay_date, because },
    explanation: `Paycheck of ${day}: ${wordsOf(line)} ${words}; ${resultOf(member)}.`,
  });
  return itemOf('arrears', runId, run.pay_date, item);
}

function openingOf(payout: Payout, employee: Payee, opening: OpeningItem): ItemAmount {
  const { opening_id, amount, pay_date } = opening;
  const line = bareLine(payout, employee, opening);
  const day = payout.dayInWords(pay_date);
  const item = arrearsLine(payout, line, {
    amounts: amount,
    settles: { ...NO_ITEM, adjustment_pay_date: pay_date },
    explanation: `Brought along from ${day}: ${wordsOf(line)}; ${resultOf(amount.member)}.`,
  });
  return itemOf('opening', opening_id, pay_date, item);
}

function itemOf(kind: ItemKind, source: string, payDate: string, line: Line): ItemAmount {
  const { employee_id, deduction_id, line_of_coverage, taxability } = line.account;
  const identity: ItemIdentity = {
    ...{ kind, source, employee_id, line_of_coverage, taxability },
    deduction_id: deduction_id === '' ? null : deduction_id,
  };
  return { id: itemId(identity), identity, payDate, line, isInTime: false, isPartlyCovered: false };
}

/** Returns an arrears line with the account of `line` and today's codes. */
function arrearsLine(
  payout: Payout,
  { account, election: { coverage_type, description } }: TakenLine,
  fields: Pick<Line, 'amounts' | 'settles' | 'explanation'>,
): Line {
  return {
    ...payout.contentOf(account, { ...NO_ELECTION, coverage_type, description }),
    kind: 'arrears',
    shares: null,
    compared: null,
    flags: [],
    ...fields,
  };
}

/** Returns the contents of the items of an earlier run that later runs took or that were paid directly. */
function settledLines(
  payout: Payout,
  employee: Payee,
  { runId, freezeId }: EarlierRun,
  isWanted: (item: ItemIdentity) => boolean,
): TakenLine[] {
  const { takenItems, earlierLines } = employee;
  const ids = new Set([
    ...takenItems.flatMap(({ itemId, earlierRunId }) => (earlierRunId === runId ? itemId : [])),
    ...paidDirectly(employee).flatMap(({ item_id }) => item_id ?? []),
  ]);
  const items = [...ids]
    .flatMap((id) => itemIdentity(id) ?? [])
    .filter((item) => item.source === runId && isWanted(item));
  const frozen = earlierLines.frozen.get(freezeId) ?? [];
  return items.map((item) => {
    const line = regularLineOf(frozen, item.deduction_id ?? '');
    const bare = bareLine(payout, employee, item);
    return line === undefined ? bare : { ...bare, election: line.election };
  });
}

/** Several versions of a deduction may have made an amount. */
const NO_ELECTION: Election = {
  version: null,
  coverage_type: null,
  description: null,
  period: null,
  member_contribution: null,
  employer_contribution: null,
};

/** Returns an account of an employee without an election, except for who is covered if its deduction is known. */
function bareLine(
  payout: Payout,
  { employeeId, histories }: Payee,
  { deduction_id, line_of_coverage, taxability }: Omit<ItemIdentity, 'kind' | 'source' | 'employee_id'>,
): TakenLine {
  const { coverage_type = null } = contentOn(payout, histories, deduction_id) ?? {};
  return {
    account: { employee_id: employeeId, deduction_id: deduction_id ?? '', line_of_coverage, taxability },
    election: { ...NO_ELECTION, coverage_type },
  };
}

function wordsOf({ account }: TakenLine): string {
  return account.line_of_coverage.replaceAll('_', ' ');
}

function resultOf(member: bigint): string {
  if (member === 0n) return 'no difference';
  return member < 0n ? `${printReadable(-member)} back` : `${printReadable(member)} more`;
}
