/** The adjustments due for earlier runs by today's facts: docs/reconciliation.md. Pure. */
import type { Flag } from '../../formats/flags.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { stateOn } from '../../ledger/state.ts';
import { type Cents, printReadable } from '../../money.ts';
import { minus, NOTHING, plus, type Sides, sidesOf } from '../calculation/items.ts';
import {
  type Account,
  type Because,
  type Election,
  type Line,
  NO_ITEM,
  regularLineOf,
} from '../calculation/line.ts';
import { becauseOf } from './because.ts';
import type { History } from './history.ts';
import { type Attended, missedCheckOf } from './missed-checks.ts';
import { isCanceled, overriddenAmounts } from './overrides.ts';
import type { EarlierRun, Payee, Payout } from './payout.ts';
import type { Job } from './population.ts';
import { type EarlierJob, jobFor } from './reopened-runs.ts';
import { type CheckAmounts, checkAmounts, isShareTaken, sharesOn } from './shares.ts';

/**
 * The amounts that a run should have taken for a deduction by what is known today. `offCycle`: what off-cycle runs of the pay
 * period took of it.
 */
type Due = Sides & { state: RunVersion; flags: Flag[]; offCycle: Sides; isPartlyCovered: boolean };

/**
 * A deduction's amounts under one line of coverage and taxability, which are never offset against another one's.
 * `line`: the newest line that took an amount, or null.
 */
type Adjusted = { line: TakenLine | null; due: Due | null; finalized: Sides };

/** The account and the election of a line, of any run, that took an amount. */
export type TakenLine = Pick<Line, 'account' | 'election'>;

/**
 * An adjustment. `isInTime`: no retroactive change of an election, because the election was made in time, or the line returns
 * money of a voided run. `isPartlyCovered`: of a missed check.
 */
export type Adjustment = { line: Line; isInTime: boolean; isPartlyCovered: boolean };

/**
 * Returns the adjustments of one employee for one earlier run: the amount due minus the amount that was taken, per deduction,
 * line of coverage and taxability. `attended`: the runs of the employer that the employee is in. `settled`: lines that later
 * runs took for the run, whose adjustments are returned without a difference too.
 */
export function adjustmentLines(
  payout: Payout,
  employee: Payee,
  earlier: EarlierRun,
  attended: readonly Attended[],
  settled: readonly TakenLine[],
): Adjustment[] {
  const { freezeId, isVoided } = earlier;
  const { earlierLines } = employee;
  const frozen = earlierLines.attended.get(freezeId);
  const adjusted = new Map<string, Adjusted>();
  const adjustedOf = (of: Account): Adjusted => {
    const key = `${of.line_of_coverage} ${of.taxability} ${of.deduction_id}`;
    const known = adjusted.get(key) ?? { line: null, due: null, finalized: NOTHING };
    adjusted.set(key, known);
    return known;
  };
  // A voided run took nothing.
  for (const line of isVoided ? [] : (frozen ?? [])) {
    if (line.kind !== 'regular') continue;
    const deduction = adjustedOf(line.account);
    deduction.line = line;
    deduction.finalized = plus(deduction.finalized, line.amounts);
  }
  for (const line of settled) adjustedOf(line.account).line ??= line;
  const dueIds = new Set<string>();
  const job = jobFor(earlier, employee, frozen !== undefined);
  if (!isVoided && job.owes) {
    for (const history of employee.histories) {
      const due = dueOf(payout, earlier, employee, job, history, frozen ?? null, attended);
      if (due === null) continue;
      dueIds.add(history.deductionId);
      adjustedOf(due.state).due = due;
    }
  }
  return [...adjusted.values()].flatMap((deduction) => {
    const content = contentOfAdjusted(payout, deduction);
    const { deduction_id } = content.account;
    const history = employee.histories.find(({ deductionId }) => deductionId === deduction_id) as History;
    const because = () =>
      returnedBy(earlier, employee, history, frozen ?? null) ??
      becauseOf(earlier, employee, history, frozen !== undefined, content.account, (known, jobThen) =>
        dueIn(payout, earlier, employee, known, frozen ?? null, jobThen),
      );
    const isDue = dueIds.has(deduction_id);
    const deciding = stateOn(history.timeline.counting, earlier.day);
    const isSettled = settled.some((line) => isOfAccount(line.account, content.account));
    const line = differenceLine(payout, earlier, deduction, {
      ...{ content, because, isDue, deciding, isSettled },
    });
    if (line === null) return [];
    // An election sent before the pay date was made in time, even if it arrived later.
    const { day } = earlier;
    const { pay_date } = earlier.run;
    const isInTime =
      isVoided || (deciding !== null && deciding.event_time < (day > pay_date ? day : pay_date));
    return [{ line, isInTime, isPartlyCovered: deduction.due?.isPartlyCovered === true }];
  });
}

function isOfAccount(line: Account, account: Account): boolean {
  return (['deduction_id', 'line_of_coverage', 'taxability'] as const).every(
    (field) => line[field] === account[field],
  );
}

/** Returns null if nothing is due. `frozen`: the employee's lines in the run, or null if the employee was not in it. */
function dueOf(
  payout: Payout,
  earlier: EarlierRun,
  employee: Payee,
  job: EarlierJob,
  history: History,
  frozen: readonly Line[] | null,
  attended: readonly Attended[],
): Due | null {
  const amounts = dueIn(payout, earlier, employee, history, frozen, job);
  if (amounts === null) return null;
  const due: Due = {
    ...sidesOf(amounts),
    state: amounts.state,
    flags: [...amounts.flags],
    offCycle: NOTHING,
    isPartlyCovered: false,
  };
  if (frozen !== null) return due;
  // The share of its pay date is not missed if a final check took it.
  if (isShareTaken(employee, history, earlier.run.pay_date, earlier.runId)) return null;
  const missed = missedCheckOf(payout, earlier.run, history, attended);
  if (missed === null) return null;
  due.flags.push('missed_check');
  return { ...due, ...missed };
}

/** Returns the void of the final check that had taken the share of an earlier run's pay date, or null. */
function returnedBy(
  { run, runId }: EarlierRun,
  employee: Payee,
  history: History,
  frozen: readonly Line[] | null,
): Because | null {
  const { deductionId } = history;
  const line = regularLineOf(frozen ?? [], deductionId);
  if (line?.flags.includes('share_taken') !== true) return null;
  if (isShareTaken(employee, history, run.pay_date, runId)) return null;
  const share = employee.shares.findLast(
    (taken) => taken.deductionId === deductionId && taken.payDate === run.pay_date,
  );
  if (share === undefined || share.voidedAt === null) return null;
  return { kind: 'void', id: share.runId, received_at: share.voidedAt };
}

/** Returns the amounts due for an earlier run: an override of it, else by the facts. A line that took shares is compared on the same pay dates. */
function dueIn(
  payout: Payout,
  earlier: EarlierRun,
  employee: Payee,
  history: History,
  frozen: readonly Line[] | null,
  job: Job,
): CheckAmounts | null {
  const override = frozen === null ? null : overriddenAmounts(earlier, employee, history);
  if (override !== null)
    return isCanceled(earlier, employee, history, job) ? null : { ...override, flags: [] };
  const shares = regularLineOf(frozen ?? [], history.deductionId)?.shares ?? null;
  if (shares !== null) {
    const payDates = shares.map(({ pay_date }) => pay_date);
    return sharesOn(earlier, employee, history, payDates, job);
  }
  // An employee who was not in the run is owed by today's facts, transfers among them.
  const terms = frozen === null ? { ...earlier, transfers: payout.transfers } : earlier;
  return checkAmounts(payout, terms, employee, history, job);
}

/** Returns the content of today's state, or else of the newest line that took an amount. */
function contentOfAdjusted(payout: Payout, { line, due }: Adjusted) {
  if (due !== null) return payout.contentOf(due.state, due.state as Election);
  const { account, election } = line as TakenLine;
  return payout.contentOf(account, election);
}

/**
 * Returns null without a difference. `isDue`: the deduction is due, perhaps under another line of coverage or
 * taxability.
 */
function differenceLine(
  payout: Payout,
  earlier: EarlierRun,
  { due, finalized }: Adjusted,
  {
    content,
    because,
    isDue,
    deciding,
    isSettled,
  }: {
    content: ReturnType<typeof contentOfAdjusted>;
    because: () => Because;
    isDue: boolean;
    deciding: RunVersion | null;
    isSettled: boolean;
  },
): Line | null {
  const { runId } = earlier;
  const now = due ?? NOTHING;
  const taken = plus(finalized, due?.offCycle ?? NOTHING);
  const amounts = minus(now, taken);
  const { member, employer } = amounts;
  if (member === 0n && employer === 0n && !isSettled) return null;
  const cause = because();
  const { pay_date } = earlier.run;
  const { dayInWords, dayOf } = payout;
  const received = dayInWords(dayOf(cause.received_at));
  const reason = reasonOf(payout, earlier, { ...cause, received }, due, isDue, deciding);
  const coverage = content.account.line_of_coverage.replaceAll('_', ' ');
  const working = [
    workingOf(`${coverage} should have been`, reason, now.member, taken.member, member),
    employer === 0n
      ? ''
      : ` Employer: ${workingOf('should have been', '', now.employer, taken.employer, employer)}`,
  ];
  return {
    ...content,
    amounts,
    kind: 'adjustment',
    settles: { ...NO_ITEM, adjustment_for: runId, adjustment_pay_date: pay_date, because: cause },
    shares: null,
    compared: null,
    flags: due?.flags ?? [],
    explanation: `Paycheck of ${dayInWords(pay_date)}: ${working.join('')}`,
  };
}

/** Returns in words why the amount due is what it is. */
function reasonOf(
  { dayInWords }: Payout,
  { runId }: EarlierRun,
  { kind, id, received }: Because & { received: string },
  due: Due | null,
  isDue: boolean,
  deciding: RunVersion | null,
): string {
  if (kind === 'void') return `the ${id === runId ? 'run' : 'final check'} was voided on ${received}`;
  if (kind === 'roster') return `employment reported ${received}`;
  if (kind === 'decision') return `assigned to ${isDue ? 'this' : 'another'} employer on ${received}`;
  if (due === null && isDue) return `moved to another line of coverage or taxability, received ${received}`;
  const endsOn = deciding?.ends_on ?? null;
  if (due === null && endsOn !== null) return `ended ${dayInWords(endsOn)}, received ${received}`;
  if (due === null) return `not in effect, received ${received}`;
  if (due.flags.includes('share_taken')) return 'another check took its share';
  const { version, starts_on } = due.state;
  const what = version === 1 ? 'elected' : 'changed';
  return `${what}${starts_on === null ? '' : ` from ${dayInWords(starts_on)}`}, received ${received}`;
}

/** Returns a sentence such as `medical should have been 120.00 (…); 50.00 was taken; 70.00 more.` */
function workingOf(subject: string, reason: string, now: Cents, taken: Cents, left: Cents): string {
  const why = reason === '' ? '' : ` (${reason})`;
  const result =
    left === 0n
      ? 'no difference'
      : left > 0n
        ? `${printReadable(left)} more`
        : `${printReadable(-left)} back`;
  return `${subject} ${printReadable(now)}${why}; ${printReadable(taken)} was taken; ${result}.`;
}
