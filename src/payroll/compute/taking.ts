/** Takes an employee's open items in a run: the cap first, then refunds are cut ("Open items" in docs/reconciliation.md). Pure. */
import { type Cents, printReadable } from '../../money.ts';
import { type ItemIdentity, isNothing, minus, type Sides, sidesOf } from '../calculation/items.ts';
import type { Flag, Line } from '../calculation/line.ts';
import type { Computation, RunEmployee } from './computation.ts';
import type { OpenItem } from './open-items.ts';
import { cappedInWords, isLastCheck, limitsOf } from './recoup.ts';
import { type Unit, wantedOf } from './takeable.ts';

/** The lines that take items of an employee, and the items that stay open. */
export type Taking = {
  lines: Line[];
  units: readonly Unit[];
  /** The items that are outstanding after the run. */
  left: { item: OpenItem; outstanding: Sides }[];
  /** The employee's amounts of all lines, by taxability, with pairs where their deduction is. */
  byTaxability: ReadonlyMap<string, Cents>;
};

/** An employee with the lines of a computation. */
export type EmployeeLines = { employee: RunEmployee; lines: Line[]; taking: Taking };

/** A unit that the run takes. `taken`: of `wanted`, after cap and cut. */
type Taken = { unit: Unit; wanted: Cents; taken: Cents; flags: Flag[]; notes: string[] };

/** `regularTotal`: the employee's usual amount of a line of coverage, which limits what is taken; null: none. */
export function takeItems(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
  units: readonly Unit[],
  regularTotal: (lineOfCoverage: string) => Cents | null,
): Taking {
  const taken = units
    .filter(({ leftOut }) => leftOut === null)
    .map((unit): Taken => {
      const wanted = wantedUnder(unit, units);
      return { unit, wanted, taken: wanted, flags: [], notes: [] };
    });
  const isLast = isLastCheck(computation, employee);
  if (!isLast) cap(taken, limitsOf(computation, regularTotal));
  const byTaxability = totalsOf(regular, taken);
  if (!isLast) cutRefunds(taken, byTaxability);
  const lines = taken.flatMap(linesOf);
  return { lines, units, left: leftAfter(units, lines), byTaxability };
}

/** Arrears are taken up to what is outstanding of all items of their run and deduction: a refund may be due for them. */
function wantedUnder(unit: Unit, units: readonly Unit[]): Cents {
  const { identity } = unit.items[0] as OpenItem;
  if (identity.kind !== 'arrears' || unit.wanted <= 0n) return unit.wanted;
  let outstanding = 0n;
  for (const { items } of units)
    for (const item of items) if (isOfDeduction(item, identity)) outstanding += item.outstanding.member;
  return smaller(unit.wanted, outstanding > 0n ? outstanding : 0n);
}

/** Reports whether an item is of the same run and deduction. An opening item may have the id of a run. */
function isOfDeduction({ identity }: OpenItem, { source, deduction_id }: ItemIdentity): boolean {
  return identity.kind !== 'opening' && identity.source === source && identity.deduction_id === deduction_id;
}

/** Limits increases and arrears, in their order. Refunds do not raise the limit. */
function cap(taken: readonly Taken[], limitOf: ReturnType<typeof limitsOf>): void {
  const increases = taken.filter(({ wanted }) => wanted > 0n);
  for (const [coverage, ofCoverage] of Map.groupBy(increases, ({ unit }) => unit.line_of_coverage)) {
    const limit = limitOf(coverage);
    if (limit === null) continue;
    let left = limit.cents;
    for (const entry of ofCoverage) {
      if (isPair(entry)) entry.taken = left > 0n ? entry.wanted : 0n;
      else entry.taken = smaller(entry.wanted, left);
      left = left > entry.taken ? left - entry.taken : 0n;
    }
    const words = cappedInWords(ofCoverage, limit.words);
    if (words === null) continue;
    for (const { flags, notes } of ofCoverage) {
      flags.push('recoup_capped');
      notes.push(`In total: ${words}.`);
    }
  }
}

/** Cuts refunds from the last one back, so that no taxability is below zero. A pair is held whole. */
function cutRefunds(taken: readonly Taken[], byTaxability: Map<string, Cents>): void {
  for (const entry of taken.toReversed()) {
    const { unit } = entry;
    const total = byTaxability.get(unit.taxability) ?? 0n;
    const isDecided = unit.items.some(({ state }) => state === 'take');
    if (entry.taken >= 0n || total >= 0n || isDecided) continue;
    const cut = isPair(entry) ? -entry.taken : smaller(-entry.taken, -total);
    entry.taken += cut;
    entry.flags.push('refund_held');
    entry.notes.push(`${printReadable(cut)} of the refund is held, so that deductions are not below 0.00.`);
    byTaxability.set(unit.taxability, total + cut);
  }
}

function totalsOf(regular: readonly Line[], taken: readonly Taken[]): Map<string, Cents> {
  const totals = new Map<string, Cents>();
  const add = (taxability: string, amount: Cents) =>
    totals.set(taxability, (totals.get(taxability) ?? 0n) + amount);
  for (const { taxability, member_amount } of regular) add(taxability, member_amount);
  for (const { unit, taken: amount } of taken) add(unit.taxability, amount);
  return totals;
}

/** Returns no line if cap and cut leave nothing. */
function linesOf(entry: Taken): Line[] {
  const { unit, taken, flags, notes } = entry;
  if (taken === 0n && unit.wanted !== 0n) return [];
  return unit.items.map((item) => {
    const member_amount = isPair(entry) ? wantedOf(item) : taken;
    const outstanding_after = item.outstanding.member - member_amount;
    return {
      ...item.line,
      member_amount,
      employer_amount: item.outstanding.employer,
      item_id: item.id,
      outstanding_after,
      // This paycheck follows.
      flags: [...item.line.flags.filter((flag) => flag !== 'no_further_paycheck'), ...flags],
      explanation: [item.line.explanation, ...settledInWords(item, member_amount), ...notes].join(' '),
    };
  });
}

/** Returns what else settled the item, and what this line leaves of it. */
function settledInWords({ line, outstanding }: OpenItem, taken: Cents): string[] {
  const settled = line.member_amount - outstanding.member;
  const left = outstanding.member - taken;
  return [
    ...(settled === 0n ? [] : [`${printReadable(settled)} settled since.`]),
    ...(settled === 0n && left === 0n ? [] : [`${printReadable(taken)} now, ${printReadable(left)} left.`]),
  ];
}

function leftAfter(units: readonly Unit[], lines: readonly Line[]): Taking['left'] {
  const byItem = new Map(lines.map((line) => [line.item_id, line]));
  return units
    .flatMap(({ items }) => items)
    .map((item) => {
      const line = byItem.get(item.id);
      const { outstanding } = item;
      return { item, outstanding: line === undefined ? outstanding : minus(outstanding, sidesOf(line)) };
    })
    .filter(({ outstanding }) => !isNothing(outstanding));
}

function isPair({ unit }: Taken): boolean {
  return unit.items.length > 1;
}

function smaller(amount: Cents, other: Cents): Cents {
  return amount < other ? amount : other;
}
