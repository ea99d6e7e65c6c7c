/** Takes an employee's open items in a run: increases under the cap first, then refunds ("Open items" in docs/reconciliation.md). Pure. */
import type { Flag } from '../../formats/flags.ts';
import { type Cents, printReadable } from '../../money.ts';
import { type ItemIdentity, isNothing, minus, NOTHING, type Sides } from '../calculation/items.ts';
import { type Line, NO_ITEM } from '../calculation/line.ts';
import type { Computation, RunEmployee } from './computation.ts';
import type { OpenItem } from './item-state.ts';
import { cappedInWords, limitsOf } from './recoup.ts';
import type { Unit } from './takeable.ts';

/** The lines that take items of an employee, and the items that stay open. */
export type Taking = {
  lines: Line[];
  units: readonly Unit[];
  /** The items that are outstanding after the run. */
  left: { item: OpenItem; outstanding: Sides }[];
  /** The employee's amounts of all lines, by taxability, with groups where their deduction is. */
  byTaxability: ReadonlyMap<string, Cents>;
};

/** An employee with the lines of a computation. */
export type EmployeeLines = { employee: RunEmployee; lines: Line[]; taking: Taking };

/** A unit that the run takes. `taken`: of each of its items, after the cap. */
type Taken = { unit: Unit; wanted: Cents; taken: Cents[]; flags: Flag[]; notes: string[] };

/** `regularTotal`: the employee's usual amount of a line of coverage, which limits what is taken; null: none. */
export function takeItems(
  computation: Computation,
  employee: RunEmployee,
  regular: readonly Line[],
  all: readonly Unit[],
  regularTotal: (lineOfCoverage: string) => Cents | null,
): Taking {
  // Most employees have no items.
  if (all.length === 0) return { lines: [], units: [], left: [], byTaxability: totalsOf(regular, []) };
  const possible = all
    .filter(({ leftOut }) => leftOut === null)
    .map((unit): Taken => {
      const wanted = wantedUnder(unit, all);
      const taken =
        unit.items.length > 1 ? unit.items.map(({ outstanding }) => outstanding.member) : [wanted];
      return { unit, wanted, taken, flags: [], notes: [] };
    });
  cap(possible, limitsOf(computation, employee, regularTotal));
  const byTaxability = totalsOf(
    regular,
    possible.filter((entry) => sumOf(entry) >= 0n),
  );
  const waiting = refund(possible, byTaxability);
  const units = all.map((unit) => (waiting.has(unit) ? { ...unit, leftOut: 'refund_waits' as const } : unit));
  const lines = possible.filter(({ unit }) => !waiting.has(unit)).flatMap(linesOf);
  return { lines, units, left: leftAfter(all, lines), byTaxability };
}

function sumOf({ taken }: Taken): Cents {
  return taken.reduce((sum, amount) => sum + amount, 0n);
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

/** Limits increases and arrears, in their order. Refunds do not raise the limit, except those of a group for its increases. */
function cap(possible: readonly Taken[], limitOf: ReturnType<typeof limitsOf>): void {
  const increases = possible.filter(({ wanted }) => wanted > 0n);
  for (const [coverage, ofCoverage] of Map.groupBy(increases, ({ unit }) => unit.line_of_coverage)) {
    const limit = limitOf(coverage);
    if (limit === null) continue;
    let left = limit.cents;
    for (const entry of ofCoverage) {
      let room = left + entry.taken.reduce((sum, amount) => (amount < 0n ? sum - amount : sum), 0n);
      entry.taken = entry.taken.map((amount) => {
        if (amount <= 0n) return amount;
        const taken = smaller(amount, room);
        room -= taken;
        return taken;
      });
      left = smaller(left, room);
    }
    const words = cappedInWords(
      ofCoverage.map((entry) => ({ unit: entry.unit, wanted: entry.wanted, taken: sumOf(entry) })),
      limit.words,
    );
    if (words === null) continue;
    for (const { flags, notes } of ofCoverage) {
      flags.push('recoup_capped');
      notes.push(`In total: ${words}.`);
    }
  }
}

/**
 * Takes refunds in order, each whole, and adds them to the totals. Returns those that wait for a decision, because the
 * employee's deductions of their taxability would be below zero.
 */
function refund(possible: readonly Taken[], byTaxability: Map<string, Cents>): ReadonlySet<Unit> {
  const waiting = new Set<Unit>();
  for (const entry of possible) {
    const { unit } = entry;
    const sum = sumOf(entry);
    if (sum >= 0n) continue;
    const total = (byTaxability.get(unit.taxability) ?? 0n) + sum;
    const isDecided = unit.items.some(({ state }) => state === 'take');
    if (total < 0n && !isDecided) waiting.add(unit);
    else byTaxability.set(unit.taxability, total);
  }
  return waiting;
}

function totalsOf(regular: readonly Line[], possible: readonly Taken[]): Map<string, Cents> {
  const totals = new Map<string, Cents>();
  const add = (taxability: string, amount: Cents) =>
    totals.set(taxability, (totals.get(taxability) ?? 0n) + amount);
  for (const { account, amounts } of regular) add(account.taxability, amounts.member);
  for (const entry of possible) add(entry.unit.taxability, sumOf(entry));
  return totals;
}

/** Returns no line of an item of which the cap leaves nothing. */
function linesOf({ unit, taken, flags, notes }: Taken): Line[] {
  return unit.items.flatMap((item, index) => {
    const { id, line, outstanding } = item;
    const member = taken[index] as Cents;
    if (member === 0n && outstanding.member !== 0n) return [];
    return {
      ...line,
      amounts: { member, employer: outstanding.employer },
      settles: { ...(line.settles ?? NO_ITEM), item_id: id, outstanding_after: outstanding.member - member },
      // This paycheck follows.
      flags: [...line.flags.filter((flag) => flag !== 'no_further_paycheck'), ...flags],
      explanation: [line.explanation, ...settledInWords(item, member), ...notes].join(' '),
    };
  });
}

/** Returns what else settled the item, and what this line leaves of it. */
function settledInWords({ line, outstanding }: OpenItem, taken: Cents): string[] {
  const settled = line.amounts.member - outstanding.member;
  const left = outstanding.member - taken;
  return [
    ...(settled === 0n ? [] : [`${printReadable(settled)} settled since.`]),
    ...(settled === 0n && left === 0n ? [] : [`${printReadable(taken)} now, ${printReadable(left)} left.`]),
  ];
}

function leftAfter(units: readonly Unit[], lines: readonly Line[]): Taking['left'] {
  const byItem = new Map(lines.map(({ settles, amounts }) => [settles?.item_id, amounts]));
  return units
    .flatMap(({ items }) => items)
    .map((item) => {
      const taken = byItem.get(item.id) ?? NOTHING;
      return { item, outstanding: minus(item.outstanding, taken) };
    })
    .filter(({ outstanding }) => !isNothing(outstanding));
}

function smaller(amount: Cents, other: Cents): Cents {
  return amount < other ? amount : other;
}
