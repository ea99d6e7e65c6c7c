/** The open items of the payroll model: what payroll still owes or is owed, and what was decided about it. */
import type { Run } from '../../../src/payroll/records/body.ts';
import {
  bucketOf,
  countingOf,
  dayOf,
  deductionsOf,
  type Election,
  lineKeyOf,
  type ModelLine,
  type ModelRun,
  type Pair,
  startOf,
  sumOf,
  type World,
  yearOf,
} from './model.ts';
import { dueOf, isElectedInTime } from './model-regular.ts';

const KINDS = ['arrears', 'opening', 'missed_check', 'adjustment'] as const;
type ItemKind = (typeof KINDS)[number];

/** An amount that was owed before the first run. */
export type ModelOpening = {
  id: string;
  employer: string;
  employee: string;
  deduction: string | null;
  coverage: string;
  taxability: string;
  amounts: Pair;
  payDate: string;
};

/** A decision on an item (`item`: its key), or a hold of an employee's items (null). */
export type ModelItemDecision = {
  employer: string;
  employee: string;
  item: string | null;
  action: 'take' | 'hold' | 'write_off' | 'paid_directly';
  madeFor: Pair | null;
  amount: bigint | null;
  until: string | null;
};

/** An open item before anything was settled. `source`: the earlier run, or the opening item. */
type ModelItem = {
  kind: ItemKind;
  source: string;
  employee: string;
  deduction: string;
  bucket: string;
  payDate: string;
  amount: Pair;
  /** The line of coverage that the deduction has today, or had last. */
  coverage: string;
  flags: string[];
  /** The election was sent before the pay date, or the money of a voided run comes back. */
  isExcepted: boolean;
};

type State = 'open' | 'take' | 'hold' | 'settled' | 'written_off' | 'paid_directly';

export type StandingItem = ModelItem & {
  outstanding: Pair;
  state: State;
  /** The amount outgrew a decision. */
  isOutgrown: boolean;
  /** The place of the decision that stands. */
  decision: number | null;
  /** The policy `include` does not take it. */
  needsDecision: boolean;
};

const NOTHING: Pair = { member: 0n, employer: 0n };

export function keyOfItem({ kind, source, deduction, bucket }: Omit<ModelItem, 'amount' | 'flags'>): string {
  return [kind, source, deduction, bucket].join(' ');
}

/** The runs and facts of an employee that open items are computed from. `now`: the computed run with its regular lines. */
export type Ledger = {
  world: World;
  run: Run;
  runs: readonly ModelRun[];
  now: ModelRun | null;
  employee: string;
};

/** Returns the items of an employee as of the pay date of a run, settled ones too, in the order in which runs take them. */
export function itemsOf(ledger: Ledger): StandingItem[] {
  const { world, run, employee } = ledger;
  const items = [
    ...ledger.runs.flatMap((of) => [...arrearsOf(ledger, of), ...adjustmentsOf(ledger, of)]),
    ...world.openings
      .filter((opening) => opening.employer === run.employer_id && opening.employee === employee)
      .map(openingItem),
  ];
  const standing = items.map((item) => standingOf(ledger, item));
  const flagged = standing.map((item) => {
    const net = netOf(item, standing);
    const retro = net > 0n ? ['retro_pre_tax'] : net < 0n ? ['retro_refund'] : [];
    return { ...item, flags: [...item.flags, ...retro] };
  });
  return flagged
    .map((item) => ({ item, group: groupOf(item, flagged) }))
    .map(({ item, group }) => ({
      ...item,
      ...decidedTogether(item, group),
      needsDecision: group.some((one) => needsDecision(run, one)),
      flags: item.flags.filter((flag) => flag !== 'partly covered'),
    }))
    .sort(byOrder);
}

type Decided = Pick<StandingItem, 'state' | 'decision' | 'isOutgrown'>;

/** A decision on an item of a group is one on all. */
function decidedTogether(item: Decided, group: readonly Decided[]): Partial<Decided> {
  if (group.length === 1) return {};
  if (group.some(({ isOutgrown }) => isOutgrown))
    return item.decision === null ? {} : { state: 'open', decision: null };
  const latest = group
    .filter(({ decision }) => decision !== null)
    .reduce<Decided | null>(
      (last, one) => ((last?.decision ?? -1) < (one.decision ?? -1) ? one : last),
      null,
    );
  return latest === null ? {} : { state: latest.state, decision: latest.decision };
}

/** Implements "Groups": returns the items that count with an item; itself, if it is in no group. */
export function groupOf<Item extends Pick<StandingItem, 'kind' | 'source' | 'coverage' | 'outstanding'>>(
  item: Item,
  items: readonly Item[],
): Item[] {
  if (!isAdjustment(item)) return [item];
  const group = items.filter(
    (one) =>
      isAdjustment(one) &&
      one.source === item.source &&
      one.coverage === item.coverage &&
      (one.outstanding.member !== 0n || one.outstanding.employer !== 0n),
  );
  const hasBoth =
    group.some(({ outstanding }) => outstanding.member < 0n) &&
    group.some(({ outstanding }) => outstanding.member > 0n);
  return hasBoth && group.includes(item) ? group : [item];
}

/** Returns the amounts not taken on the regular lines of a run. Amounts collected for a voided run must be returned. */
function arrearsOf({ world, runs, employee }: Ledger, of: ModelRun): ModelItem[] {
  const amounts = new Map<string, { deduction: string; bucket: string; amount: Pair }>();
  for (const line of of.voided ? [] : of.lines) {
    if (line.employee !== employee || line.kind !== 'regular') continue;
    const report = reportOf(world, of, line);
    if (report === undefined) continue;
    const bucket = bucketOf(line.election);
    const amount = { member: line.member - report, employer: 0n };
    amounts.set(`${line.deduction} ${bucket}`, { deduction: line.deduction, bucket, amount });
  }
  const settled = [
    ...linesFor(runs, employee, 'arrears', of.id)
      .filter(({ item }) => item === 'arrears')
      .map((line) => ({ deduction: line.deduction, bucket: bucketOf(line.election) })),
    ...decidedOf(world, of, employee, 'arrears'),
  ];
  for (const { deduction, bucket } of settled) {
    const key = `${deduction} ${bucket}`;
    if (!amounts.has(key)) amounts.set(key, { deduction, bucket, amount: NOTHING });
  }
  return [...amounts.values()].map((owed) => ({
    ...owed,
    kind: 'arrears',
    source: of.id,
    employee,
    payDate: of.run.pay_date,
    coverage: '',
    flags: [],
    isExcepted: true,
  }));
}

/** Returns what a run should have taken by today's facts, less what it took, per line of coverage and taxability. */
function adjustmentsOf({ world, run, runs, now, employee }: Ledger, of: ModelRun): ModelItem[] {
  if (![0, 1].includes(yearOf(run) - yearOf(of.run))) return [];
  const kind = of.roster.has(employee) ? 'adjustment' : 'missed_check';
  const attended = now === null ? runs : [...runs, now];
  return deductionsOf(world).flatMap((deduction): ModelItem[] => {
    const due = dueOf(world, of, attended, employee, deduction);
    const finalized = of.voided
      ? []
      : of.lines.filter(
          (line) =>
            line.kind === 'regular' &&
            line.employee === employee &&
            line.deduction === deduction &&
            of.roster.has(employee),
        );
    const later = linesFor(runs, employee, 'adjustment', of.id).filter(
      (line) => line.deduction === deduction,
    );
    const decided = decidedOf(world, of, employee, kind).filter((item) => item.deduction === deduction);
    const buckets = new Set([
      ...(due === null ? [] : [bucketOf(due.election)]),
      ...[...finalized, ...later].map((line) => bucketOf(line.election)),
      ...decided.map(({ bucket }) => bucket),
    ]);
    return [...buckets].map((bucket) => {
      const isDue = due !== null && bucketOf(due.election) === bucket;
      const taken = sumOf(finalized.filter((line) => bucketOf(line.election) === bucket));
      const owed = isDue ? due : NOTHING;
      return {
        ...{ kind, source: of.id, employee, deduction, bucket, payDate: of.run.pay_date },
        amount: { member: owed.member - taken.member, employer: owed.employer - taken.employer },
        flags: isDue ? due.flags : [],
        coverage: coverageFor(world, run, deduction),
        isExcepted: of.voided || isElectedInTime(world, of.run, deduction),
      };
    });
  });
}

function coverageFor(world: World, run: Run, deduction: string): string {
  const versions = countingOf(world, deduction);
  const state = versions.findLast((version) => startOf(version) <= dayOf(run)) ?? versions.at(-1);
  return state?.coverage ?? '';
}

/** Returns the items of a run with decisions: what was paid directly keeps counting if nothing is due any more. */
function decidedOf({ itemDecisions }: World, of: ModelRun, employee: string, kind: ItemKind) {
  return itemDecisions
    .filter((decision) => decision.employer === of.run.employer_id && decision.employee === employee)
    .flatMap(({ item }) => {
      const [decidedKind, source, deduction, ...account] = (item ?? '').split(' ') as [
        string,
        string,
        string,
      ];
      return decidedKind === kind && source === of.id ? [{ deduction, bucket: account.join(' ') }] : [];
    });
}

function openingItem(opening: ModelOpening): ModelItem {
  const { id, employee, deduction, amounts, payDate } = opening;
  return {
    kind: 'opening',
    source: id,
    employee,
    deduction: deduction ?? '',
    bucket: bucketOf(opening),
    payDate,
    amount: amounts,
    coverage: '',
    flags: [],
    isExcepted: true,
  };
}

function reportOf({ taken }: World, { id }: ModelRun, line: ModelLine): bigint | undefined {
  return taken.findLast(
    (report) => report.run === id && report.employee === line.employee && report.line === lineKeyOf(line),
  )?.amount;
}

/** Returns the lines of runs, not voided, that took items of a source. */
function linesFor(runs: readonly ModelRun[], employee: string, kind: ModelLine['kind'], source: string) {
  return runs
    .filter(({ voided }) => !voided)
    .flatMap(({ lines }) => lines)
    .filter((line) => line.employee === employee && line.kind === kind && line.of === source);
}

/** The amounts that runs took of an item: the employee's amounts as payroll reported them, the employer's as finalized. */
function tookOf(
  { world, runs }: Ledger,
  item: ModelItem,
): (Pair & { decisions: number; left: bigint | null })[] {
  const kind = item.kind === 'arrears' || item.kind === 'opening' ? 'arrears' : 'adjustment';
  return runs
    .filter(({ voided }) => !voided)
    .flatMap((run) =>
      run.lines
        .filter(
          (line) =>
            line.kind === kind &&
            (line.item === 'opening') === (item.kind === 'opening') &&
            line.of === item.source &&
            line.employee === item.employee &&
            line.deduction === item.deduction &&
            bucketOf(line.election) === item.bucket,
        )
        .map((line) => ({
          member: reportOf(world, run, line) ?? line.member,
          employer: line.employer,
          decisions: run.decisions,
          left: line.left,
        })),
    );
}

function sizeOf(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}

/** Returns the part of an amount that brings an outstanding amount toward zero. */
function toward(amount: bigint, outstanding: bigint): bigint {
  if (amount === 0n || amount > 0n !== outstanding > 0n || outstanding === 0n) return 0n;
  const [size, most] = [amount < 0n ? -amount : amount, outstanding < 0n ? -outstanding : outstanding];
  return size < most ? amount : outstanding;
}

function standingOf(ledger: Ledger, item: ModelItem): Omit<StandingItem, 'needsDecision'> {
  const { world, run } = ledger;
  const key = keyOfItem(item);
  const made = world.itemDecisions
    .map((decision, place) => ({ ...decision, place }))
    .filter((decision) => decision.employer === run.employer_id && decision.employee === item.employee)
    .filter((decision) => decision.item === null || decision.item === key);
  const took = tookOf(ledger, item);
  const outstanding = outstandingOf(item, took, made);
  const member = outstanding.member;
  const standing = { ...item, outstanding, isOutgrown: false, decision: null };
  const isOver = ({ action, until }: ModelItemDecision) =>
    action === 'hold' && until !== null && until < run.pay_date;
  const own = made.findLast((decision) => decision.item !== null);
  const last = made.at(-1);
  const closing = own?.action;
  const closed: State =
    closing === 'write_off' ? 'written_off' : closing === 'paid_directly' ? 'paid_directly' : 'settled';
  if (member === 0n && outstanding.employer === 0n) return { ...standing, state: closed };
  if (last === undefined) return { ...standing, state: 'open' };
  if (last.action === 'write_off' || last.action === 'paid_directly')
    return member === 0n ? { ...standing, state: closed } : { ...standing, state: 'open', isOutgrown: true };
  if (hasOutgrown(item, outstanding, last, took, made))
    return { ...standing, state: 'open', isOutgrown: true };
  if (isOver(last)) return { ...standing, state: 'open' };
  return { ...standing, state: last.action, decision: last.place };
}

/** Returns what runs and decisions leave of an item. */
function outstandingOf(item: ModelItem, took: readonly Pair[], made: readonly ModelItemDecision[]): Pair {
  const amountsOf = (action: string) =>
    made.filter((decision) => decision.action === action).map(({ amount }) => amount ?? 0n);
  let member = item.amount.member - sumOf(took).member;
  for (const paid of amountsOf('paid_directly')) member -= paid;
  for (const writtenOff of amountsOf('write_off')) member -= toward(writtenOff, member);
  return { member, employer: item.amount.employer - sumOf(took).employer };
}

type Made = ModelItemDecision & { place: number };

/** Reports whether a decision stands for an item no longer. */
function hasOutgrown(
  item: ModelItem,
  outstanding: Pair,
  { madeFor, place }: Made,
  took: ReturnType<typeof tookOf>,
  made: readonly Made[],
): boolean {
  if (madeFor === null) return false;
  const isEmployers = [madeFor, item.amount, outstanding].every(({ member }) => member === 0n);
  const side = isEmployers ? 'employer' : 'member';
  const [was, is] = [madeFor[side], item.amount[side]];
  // A decision ends when the amount or the outstanding amount is zero, has another sign or is larger.
  if (is === 0n && was !== 0n) return true;
  if (is !== 0n && (is > 0n !== was > 0n || sizeOf(is) > sizeOf(was))) return true;
  // It also ends when runs that knew it took what was outstanding, or more.
  const before = took.filter(({ decisions }) => decisions <= place);
  const earlier = made.filter((decision) => decision.place < place);
  const decided = outstandingOf({ ...item, amount: madeFor }, before, earlier);
  if (decided.member === 0n && outstanding.member !== 0n) return true;
  const open = decided.member === 0n ? 'employer' : 'member';
  let left = decided[open];
  const isSettled = took.some(({ decisions, ...amounts }) => {
    if (decisions <= place) return false;
    left -= amounts[open];
    return decided[open] !== 0n && left * decided[open] <= 0n;
  });
  return isSettled || outstanding[open] * decided[open] < 0n;
}

/** Returns the pre-tax net of the run and line of coverage that an item counts in, or 0. */
function netOf(
  item: Omit<StandingItem, 'needsDecision'>,
  items: readonly Omit<StandingItem, 'needsDecision'>[],
): bigint {
  const counts = (one: typeof item) =>
    isAdjustment(one) &&
    !one.isExcepted &&
    one.bucket.endsWith(' pre_tax') &&
    (one.outstanding.member !== 0n || one.outstanding.employer !== 0n);
  if (!counts(item)) return 0n;
  return items
    .filter((one) => counts(one) && one.bucket === item.bucket && one.source === item.source)
    .reduce((sum, one) => sum + one.amount.member, 0n);
}

export function isAdjustment({ kind }: Pick<ModelItem, 'kind'>): boolean {
  return kind === 'adjustment' || kind === 'missed_check';
}

function needsDecision(run: Run, item: Omit<StandingItem, 'needsDecision'>): boolean {
  if (item.isOutgrown) return true;
  if (!isAdjustment(item)) return false;
  return (
    item.flags.some((flag) => flag.startsWith('retro_') || flag === 'partly covered') ||
    (item.bucket.endsWith(' post_tax') &&
      item.outstanding.member > 0n &&
      item.payDate.slice(0, 4) < run.pay_date.slice(0, 4))
  );
}

function byOrder(one: ModelItem, other: ModelItem): number {
  const [coverage, taxability] = one.bucket.split(' ') as [string, string];
  const [otherCoverage, otherTaxability] = other.bucket.split(' ') as [string, string];
  const order = [
    [one.payDate, other.payDate],
    [one.source, other.source],
    [one.deduction, other.deduction],
    [coverage, otherCoverage],
    [taxability, otherTaxability],
    ...[[KINDS.indexOf(one.kind), KINDS.indexOf(other.kind)].map(String)],
  ] as [string, string][];
  for (const [left, right] of order) if (left !== right) return left < right ? -1 : 1;
  return 0;
}

/** The content of a line that takes an item: only its account is known. */
export function electionOf(bucket: string): Election {
  const [coverage, taxability] = bucket.split(' ') as [string, string];
  return { coverage, taxability, coverageType: null, period: 'monthly', member: '0', employer: '0' };
}
