/** Takes an employee's open items in a run of the payroll model: cap first, then refunds are cut. */
import type { Run } from '../../../src/payroll/records/body.ts';
import { fraction, roundToCents } from '../calculation/oracle.ts';
import {
  bucketOf,
  countingOf,
  endOfJob,
  type ModelLine,
  type ModelRun,
  sharesStated,
  startOf,
} from './model.ts';
import { electionOf, isAdjustment, itemsOf, type Ledger, type StandingItem } from './model-items.ts';

/** Items of one run and deduction, which are taken together or not at all. */
type Unit = { items: StandingItem[]; bucket: string; wanted: bigint; taken: bigint; flags: string[] };

/** Returns the lines of an employee who is in a run, or whom an off-cycle run names. */
export function takenItems(ledger: Ledger & { now: ModelRun }, regular: readonly ModelLine[]): ModelLine[] {
  const { run } = ledger;
  const items = itemsOf(ledger).filter(
    ({ outstanding }) => outstanding.member !== 0n || outstanding.employer !== 0n,
  );
  const groups = Map.groupBy(items, ({ kind, source, deduction }) => [kind, source, deduction].join(' '));
  const units = [...groups.values()]
    .filter((group) => group.every((item) => mayTake(run, item)))
    .map((group): Unit => {
      const wanted = wantedOf(group, items);
      return { items: group, bucket: accountOf(ledger, group), wanted, taken: wanted, flags: [] };
    });
  if (!isLastCheck(ledger)) {
    cap(ledger, regular, units);
    cut(regular, units);
  }
  return units.filter(({ taken, items }) => taken !== 0n || sumToTake(items) === 0n).flatMap(linesOf);
}

function mayTake(run: Run, item: StandingItem): boolean {
  if (run.items !== null && !run.items.some((id) => isNamed(id, item))) return false;
  const isOtherYear = item.payDate.slice(0, 4) !== run.pay_date.slice(0, 4);
  if (isAdjustment(item) && item.bucket.endsWith(' pre_tax') && isOtherYear) return false;
  if (item.state === 'take') return item.notBefore === null || item.notBefore <= run.pay_date;
  if (item.state === 'hold') return false;
  // An item that was written off or paid directly has only the employer's amount left.
  if (item.state !== 'open') return true;
  const policy = isAdjustment(item) ? run.adjustments : run.arrears;
  return policy === 'include' && !item.needsDecision;
}

function isNamed(id: string, { kind, source, employee, deduction, bucket }: StandingItem): boolean {
  return id === [kind, source, employee, deduction, ...bucket.split(' ')].join(':');
}

function sumToTake(items: readonly StandingItem[]): bigint {
  return items.reduce((sum, { toTake }) => sum + toTake, 0n);
}

/** Of arrears, a run takes at most the sum of what is outstanding for their run and deduction. */
function wantedOf(group: readonly StandingItem[], items: readonly StandingItem[]): bigint {
  const wanted = sumToTake(group);
  const [{ kind, source, deduction }] = group as [StandingItem];
  if (kind !== 'arrears' || wanted <= 0n) return wanted;
  const all = items
    .filter((item) => item.source === source && item.deduction === deduction && item.kind !== 'opening')
    .reduce((sum, { outstanding }) => sum + outstanding.member, 0n);
  return all <= 0n ? 0n : all < wanted ? all : wanted;
}

/** Returns where a pair counts: in the line of coverage and taxability that its deduction has today, or had last. */
function accountOf({ world, run }: Ledger, group: readonly StandingItem[]): string {
  const [{ deduction, bucket }] = group as [StandingItem];
  if (group.length === 1) return bucket;
  const versions = countingOf(world, deduction);
  const state = versions.findLast((version) => startOf(version) <= run[run.applies_on]) ?? versions.at(-1);
  return state === undefined ? bucket : bucketOf(state);
}

/** Reports whether a run is a final check, or its period contains the termination. */
function isLastCheck({ world, run, employee }: Ledger): boolean {
  if (sharesStated(run, employee) !== null) return true;
  const end = endOfJob(world, run, employee);
  return end !== null && run.period_start <= end && end <= run.period_end;
}

function cap(ledger: Ledger, regular: readonly ModelLine[], units: readonly Unit[]): void {
  const increases = units.filter(({ wanted }) => wanted > 0n);
  for (const [coverage, ofCoverage] of Map.groupBy(
    increases,
    ({ bucket }) => bucket.split(' ')[0] as string,
  )) {
    const most = limitOf(ledger, regular, coverage);
    if (most === null) continue;
    let left = most;
    for (const unit of ofCoverage) {
      if (unit.items.length > 1) unit.taken = left > 0n ? unit.wanted : 0n;
      else unit.taken = unit.wanted < left ? unit.wanted : left;
      left = left > unit.taken ? left - unit.taken : 0n;
    }
    if (ofCoverage.some(({ wanted, taken }) => wanted !== taken))
      for (const { flags } of ofCoverage) flags.push('recoup_capped');
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
      .filter(({ shares, flags }) => shares === null && !flags.includes('share_taken'))
      .filter(({ flags }) => !flags.includes('overridden'))
      .reduce((sum, { member }) => sum + member, 0n);
  const before = runs
    .filter((earlier) => !earlier.voided && earlier.run.pay_date < run.pay_date)
    .sort((one, other) => (one.run.pay_date < other.run.pay_date ? -1 : 1))
    .map(({ lines }) => usualOf(lines));
  const usual = [...before, usualOf(regular)].findLast((total) => total > 0n);
  return usual === undefined ? null : roundToCents([usual * numerator, 100n * denominator]);
}

/** Cuts refunds from the last one back. A pair is held whole. */
function cut(regular: readonly ModelLine[], units: readonly Unit[]): void {
  for (const unit of units.toReversed()) {
    const taxability = unit.bucket.split(' ')[1];
    const total =
      regular
        .filter(({ election }) => election.taxability === taxability)
        .reduce((sum, { member }) => sum + member, 0n) +
      units
        .filter(({ bucket }) => bucket.split(' ')[1] === taxability)
        .reduce((sum, { taken }) => sum + taken, 0n);
    const isDecided = unit.items.some(({ state }) => state === 'take');
    if (unit.taken >= 0n || total >= 0n || isDecided) continue;
    const isWhole = unit.items.length > 1 || total <= unit.taken;
    unit.taken = isWhole ? 0n : unit.taken - total;
    unit.flags.push('refund_held');
  }
}

function linesOf({ items, taken, flags }: Unit): ModelLine[] {
  return items.map((item): ModelLine => {
    const member = items.length > 1 ? item.toTake : taken;
    return {
      employee: item.employee,
      deduction: item.deduction,
      election: electionOf(item.bucket),
      member,
      employer: item.outstanding.employer,
      kind: isAdjustment(item) ? 'adjustment' : 'arrears',
      of: item.source,
      item: item.kind,
      left: item.outstanding.member - member,
      change: null,
      replaces: null,
      amountChange: null,
      differences: null,
      shares: null,
      flags: [...item.flags, ...flags],
    };
  });
}
