/** What earlier finalized runs should have taken by today's versions: "Adjustments" of payroll.md. Pure. */
import { latestOf } from '../../ledger/state.ts';
import type { Amounts } from '../arithmetic/amounts.ts';
import { isSameNumber } from '../arithmetic/money.ts';
import { difference, total } from '../arithmetic/sums.ts';
import { type Flag, isIncluded, type Line, NOTHING } from './line.ts';
import {
  contentOf,
  contributionOf,
  type History,
  isStartMovedLater,
  type LineRules,
  type RunVersion,
  stateInRun,
} from './lines.ts';

/** An earlier finalized run, and how its amounts are computed: by its own options and calendar, as frozen. */
export type Earlier = {
  runId: string;
  freezeId: string;
  /** The ledger's position that it was computed at. */
  position: number;
  /** It is of another calendar year than the run at hand. */
  isPriorYear: boolean;
  rules: LineRules;
};

/** What an employee had in earlier finalized runs. */
export type FrozenLines = {
  /** By freeze id, of the runs that the employee was in. */
  own: ReadonlyMap<string, readonly Line[]>;
  /** Those that settle an earlier run, by its id, in the order of the runs that carried them. */
  settling: ReadonlyMap<string | null, readonly Line[]>;
};

/** `rows`: one a run, in the order of the runs. */
export function frozenLinesOf(
  rows: readonly { freezeId: string; isIn: boolean; lines: readonly Line[] }[],
): FrozenLines {
  const settling = rows.flatMap(({ lines }) =>
    lines.filter((line) => line.adjustment_for !== null && isIncluded(line)),
  );
  return {
    own: new Map(rows.filter(({ isIn }) => isIn).map(({ freezeId, lines }) => [freezeId, lines])),
    settling: Map.groupBy(settling, (line) => line.adjustment_for),
  };
}

/** What the run that is to carry the lines says of them: which deductions it takes, and its codes of today. */
export type Carrier = Pick<LineRules, 'codesOf'> & { named: ReadonlySet<string> | null };

/** What a run took of a deduction, and what later runs have added. `line`: the run's own, else the last one added. */
type Settled = { line: Line; finalized: Pair; since: Pair };
type Pair = { member: string; employer: string };

/**
 * Whether something that became known after a run may change what one of an employee's deductions costs in it: cheap,
 * so that only those are looked at more closely.
 */
export function isTouched(earlier: Earlier, employeeId: string, histories: readonly History[]): boolean {
  return histories.some((history) => {
    const isNew = (history.at(-1) as RunVersion).position > earlier.position;
    if (!isNew) return false;
    const known = history.filter((version) => version.position <= earlier.position);
    const [before, now] = [known, history].map((versions) =>
      stateInRun(versions, employeeId, earlier.rules),
    ) as [RunVersion | null, RunVersion | null];
    return before?.position !== now?.position || (now !== null && mayNeverHaveBeen(now, history, earlier));
  });
}

/**
 * The differences of one employee in one earlier run: the amount by today's versions, less the amount finalized, less
 * what later finalized runs have settled already. A difference of rounded amounts.
 */
export function adjustmentLines(
  earlier: Earlier,
  employeeId: string,
  histories: readonly History[],
  frozen: FrozenLines,
  carrier: Carrier,
): Line[] {
  const own = frozen.own.get(earlier.freezeId);
  // Who was not in the run owes it nothing: its roster is as frozen.
  if (own === undefined) return [];
  const settled = settledOf(own, frozen.settling.get(earlier.runId) ?? []);
  const byId = new Map(histories.map((history) => [history[0]?.deduction_id as string, history]));
  const lines: (Line | null)[] = [];
  for (const id of new Set([...byId.keys(), ...settled.keys()])) {
    if (carrier.named?.has(id) === false) continue;
    const history = byId.get(id) ?? [];
    const state = stateInRun(history, employeeId, earlier.rules);
    const amounts = state === null ? null : earlier.rules.calculate(contributionOf(state));
    lines.push(differenceLine(earlier, state, amounts, settled.get(id), carrier));
    if (state !== null && amounts !== null && mayNeverHaveBeen(state, history, earlier))
      lines.push(movedRefund(earlier, state, amounts, history, carrier));
  }
  return lines.filter((line) => line !== null);
}

/** Marks adjustments of one employee: the direction of their pre-tax net, and those that are only reported. */
export function marked(lines: readonly Line[], flags: readonly Flag[]): Line[] {
  const nets = new Map<string, string>();
  for (const line of lines) {
    const net = netOf(line);
    if (net !== null) nets.set(net, total([nets.get(net) ?? NOTHING, line.member_amount]));
  }
  return lines.map((line) => {
    const net = nets.get(netOf(line) ?? '') ?? NOTHING;
    const retro: Flag[] = net === NOTHING ? [] : [net.startsWith('-') ? 'retro_refund' : 'retro_pre_tax'];
    const all = new Set<Flag>([...line.flags, ...retro, ...flags]);
    if (all.has('start_moved_later') || all.has('prior_year') || all.has('no_further_paycheck'))
      all.add('reported');
    return { ...line, flags: [...all] };
  });
}

/**
 * Which net a line is part of; null: of none. What one tax year changes is not set off against another, nor against a
 * refund that nobody has decided on.
 */
function netOf({ taxability, line_of_coverage, flags }: Line): string | null {
  if (taxability !== 'pre_tax' || flags.includes('start_moved_later')) return null;
  return flags.includes('prior_year') ? `${line_of_coverage} prior_year` : line_of_coverage;
}

/** What the run took of each deduction, with what later runs have settled of it. */
function settledOf(own: readonly Line[], settling: readonly Line[]): Map<string, Settled> {
  const settled = new Map<string, Settled>();
  for (const line of own) {
    if (line.kind !== 'regular') continue;
    settled.set(line.deduction_id, { line, finalized: pairOf(line), since: NONE });
  }
  for (const line of settling) {
    if (line.kind !== 'adjustment') continue;
    const before = settled.get(line.deduction_id) ?? { line, finalized: NONE, since: NONE };
    settled.set(line.deduction_id, {
      line: before.line.kind === 'regular' ? before.line : line,
      finalized: before.finalized,
      since: {
        member: total([before.since.member, line.member_amount]),
        employer: total([before.since.employer, line.employer_amount]),
      },
    });
  }
  return settled;
}

function differenceLine(
  earlier: Earlier,
  state: RunVersion | null,
  amounts: Amounts | null,
  settled: Settled | undefined,
  carrier: Carrier,
): Line | null {
  const { finalized, since } = settled ?? { finalized: NONE, since: NONE };
  const now = amounts === null ? NONE : pairOf(amounts);
  const member = leftOf(now.member, finalized.member, since.member);
  const employer = leftOf(now.employer, finalized.employer, since.employer);
  if (member === NOTHING && employer === NOTHING) return null;
  // Where nothing is in effect now something was settled, or there were no difference.
  const content =
    state === null ? contentOfLine((settled as Settled).line, carrier) : contentOf(state, carrier);
  const because =
    amounts === null ? 'not in effect by what is known now' : `by what is known now ${amounts.explanation}`;
  const working = [
    workingOf('', now.member, finalized.member, since.member, member),
    employer === NOTHING
      ? ''
      : workingOf('employer ', now.employer, finalized.employer, since.employer, employer),
  ];
  return {
    ...content,
    member_amount: member,
    employer_amount: employer,
    ...linkedTo(earlier, amounts?.flags ?? []),
    explanation: `run ${earlier.runId}: ${because}${working.join('')}`,
  };
}

function leftOf(now: string, finalized: string, since: string): string {
  // Most lines of most runs: nothing to compute.
  if (now === finalized && since === NOTHING) return NOTHING;
  return difference(difference(now, finalized), since);
}

function workingOf(side: string, now: string, finalized: string, since: string, left: string): string {
  const adjusted = since === NOTHING ? '' : ` - ${since} adjusted since`;
  return `; ${side}${now} - ${finalized} finalized${adjusted} = ${left}`;
}

/**
 * Whether a version that became known after the run moved the deduction's start behind its day, so that what the run
 * took might never have been due. Not one that brings other amounts, from the day it was sent or later, to a deduction
 * that had begun: that is a change like any other.
 */
function mayNeverHaveBeen(state: RunVersion, history: History, { position }: Earlier): boolean {
  if (!isStartMovedLater(history, state)) return false;
  const latest = latestOf(history) as RunVersion;
  const sentOn = latest.event_time.slice(0, 'YYYY-MM-DD'.length);
  const isAhead = (latest.starts_on as string) >= sentOn;
  const hasBegun = state.starts_on === null || state.starts_on <= sentOn;
  return latest.position > position && !(isAhead && hasBegun && !isSameAmount(state, latest));
}

function isSameAmount(one: RunVersion, other: RunVersion): boolean {
  if (one.period !== other.period) return false;
  return (['member_contribution', 'employer_contribution'] as const).every((side) =>
    isSameNumber(one[side], other[side]),
  );
}

/** What is due back if the newer version was to replace the one before it. Never by itself. */
function movedRefund(
  earlier: Earlier,
  state: RunVersion,
  amounts: Amounts,
  history: History,
  carrier: Carrier,
): Line | null {
  const { member, employer } = pairOf(amounts);
  if (member === NOTHING && employer === NOTHING) return null;
  const latest = latestOf(history) as RunVersion;
  return {
    ...contentOf(state, carrier),
    member_amount: difference(NOTHING, member),
    employer_amount: difference(NOTHING, employer),
    ...linkedTo(earlier, ['start_moved_later']),
    explanation: `run ${earlier.runId}: version ${latest.version} begins ${latest.starts_on}; if it was to replace the one before, ${member} is due back`,
  };
}

/** What an earlier line says of its deduction, with the codes of today. */
export function contentOfLine(line: Line, { codesOf }: Pick<LineRules, 'codesOf'>): Line {
  return { ...line, ...codesOf(line.line_of_coverage, line.taxability) };
}

function linkedTo({ runId, isPriorYear }: Earlier, flags: readonly Flag[]) {
  return {
    kind: 'adjustment',
    adjustment_for: runId,
    change: null,
    previous_amount: null,
    flags: isPriorYear ? ([...flags, 'prior_year'] satisfies Flag[]) : [...flags],
  } as const;
}

function pairOf({
  member_amount,
  employer_amount,
}: Pick<Amounts, 'member_amount' | 'employer_amount'>): Pair {
  return { member: member_amount, employer: employer_amount };
}

const NONE: Pair = { member: NOTHING, employer: NOTHING };
