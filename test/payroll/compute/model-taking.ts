/** Takes an employee's open items in a run of the payroll model: increases under the cap first, then refunds that fit. */
import type { Run } from '../../../src/payroll/records/body.ts';
import {
  bucketOf,
  countingOf,
  dayOf,
  endOfJob,
  isFinal,
  type ModelLine,
  type ModelRun,
  startOf,
} from './model.ts';
import { fraction, roundToCents } from './model-calendar.ts';
import { electionOf, groupOf, isAdjustment, itemsOf, type Ledger, type StandingItem } from './model-items.ts';

/** A group of items, or one item. `wanted`: the sum of what its items could take. */
type Unit = { items: StandingItem[]; bucket: string; wanted: bigint; taken: bigint | null; flags: string[] };

/** Returns the lines of an employee who is in a run, or whom an off-cycle run names. */
export function takenItems(ledger: Ledger & { now: ModelRun }, regular: readonly ModelLine[]): ModelLine[] {
  const { run } = ledger;
  const items = itemsOf(ledger).filter(
    ({ outstanding }) => outstanding.member !== 0n || outstanding.employer !== 0n,
  );
  const units: Unit[] = [];
  for (const item of items) {
    if (units.some((unit) => unit.items.includes(item))) continue;
    const group = groupOf(item, items);
    if (!group.every((one) => mayTake(run, one)) || group.some((one) => isOfOtherYear(run, one))) continue;
    const wanted = group.length > 1 ? sumOfMembers(group) : wantedOf(item, items);
    units.push({ items: group, bucket: accountOf(ledger, group), wanted, taken: null, flags: [] });
  }
  cap(ledger, regular, units);
  takeRefunds(regular, units);
  return units.flatMap(linesOf);
}

function isOfOtherYear(run: Run, item: StandingItem): boolean {
  return (
    isAdjustment(item) &&
    item.bucket.endsWith(' pre_tax') &&
    (item.outstanding.member > 0n || (item.outstanding.member === 0n && item.outstanding.employer > 0n)) &&
    item.payDate.slice(0, 4) !== run.pay_date.slice(0, 4)
  );
}

function mayTake(run: Run, item: StandingItem): boolean {
  if (run.items !== null && !run.items.some((id) => isNamed(id, item))) return false;
  if (item.state === 'take') return true;
  if (item.state === 'hold') return false;
  // An item that was written off or paid directly has only the employer's amount left.
  if (item.state !== 'open') return true;
  return run.open_items === 'include' && !item.needsDecision;
}

function isNamed(id: string, { kind, source, employee, deduction, bucket }: StandingItem): boolean {
  return id === [kind, source, employee, deduction, ...bucket.split(' ')].map(encodeURIComponent).join(':');
}

function sumOfMembers(items: readonly StandingItem[]): bigint {
  return items.reduce((sum, { outstanding }) => sum + outstanding.member, 0n);
}

/** Of arrears, a run takes at most the sum of what is outstanding for their run and deduction. */
function wantedOf(item: StandingItem, items: readonly StandingItem[]): bigint {
  const wanted = item.outstanding.member;
  if (item.kind !== 'arrears' || wanted <= 0n) return wanted;
  const all = sumOfMembers(
    items.filter(
      (one) => one.source === item.source && one.deduction === item.deduction && one.kind !== 'opening',
    ),
  );
  return all <= 0n ? 0n : all < wanted ? all : wanted;
}

/** Returns where a group counts: in the taxability of its deduction that started last. */
function accountOf({ world, run }: Ledger, group: readonly StandingItem[]): string {
  const [first] = group as [StandingItem];
  if (group.length === 1) return first.bucket;
  const started = group.map((item) => {
    const versions = countingOf(world, item.deduction);
    const state = versions.findLast((version) => startOf(version) <= dayOf(run)) ?? versions.at(-1);
    return { item, start: state === undefined ? '' : startOf(state), state };
  });
  const latest = started.reduce((last, one) => (one.start >= last.start ? one : last));
  const taxability = (latest.state?.taxability ?? latest.item.bucket.split(' ')[1]) as string;
  return bucketOf({ coverage: first.coverage, taxability });
}

/** Reports whether a run is a final check, or its period contains the termination. */
function isLastCheck({ world, run, employee }: Ledger): boolean {
  if (isFinal(run, employee)) return true;
  const end = endOfJob(world, run, employee);
  return end !== null && run.period_start <= end && end <= run.period_end;
}

/** Takes the increases and arrears, as far as the cap leaves them. */
function cap(ledger: Ledger, regular: readonly ModelLine[], units: readonly Unit[]): void {
  const increases = units.filter(({ wanted }) => wanted >= 0n);
  const byCoverage = Map.groupBy(increases, ({ bucket }) => bucket.split(' ')[0] as string);
  for (const [coverage, ofCoverage] of byCoverage) {
    const most = isLastCheck(ledger) ? null : limitOf(ledger, regular, coverage);
    let left = most ?? 0n;
    for (const unit of ofCoverage) {
      unit.taken = most === null || unit.wanted < left ? unit.wanted : left;
      left -= unit.taken;
    }
    if (ofCoverage.some(({ wanted, taken }) => wanted !== taken))
      for (const { wanted, flags } of ofCoverage) if (wanted > 0n) flags.push('recoup_capped');
  }
}

function limitOf(
  { run, runs, employee }: Ledger,
  regular: readonly ModelLine[],
  coverage: string,
): bigint | null {
  const { recoup } = run;
  if (recoup.method === 'all') return null;
  const [numerator, denominator] = fraction(recoup.value);
  if (recoup.method === 'amount') return roundToCents([numerator, denominator]);
  const usualOf = (lines: readonly ModelLine[]) =>
    lines
      .filter((line) => line.kind === 'regular' && line.employee === employee)
      .filter(({ election }) => election.coverage === coverage)
      .filter(({ shares }) => (shares ?? []).length <= 1)
      .filter(({ flags }) => !flags.includes('overridden') && !flags.includes('share_taken'))
      .reduce((sum, { member }) => sum + member, 0n);
  const before = runs
    .filter((earlier) => !earlier.voided && earlier.run.pay_date < run.pay_date)
    .sort((one, other) => (one.run.pay_date < other.run.pay_date ? -1 : 1))
    .map(({ lines }) => usualOf(lines));
  const usual = [...before, usualOf(regular)].findLast((total) => total > 0n);
  return usual === undefined ? null : roundToCents([usual * numerator, 100n * denominator]);
}

/** Takes each refund whole, in order, if the lines of its taxability stay at or above zero, or if it was decided. */
function takeRefunds(regular: readonly ModelLine[], units: readonly Unit[]): void {
  const totals = new Map<string, bigint>();
  const add = (taxability: string, member: bigint) =>
    totals.set(taxability, (totals.get(taxability) ?? 0n) + member);
  for (const { election, member } of regular) add(election.taxability, member);
  for (const { bucket, taken } of units) add(bucket.split(' ')[1] as string, taken ?? 0n);
  for (const unit of units.filter(({ wanted }) => wanted < 0n)) {
    const taxability = unit.bucket.split(' ')[1] as string;
    const fits = (totals.get(taxability) ?? 0n) + unit.wanted >= 0n;
    if (!fits && !unit.items.some(({ state }) => state === 'take')) continue;
    unit.taken = unit.wanted;
    add(taxability, unit.wanted);
  }
}

/** Of a group, decreases are taken whole, and increases up to them plus what the cap leaves. */
function linesOf({ items, taken, flags }: Unit): ModelLine[] {
  if (taken === null || (taken === 0n && items.length === 1 && items[0]?.outstanding.member !== 0n))
    return [];
  const back = items.reduce((sum, { outstanding: { member } }) => (member < 0n ? sum - member : sum), 0n);
  let left = items.length === 1 ? taken : taken + back;
  return items.flatMap((item): ModelLine[] => {
    const all = items.length === 1 ? taken : item.outstanding.member;
    const member = all <= 0n || all < left ? all : left;
    if (all > 0n) left -= member;
    if (all > 0n && member === 0n) return [];
    return [
      {
        ...{ employee: item.employee, deduction: item.deduction, election: electionOf(item.bucket) },
        ...{ member, employer: item.outstanding.employer, of: item.source, item: item.kind },
        kind: isAdjustment(item) ? 'adjustment' : 'arrears',
        left: item.outstanding.member - member,
        ...{ change: null, replaces: null, amountChange: null, differences: null, shares: null },
        flags: [...item.flags, ...flags],
      },
    ];
  });
}
