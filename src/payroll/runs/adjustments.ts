/** The adjustments due for earlier runs by today's facts: docs/reconciliation.md. Pure. */
import { type Employment, spellOn } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { amountOf, type Cents, centsOf } from '../../money.ts';
import type { Amounts } from '../calculation/amounts.ts';
import { type Flag, isIncluded, type Line } from '../calculation/line.ts';
import { type History, historyAt } from './history.ts';
import { contentOf, contributionOf, type LineRules, stateInRun } from './lines.ts';
import { type Attended, missedCheckOf } from './missed-checks.ts';
import { isTerminatedBefore, membershipOf, type Scope } from './population.ts';

/** An earlier run, finalized or voided since, with its options and calendar as frozen. */
export type Earlier = {
  runId: string;
  freezeId: string;
  /** The ledger position at which the run was computed. */
  position: number;
  isVoided: boolean;
  /** It is in another calendar year than the current run. */
  isPriorYear: boolean;
  rules: LineRules;
  scope: Scope;
};

/** An employee in the ledger. */
export type Known = {
  employeeId: string;
  /** With every employer. */
  employments: readonly Employment[];
  /** The same as known at an earlier position. */
  employmentsAt: (position: number) => readonly Employment[];
  histories: readonly History[];
};

/** The lines of an employee in earlier runs. */
export type FrozenLines = {
  /** By freeze id, of the runs that the employee was in. */
  own: ReadonlyMap<string, readonly Line[]>;
  /** Lines of finalized runs that adjust an earlier run, by its id, in the order of the runs that carried them. */
  trueUps: ReadonlyMap<string | null, readonly Line[]>;
};

/** `rows`: one per run, in the order of the runs. Lines of a voided run do not count. */
export function frozenLinesOf(
  rows: readonly { freezeId: string; isIn: boolean; isVoided: boolean; lines: readonly Line[] }[],
): FrozenLines {
  const trueUps = rows
    .filter(({ isVoided }) => !isVoided)
    .flatMap(({ lines }) => lines.filter((line) => line.adjustment_for !== null && isIncluded(line)));
  return {
    own: new Map(rows.filter(({ isIn }) => isIn).map(({ freezeId, lines }) => [freezeId, lines])),
    trueUps: Map.groupBy(trueUps, (line) => line.adjustment_for),
  };
}

/** The run that carries the lines: the deductions that it takes, and its codes of today. */
export type Carrier = Pick<LineRules, 'codesOf'> & { named: ReadonlySet<string> | null };

type Pair = { member: Cents; employer: Cents };
const NONE: Pair = { member: 0n, employer: 0n };

/** The amounts that a run should have taken for a deduction by what is known today. */
type Due = Pair & { state: RunVersion | null; because: string; flags: Flag[] };

/** The amounts taken for a deduction under one line of coverage and taxability. `line` is the last one. */
type Settled = { line: Line; finalized: Pair; since: Pair };

/**
 * Reports whether facts recorded after a run may change what an employee owes it. It is cheap, so that only
 * those employees are examined.
 */
export function isTouched(earlier: Earlier, known: Known, wasIn: boolean): boolean {
  const owes = owesRun(earlier, known, wasIn);
  return known.histories.some((history) => {
    const then = wasIn ? historyAt(history, earlier.position) : null;
    const before = then === null ? null : stateInRun(then, known.employeeId, earlier.rules);
    const now = owes ? stateInRun(history, known.employeeId, earlier.rules) : null;
    return before?.position !== now?.position;
  });
}

/** Reports whether the run's own computation, repeated with what was known then, has the employee in it. */
export function wasInRun({ scope, position }: Earlier, { employmentsAt }: Known): boolean {
  return membershipOf(employmentsAt(position), scope).isIn;
}

/**
 * Reports whether the employee belongs in the run by today's facts. For one who was in it, employer, frequency and
 * group are as frozen; hire and termination are today's.
 */
function owesRun({ rules: { run }, scope }: Earlier, { employments }: Known, wasIn: boolean): boolean {
  if (!wasIn) return run.kind === 'regular' && membershipOf(employments, { ...scope, employees: null }).isIn;
  const employment = employments.find((one) => one.employer_id === run.employer_id);
  const spell = employment === undefined ? null : spellOn(employment, run.period_end);
  return employment !== undefined && spell !== null && !isTerminatedBefore(employment, spell, scope);
}

/**
 * Returns the adjustments of one employee for one earlier run: the amount due minus the adjusted amount, per deduction, line
 * of coverage and taxability. Each is a difference of rounded amounts.
 *
 * @param attended the runs of the employer that the employee is in, for the pay periods that they cover
 */
export function adjustmentLines(
  earlier: Earlier,
  known: Known,
  frozen: FrozenLines,
  attended: readonly Attended[],
  carrier: Carrier,
): Line[] {
  const own = frozen.own.get(earlier.freezeId);
  const settled = settledOf(earlier, own ?? [], frozen.trueUps.get(earlier.runId) ?? []);
  const histories = new Map(known.histories.map((history) => [history.deductionId, history]));
  const owes = !earlier.isVoided && owesRun(earlier, known, own !== undefined);
  const lines: Line[] = [];
  for (const id of new Set([...histories.keys(), ...settled.keys()])) {
    if (carrier.named?.has(id) === false) continue;
    const history = histories.get(id);
    const due =
      owes && history !== undefined
        ? dueOf(earlier, history, known.employeeId, own === undefined ? attended : null)
        : nothingDue(earlier);
    lines.push(...differencesOf(earlier, due, settled.get(id) ?? new Map(), carrier));
  }
  return lines;
}

function nothingDue({ isVoided }: Earlier): Due {
  const because = isVoided ? 'the run was voided' : 'nothing is due by what is known today';
  return { ...NONE, state: null, because, flags: [] };
}

/** `attended`: null if the employee was in the run. */
function dueOf(
  earlier: Earlier,
  history: History,
  employeeId: string,
  attended: readonly Attended[] | null,
): Due {
  const state = stateInRun(history, employeeId, earlier.rules);
  if (state === null) return nothingDue(earlier);
  const amounts = earlier.rules.calculate(contributionOf(state));
  const due: Due = {
    ...pairOf(amounts),
    state,
    because: `today ${amounts.explanation}`,
    flags: [...amounts.flags],
  };
  if (attended === null) return due;
  const missed = missedCheckOf(earlier.rules.run, history, attended);
  if (missed === null) return nothingDue(earlier);
  due.flags.push(missed.flag);
  if (!missed.isTaken) return due;
  const employer = missed.employer === 0n ? '' : ` and employer ${amountOf(missed.employer)}`;
  return {
    ...due,
    member: due.member - missed.member,
    employer: due.employer - missed.employer,
    because: `${due.because}; less ${amountOf(missed.member)}${employer} of off-cycle runs`,
  };
}

/** One kind of money: amounts under different lines of coverage or taxability never offset each other. */
function bucketOf({ line_of_coverage, taxability }: Pick<Line, 'line_of_coverage' | 'taxability'>): string {
  return `${line_of_coverage} ${taxability}`;
}

/** Returns the amounts taken for a run, by the run and by later runs. By deduction, then by bucket. */
function settledOf(
  { isVoided }: Earlier,
  own: readonly Line[],
  trueUps: readonly Line[],
): Map<string, Map<string, Settled>> {
  const settled = new Map<string, Map<string, Settled>>();
  const add = (line: Line, part: 'finalized' | 'since'): void => {
    const ofDeduction = settled.get(line.deduction_id) ?? new Map<string, Settled>();
    const known = ofDeduction.get(bucketOf(line)) ?? { line, finalized: NONE, since: NONE };
    const sum = plus(known[part], pairOf(line));
    ofDeduction.set(bucketOf(line), { ...known, line, [part]: sum });
    settled.set(line.deduction_id, ofDeduction);
  };
  // A voided run took nothing. Arrears collected for it are returned like its adjustments.
  if (!isVoided) for (const line of own) if (line.kind === 'regular') add(line, 'finalized');
  for (const line of trueUps) if (line.kind === 'adjustment' || isVoided) add(line, 'since');
  return settled;
}

function differencesOf(
  earlier: Earlier,
  due: Due,
  settled: ReadonlyMap<string, Settled>,
  carrier: Carrier,
): Line[] {
  const dueBucket = due.state === null ? null : bucketOf(due.state);
  const dueElsewhere: Due =
    due.state === null
      ? due
      : { ...nothingDue(earlier), because: 'nothing is due under this line of coverage and taxability' };
  const buckets = new Set([...(dueBucket === null ? [] : [dueBucket]), ...settled.keys()]);
  return [...buckets].flatMap((bucket) => {
    const dueHere = bucket === dueBucket ? due : dueElsewhere;
    return differenceLine(earlier, dueHere, settled.get(bucket), carrier) ?? [];
  });
}

function differenceLine(
  { runId, isPriorYear }: Earlier,
  due: Due,
  settled: Settled | undefined,
  carrier: Carrier,
): Line | null {
  const { finalized, since } = settled ?? { finalized: NONE, since: NONE };
  const member = due.member - finalized.member - since.member;
  const employer = due.employer - finalized.employer - since.employer;
  if (member === 0n && employer === 0n) return null;
  const content =
    due.state === null ? contentOfLine((settled as Settled).line, carrier) : contentOf(due.state, carrier);
  const working = [
    workingOf('', due.member, finalized.member, since.member, member),
    employer === 0n ? '' : workingOf('employer ', due.employer, finalized.employer, since.employer, employer),
  ];
  return {
    ...content,
    member_amount: amountOf(member),
    employer_amount: amountOf(employer),
    kind: 'adjustment',
    adjustment_for: runId,
    change: null,
    amount_change: null,
    previous_amount: null,
    member_difference: null,
    employer_difference: null,
    flags: isPriorYear ? [...due.flags, 'prior_year'] : due.flags,
    explanation: `run ${runId}: ${due.because}${working.join('')}`,
  };
}

function workingOf(side: string, now: Cents, finalized: Cents, since: Cents, left: Cents): string {
  const adjusted = since === 0n ? '' : `, ${amountOf(since)} already adjusted`;
  return `; ${side}${amountOf(now)} due, ${amountOf(finalized)} finalized${adjusted}: ${amountOf(left)}`;
}

/** Reports whether a line with these flags is shown and never taken. */
export function isReportedOnly(flags: readonly Flag[]): boolean {
  return flags.includes('prior_year') || flags.includes('missed_check_partial');
}

/** Adds to the adjustments of one employee the direction of their pre-tax net, and marks those that are only reported. */
export function marked(lines: readonly Line[], flags: readonly Flag[]): Line[] {
  const nets = new Map<string, Cents>();
  for (const line of lines) {
    const net = netOf(line);
    if (net !== null) nets.set(net, (nets.get(net) ?? 0n) + centsOf(line.member_amount));
  }
  return lines.map((line) => {
    const net = nets.get(netOf(line) ?? '') ?? 0n;
    const retro: Flag[] = net === 0n ? [] : [net < 0n ? 'retro_refund' : 'retro_pre_tax'];
    const all = [...line.flags, ...retro, ...flags];
    if (isReportedOnly(all)) all.push('reported');
    return { ...line, flags: [...new Set(all)] };
  });
}

/** Which net a line counts in; null: none. One tax year is not offset against another. */
function netOf({ taxability, line_of_coverage, flags }: Line): string | null {
  if (taxability !== 'pre_tax') return null;
  return flags.includes('prior_year') ? `${line_of_coverage} prior_year` : line_of_coverage;
}

/** Returns what an earlier line states about its deduction, with the codes of today. */
export function contentOfLine(line: Line, { codesOf }: Pick<LineRules, 'codesOf'>): Line {
  return { ...line, ...codesOf(line.line_of_coverage, line.taxability) };
}

function plus(one: Pair, other: Pair): Pair {
  return { member: one.member + other.member, employer: one.employer + other.employer };
}

function pairOf({
  member_amount,
  employer_amount,
}: Pick<Amounts, 'member_amount' | 'employer_amount'>): Pair {
  return { member: centsOf(member_amount), employer: centsOf(employer_amount) };
}
