/** The open items of the payroll model: what payroll still owes or is owed, and what was decided about it. */
import type { Run } from '../../../src/payroll/records/body.ts';
import {
  bucketOf,
  deductionsOf,
  dueOf,
  type Election,
  isElectedInTime,
  lineKeyOf,
  type ModelLine,
  type ModelRun,
  type Pair,
  sumOf,
  type World,
  yearOf,
} from './model.ts';

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
  notBefore: string | null;
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
  flags: string[];
  /** The election was sent before the pay date, or the money of a voided run comes back. */
  isExcepted: boolean;
};

type State = 'open' | 'take' | 'hold' | 'settled' | 'written_off' | 'paid_directly';

export type StandingItem = ModelItem & {
  outstanding: Pair;
  state: State;
  /** The amount that a decision `take` still takes; without one, the outstanding amount. */
  toTake: bigint;
  notBefore: string | null;
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
  return standing
    .map((item) => {
      const net = netOf(item, standing);
      const retro = net > 0n ? ['retro_pre_tax'] : net < 0n ? ['retro_refund'] : [];
      return withNeed(run, { ...item, flags: [...item.flags, ...retro] });
    })
    .sort(byOrder);
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
    const due = dueOf(world, of, attended, employee, deduction, run.pay_date);
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
        flags: [...(isDue ? due.flags : []), ...(yearOf(of.run) === yearOf(run) ? [] : ['prior_year'])],
        isExcepted: of.voided || isElectedInTime(world, of.run, deduction),
      };
    });
  });
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
function tookOf({ world, runs }: Ledger, item: ModelItem): (Pair & { decisions: number })[] {
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
        })),
    );
}

/** Returns the part of an amount that brings an outstanding amount toward zero. */
function toward(amount: bigint, outstanding: bigint): bigint {
  if (amount === 0n || amount > 0n !== outstanding > 0n || outstanding === 0n) return 0n;
  const [size, most] = [amount < 0n ? -amount : amount, outstanding < 0n ? -outstanding : outstanding];
  return size < most ? amount : outstanding;
}

function standingOf(
  ledger: Ledger,
  item: ModelItem,
): Omit<StandingItem, 'needsDecision'> & { needsNew: boolean } {
  const { world, run } = ledger;
  const key = keyOfItem(item);
  const made = world.itemDecisions
    .map((decision, place) => ({ ...decision, place }))
    .filter((decision) => decision.employer === run.employer_id && decision.employee === item.employee)
    .filter((decision) => decision.item === null || decision.item === key);
  const took = tookOf(ledger, item);
  const amountsOf = (action: string) =>
    made.filter((decision) => decision.action === action).map(({ amount }) => amount ?? 0n);
  let member = item.amount.member - sumOf(took).member;
  for (const paid of amountsOf('paid_directly')) member -= paid;
  for (const writtenOff of amountsOf('write_off')) member -= toward(writtenOff, member);
  const outstanding = { member, employer: item.amount.employer - sumOf(took).employer };
  const standing = { ...item, outstanding, toTake: member, notBefore: null };
  const last = made.at(-1);
  const ended = made.findLast((decision) => decision.item !== null)?.action;
  const isEnded = ended === 'write_off' || ended === 'paid_directly';
  const closed: State = isEnded ? (ended === 'write_off' ? 'written_off' : 'paid_directly') : 'settled';
  if (member === 0n && outstanding.employer === 0n) return { ...standing, state: closed, needsNew: false };
  if (last === undefined) return { ...standing, state: 'open', needsNew: false };
  const isOutdated =
    last.madeFor !== null &&
    (last.madeFor.member !== item.amount.member || last.madeFor.employer !== item.amount.employer);
  const open = (needsNew: boolean) => ({ ...standing, state: 'open' as const, needsNew });
  if (last.action === 'write_off' || last.action === 'paid_directly')
    return member === 0n ? { ...standing, state: closed, needsNew: false } : open(true);
  if (isOutdated) return open(true);
  if (last.action === 'hold')
    return last.until !== null && last.until <= run.pay_date
      ? open(false)
      : { ...standing, state: 'hold', needsNew: false };
  const since = sumOf(took.filter(({ decisions }) => decisions > last.place)).member;
  const toTake = last.amount === null ? member : toward(last.amount - since, member);
  if (last.amount !== null && toTake === 0n) return open(true);
  return { ...standing, state: 'take', toTake, notBefore: last.notBefore, needsNew: false };
}

/** Returns the pre-tax net of the tax year and line of coverage that an item counts in, or 0. */
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
    .filter((one) => counts(one) && one.bucket === item.bucket)
    .filter((one) => one.payDate.slice(0, 4) === item.payDate.slice(0, 4))
    .reduce((sum, one) => sum + one.amount.member, 0n);
}

export function isAdjustment({ kind }: Pick<ModelItem, 'kind'>): boolean {
  return kind === 'adjustment' || kind === 'missed_check';
}

const NEVER_RETROACTIVE = ['hsa', 'healthcare_fsa', 'limited_purpose_fsa', 'dependent_care_fsa'];

function withNeed(run: Run, { needsNew, ...item }: ReturnType<typeof standingOf>): StandingItem {
  const [coverage, taxability] = item.bucket.split(' ') as [string, string];
  const isRetroactive = item.flags.some((flag) => flag.startsWith('retro_'));
  const isEarlierYear = item.payDate.slice(0, 4) < run.pay_date.slice(0, 4);
  const needsDecision =
    needsNew ||
    (isAdjustment(item) &&
      ((isRetroactive && NEVER_RETROACTIVE.includes(coverage)) ||
        item.flags.includes('missed_check_partial') ||
        (taxability === 'post_tax' && isEarlierYear)));
  return { ...item, needsDecision };
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
