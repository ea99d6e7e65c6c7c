/** The adjustments due for earlier runs by today's facts: docs/reconciliation.md. Pure. */
import { spellOn } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { amountOf, type Cents, centsOf } from '../../money.ts';
import { type Flag, isIncluded, type Line } from '../calculation/line.ts';
import type { FrozenRow } from '../records/frozen-lines.ts';
import { type History, historyAt } from './history.ts';
import { type Attended, missedCheckOf } from './missed-checks.ts';
import { isTerminatedBefore, membershipOf } from './population.ts';
import { contentOf, contributionOf, type Employee, type Rules, stateInRun } from './regular-lines.ts';

/** An earlier run, finalized or voided since, with its options and calendar as frozen. */
export type Earlier = {
  runId: string;
  freezeId: string;
  position: number;
  isVoided: boolean;
  isPriorYear: boolean;
  rules: Rules;
};

export type FrozenLines = {
  /** By freeze id, of the runs that the employee was in. */
  own: ReadonlyMap<string, readonly Line[]>;
  /** Lines of finalized runs that adjust an earlier run, by its id, in the order of the runs that carried them. */
  trueUps: ReadonlyMap<string | null, readonly Line[]>;
};

/** `rows`: one per run, in the order of the runs. `voided`: freeze ids of runs whose lines do not count. */
export function frozenLinesOf(rows: readonly FrozenRow[], voided: ReadonlySet<string>): FrozenLines {
  const trueUps = rows
    .filter(({ freezeId }) => !voided.has(freezeId))
    .flatMap(({ lines }) => lines.filter((line) => line.adjustment_for !== null && isIncluded(line)));
  return {
    own: new Map(rows.filter(({ isIn }) => isIn).map(({ freezeId, lines }) => [freezeId, lines])),
    trueUps: Map.groupBy(trueUps, (line) => line.adjustment_for),
  };
}

/** The run that carries the lines: the deductions that it takes, and its codes of today. */
export type Carrier = Pick<Rules, 'codesOf'> & { named: ReadonlySet<string> | null };

/** Only regular lines are compared with the previous run. */
export const NOT_COMPARED = {
  change: null,
  amount_change: null,
  previous_amount: null,
  member_difference: null,
  employer_difference: null,
};

type Pair = { member: Cents; employer: Cents };
const NONE: Pair = { member: 0n, employer: 0n };

/** The amounts that a run should have taken for a deduction by what is known today. */
type Due = Pair & { state: RunVersion; because: string; flags: Flag[] };

/**
 * A deduction's amounts under one line of coverage and taxability. An amount of one account is never subtracted from
 * another account. `line`: the newest line that took an amount, or null.
 */
type Account = { line: Line | null; due: Due | null; finalized: Pair; since: Pair };

/** Reports whether facts recorded after a run may change what an employee owes it. Only those employees are examined. */
export function isTouched(earlier: Earlier, employee: Employee, wasIn: boolean): boolean {
  const owes = owesRun(earlier, employee, wasIn);
  return employee.histories.some((history) => {
    const then = wasIn ? historyAt(history, earlier.position) : null;
    const before = then === null ? null : stateInRun(then, employee.employeeId, earlier.rules);
    const now = owes ? stateInRun(history, employee.employeeId, earlier.rules) : null;
    return before?.position !== now?.position;
  });
}

/** Reports whether the run's own computation, repeated with what was known then, has the employee in it. */
export function wasInRun({ rules, position }: Earlier, { employmentsAt }: Employee): boolean {
  return membershipOf(employmentsAt(position), rules).isIn;
}

/**
 * Reports whether the employee belongs in the run by today's facts. For one who was in it, employer, frequency and
 * group are as frozen; hire and termination are today's.
 */
function owesRun({ rules }: Earlier, { employments }: Employee, wasIn: boolean): boolean {
  const { run } = rules;
  if (!wasIn) return run.kind === 'regular' && membershipOf(employments, { ...rules, employees: null }).isIn;
  const employment = employments.find((one) => one.employer_id === run.employer_id);
  const spell = employment === undefined ? null : spellOn(employment, run.period_end);
  return employment !== undefined && spell !== null && !isTerminatedBefore(employment, spell, rules);
}

/**
 * Returns the adjustments of one employee for one earlier run: the amount due minus the adjusted amount, per deduction,
 * line of coverage and taxability. `attended`: the runs of the employer that the employee is in.
 */
export function adjustmentLines(
  earlier: Earlier,
  employee: Employee,
  frozen: FrozenLines,
  attended: readonly Attended[],
  carrier: Carrier,
): Line[] {
  const { runId, freezeId, isVoided } = earlier;
  const own = frozen.own.get(freezeId);
  const accounts = new Map<string, Account>();
  const accountOf = (of: Pick<Line, 'deduction_id' | 'line_of_coverage' | 'taxability'>): Account => {
    const key = `${of.line_of_coverage} ${of.taxability} ${of.deduction_id}`;
    const account = accounts.get(key) ?? { line: null, due: null, finalized: NONE, since: NONE };
    accounts.set(key, account);
    return account;
  };
  const settle = (line: Line, part: 'finalized' | 'since'): void => {
    const account = accountOf(line);
    account.line = line;
    account[part] = plus(account[part], pairOf(line));
  };
  // A voided run took nothing. Arrears collected for it are returned like its adjustments.
  if (!isVoided) for (const line of own ?? []) if (line.kind === 'regular') settle(line, 'finalized');
  for (const line of frozen.trueUps.get(runId) ?? [])
    if (line.kind === 'adjustment' || isVoided) settle(line, 'since');
  const dueIds = new Set<string>();
  if (!isVoided && owesRun(earlier, employee, own !== undefined)) {
    for (const history of employee.histories) {
      const due = dueOf(earlier, history, employee.employeeId, own === undefined ? attended : null);
      if (due === null) continue;
      dueIds.add(history.deductionId);
      accountOf(due.state).due = due;
    }
  }
  return [...accounts.values()].flatMap((account) => {
    const { deduction_id } = account.due?.state ?? (account.line as Line);
    if (carrier.named?.has(deduction_id) === false) return [];
    return differenceLine(earlier, account, dueIds.has(deduction_id), carrier) ?? [];
  });
}

/** Returns null if nothing is due. `attended`: null if the employee was in the run. */
function dueOf(
  { rules }: Earlier,
  history: History,
  employeeId: string,
  attended: readonly Attended[] | null,
): Due | null {
  const state = stateInRun(history, employeeId, rules);
  if (state === null) return null;
  const amounts = rules.calculate(contributionOf(state));
  const because = `today ${amounts.explanation}`;
  const due: Due = { ...pairOf(amounts), state, because, flags: amounts.flags };
  if (attended === null) return due;
  const missed = missedCheckOf(rules.run, history, attended);
  if (missed === null) return null;
  due.flags.push(missed.flag);
  if (!missed.isTaken) return due;
  const employer = missed.employer === 0n ? '' : ` and employer ${amountOf(missed.employer)}`;
  return {
    ...due,
    member: due.member - missed.member,
    employer: due.employer - missed.employer,
    because: `${because}; less ${amountOf(missed.member)}${employer} of off-cycle runs`,
  };
}

/** Returns null without a difference. `isDue`: the deduction is due, perhaps under another account. */
function differenceLine(
  { runId, isVoided, isPriorYear }: Earlier,
  { line, due, finalized, since }: Account,
  isDue: boolean,
  carrier: Carrier,
): Line | null {
  const now = due ?? NONE;
  const member = now.member - finalized.member - since.member;
  const employer = now.employer - finalized.employer - since.employer;
  if (member === 0n && employer === 0n) return null;
  const content = due === null ? contentOfLine(line as Line, carrier) : contentOf(due.state, carrier);
  const working = [
    workingOf('', now.member, finalized.member, since.member, member),
    employer === 0n ? '' : workingOf('employer ', now.employer, finalized.employer, since.employer, employer),
  ];
  return {
    ...content,
    member_amount: amountOf(member),
    employer_amount: amountOf(employer),
    kind: 'adjustment',
    adjustment_for: runId,
    ...NOT_COMPARED,
    flags: [...(due?.flags ?? []), ...(isPriorYear ? (['prior_year'] as const) : [])],
    explanation: `run ${runId}: ${due?.because ?? whyNothing(isVoided, isDue)}${working.join('')}`,
  };
}

function whyNothing(isVoided: boolean, isDue: boolean): string {
  if (isVoided) return 'the run was voided';
  return `nothing is due ${isDue ? 'under this line of coverage and taxability' : 'by what is known today'}`;
}

function workingOf(side: string, now: Cents, finalized: Cents, since: Cents, left: Cents): string {
  const adjusted = since === 0n ? '' : `, ${amountOf(since)} already adjusted`;
  return `; ${side}${amountOf(now)} due, ${amountOf(finalized)} finalized${adjusted}: ${amountOf(left)}`;
}

/** Reports whether a line with these flags is shown and never taken. */
export function isReportedOnly(flags: readonly Flag[]): boolean {
  return flags.includes('prior_year') || flags.includes('missed_check_partial');
}

/** Adds the direction of the pre-tax net to one employee's adjustments, and marks adjustments that are only reported. */
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
export function contentOfLine(line: Line, { codesOf }: Pick<Rules, 'codesOf'>): Line {
  return { ...line, ...codesOf(line.line_of_coverage, line.taxability) };
}

function plus(one: Pair, other: Pair): Pair {
  return { member: one.member + other.member, employer: one.employer + other.employer };
}

function pairOf({ member_amount, employer_amount }: Pick<Line, 'member_amount' | 'employer_amount'>): Pair {
  return { member: centsOf(member_amount), employer: centsOf(employer_amount) };
}
