/** The checks of elections: who takes them, and their starts, ends and overlaps. */
import type { Found } from '../../checks.ts';
import type { Db } from '../../database/tables.ts';
import { EMPLOYED_TWICE } from '../../ledger/checks.ts';
import { isActive, spellOn } from '../../ledger/employment.ts';
import { endingAtMidnight, type RunVersion } from '../../ledger/history.ts';
import { concernsDay, erasedStarts, type MovedStart, stateOn } from '../../ledger/state.ts';
import { withHidden } from '../../ledger/visibility.ts';
import { amountOf, isZero } from '../../money.ts';
import { isNothing } from '../calculation/items.ts';
import { isStopped, type Line, NOT_COMPARED } from '../calculation/line.ts';
import type { Computation, RunEmployee } from '../compute/computation.ts';
import { assignedIn, type History, historyOf, stateFor } from '../compute/history.ts';
import type { EarlierRun } from '../compute/payout.ts';
import { employmentAt } from '../compute/population.ts';
import { checksBefore } from '../compute/reopened-runs.ts';
import { dayOfRun, type Run } from '../records/body.ts';
import {
  each,
  factsOf,
  foundAmong,
  foundIn,
  NAMED_ONCE,
  NONE,
  type RunCheck,
  type RunQuestion,
  type Seen,
  versionId,
  versionOf,
} from './check.ts';

const { find: _, ...EMPLOYED_TWICE_TEXTS } = EMPLOYED_TWICE;

/** Reports deductions of two jobs that are in effect and in no run until an operator assigns them to an employer. */
export const EMPLOYED_TWICE_IN_RUN: RunCheck<OfDeduction & { line: string }> = {
  ...EMPLOYED_TWICE_TEXTS,
  look: (computation) =>
    each(({ employee }) => {
      const { employeeId, employments, histories, membership, hasSeveralEmployers: hasSeveral } = employee;
      if (!membership.isIn) return NONE;
      const { run, day, deductions } = computation;
      return foundAmong(histories, (history) => {
        const { deductionId } = history;
        if (deductions?.has(deductionId) === false) return NONE;
        const employer_id = assignedIn(history, run);
        const job = employer_id === null ? undefined : employmentAt(employments, { employer_id });
        const isTaken =
          employer_id === null ? !hasSeveral : job !== undefined && isActive(job, run.period_end);
        if (isTaken || employer_id === run.employer_id) return NONE;
        const state = stateFor(history, employeeId, day);
        if (state === null) return NONE;
        const named = { employee_id: employeeId, deduction_id: deductionId, line: state.line_of_coverage };
        return [{ ...named, ids: [deductionId], result: 'fail' as const }];
      });
    }),
  find: (db, question) => foundFor(db, question, EMPLOYED_TWICE_IN_RUN),
};

type OfDeduction = Found & { employee_id: string; deduction_id: string };

/** Returns the findings of a check that looks beyond the run's lines: the viewer may not see all the deductions that it names. */
function foundFor<F extends OfDeduction>(db: Db, question: RunQuestion, check: RunCheck<F>): Promise<F[]> {
  return withHidden(db, foundIn(question, check), question.viewer);
}

/** Reports whether a deduction is assigned to an employer other than the run's. That employer's runs name its oddities. */
function isElsewhere(history: History, run: Run): boolean {
  const employer = assignedIn(history, run);
  return employer !== null && employer !== run.employer_id;
}

/** An election, and the version that replaces it. */
type Replaced = OfDeduction & { version: number; election: RunVersion; by: RunVersion };

function replacedBy(election: RunVersion, by: RunVersion): Replaced {
  const { employee_id, deduction_id, version, line_of_coverage, starts_on } = election;
  const facts = { employee_id, deduction_id, version, line_of_coverage, date: starts_on };
  return { ...facts, election, by, ids: [versionId(election)], result: 'warn' };
}

function replacedInWords({ employee_id, election, by }: Replaced, until: string): string {
  const { line_of_coverage, deduction_id } = election;
  return `${employee_id}: ${line_of_coverage} (${deduction_id}), ${termsInWords(election)} ${until} ${termsInWords(by)}`;
}

/** Returns the moved starts of an employee whose old and new dates enclose the run's day. */
function movedStarts(
  { employee: { employeeId, histories, membership } }: Seen,
  { run, day }: Computation,
  kind: 'corrected' | 'moved',
): readonly MovedStart<RunVersion>[] {
  if (!membership.isIn) return NONE;
  return foundAmong(histories, (history) => {
    const moves = history.timeline[kind];
    if (moves.length === 0 || isElsewhere(history, run)) return NONE;
    return moves.filter((moved) => moved.version.employee_id === employeeId && concernsDay(moved, day));
  });
}

const findMoved = (kind: 'corrected' | 'moved') => (computation: Computation) =>
  each((seen) =>
    foundAmong(movedStarts(seen, computation, kind), (moved) => {
      const { version, next } = moved;
      const { previous } = computation;
      const wasNamed = wasKnown(previous, seen.employee, next) && concernsDay(moved, previous.day);
      return [{ ...replacedBy(version, next), ids: [versionId(version), versionId(next)], wasNamed }];
    }),
  );

/** Reports whether the previous run had the employee and knew a version. */
function wasKnown(
  previous: EarlierRun | null,
  { inPrevious }: RunEmployee,
  { position }: RunVersion,
): previous is EarlierRun {
  return previous !== null && inPrevious.isIn && position <= previous.position;
}

export const START_MOVED: RunCheck<Replaced> = {
  id: 'start-moved',
  title: 'Start dates moved together with other terms',
  severity: 'warn',
  detail: NAMED_ONCE,
  look: findMoved('moved'),
  find: (db, question) => foundFor(db, question, START_MOVED),
  text: (finding) => replacedInWords(finding, 'until'),
  advice:
    'A start date was moved before it was reached, and other terms changed with it. The earlier version applies until the later one starts. If it is wrong, ask the service to resend it, or override the line.',
  passed: 'No deduction has a start date that moved together with other terms and that no earlier run named.',
  fixed: { docs: 'receiving-events.md#corrected-start-dates' },
};

export const START_CORRECTED: RunCheck<Replaced> = {
  id: 'start-corrected',
  title: 'Start dates moved to a later date',
  severity: 'warn',
  detail: NAMED_ONCE,
  look: findMoved('corrected'),
  find: (db, question) => foundFor(db, question, START_CORRECTED),
  advice: 'A start date was moved to a later one before it was reached, so this run deducts nothing for it.',
  passed: 'No start date that no earlier run named was moved from this run to a later one.',
};

/** Reports renewals that a later change of the present window erased. */
export const RENEWAL_ERASED: RunCheck<Replaced> = {
  id: 'renewal-erased',
  title: 'A renewal was erased by a later change',
  severity: 'warn before its start, in the first run that finds it; fail from then on',
  look: ({ run, day, previous }) =>
    each(({ employee }) => {
      const { employeeId, employment, histories, membership } = employee;
      if (!membership.isIn) return NONE;
      return foundAmong(histories, (history) => {
        const { versions } = history;
        if (versions.length < 2 || isElsewhere(history, run)) return NONE;
        return erasedStarts(versions).flatMap(({ version, by }) => {
          const start = version.starts_on ?? '';
          const left = employment && spellOn(employment, start)?.termination_date;
          if (version.employee_id !== employeeId || (left && left < start)) return [];
          if (version.ends_on !== null && version.ends_on < day) return [];
          const result = day < start ? ('warn' as const) : ('fail' as const);
          const wasNamed = result === 'warn' && wasKnown(previous, employee, by);
          return [{ ...replacedBy(version, by), result, wasNamed }];
        });
      });
    }),
  find: (db, question) => foundFor(db, question, RENEWAL_ERASED),
  text: (finding) => replacedInWords(finding, 'was erased by'),
  advice:
    'A renewal was sent, and a later change of the window before it left nothing in effect from its start. Ask the service to resend the renewal. If the coverage really ends, accept the finding.',
  passed: 'No later change erased a renewal.',
};

type OfLine = Found & { member_amount: string };
type OnLastDay = OfLine & { event_id: string };

/** Finds the lines that take a deduction on its last day. `isWanted` receives the deduction's state. */
const onLastDay =
  (isWanted: (state: RunVersion) => boolean) =>
  ({ day }: Computation) => {
    const mayEnd = ({ timeline }: History) => timeline.counting.some(({ ends_on }) => ends_on === day);
    return each(({ employee: { histories }, regular }) => {
      if (!histories.some(mayEnd)) return NONE;
      return foundAmong(regular, (line): readonly OnLastDay[] => {
        if (isStopped(line) || isNothing(line.amounts)) return NONE;
        const state = stateNow(historyOf(histories, line.account.deduction_id), day);
        if (state === null || state.ends_on !== day || !isWanted(state)) return NONE;
        const facts = { ...factsOf(line), event_id: state.event_id, date: day };
        return [{ ...facts, ids: [versionOf(line)], result: 'warn' }];
      });
    });
  };

/** `emp-1: vision 69.23 (ded-3)`. */
function lineInWords({ employee_id, line_of_coverage, member_amount, deduction_id }: OfLine): string {
  return `${employee_id}: ${line_of_coverage} ${member_amount} (${deduction_id})`;
}

export const ONE_DAY_WINDOW: RunCheck<OnLastDay> = {
  id: 'one-day-window',
  title: 'Deductions are in effect on one day only',
  severity: 'warn',
  look: onLastDay(({ starts_on, ends_on }) => starts_on === ends_on),
  text: (finding) => `${lineInWords(finding)}, in effect on ${finding.date} only`,
  advice:
    'These deductions start and end on the day on which this run takes them. A canceled enrollment often looks like this. Ask the service, or override the line.',
  passed: 'No line takes a deduction that is in effect on one day only.',
  fixed: { action: 'override' },
};

/** Reports deductions that the run takes on their last day, although the day before may be meant. */
export const END_AT_MIDNIGHT: RunCheck<OnLastDay> = {
  id: 'end-at-midnight',
  title: 'Deductions may have ended the day before',
  severity: 'warn',
  look: (computation) => {
    const finder = onLastDay(({ starts_on, ends_on }) => starts_on !== ends_on)(computation);
    return each((seen) =>
      foundAmong(finder.each(seen), (finding) => [{ ...finding, ids: [finding.event_id] }]),
    );
  },
  async find(db, question) {
    const findings = foundIn(question, END_AT_MIDNIGHT);
    const ending = await endingAtMidnight(
      db,
      findings.map(({ event_id }) => event_id),
    );
    return findings.filter(({ event_id }) => ending.has(event_id));
  },
  text: (finding) => `${lineInWords(finding)}, ends on ${finding.date}`,
  advice:
    'The end of these deductions is midnight of a US time zone, written in UTC, so the day before may be meant. The run takes them, because it reads the day as written. Ask the service, or override the line.',
  passed: 'No line takes a deduction whose end may mean the day before.',
  fixed: { action: 'override' },
};

/**
 * Reports what the first line of a deduction leaves out, because premiums are taken a month ahead. `looksAt`: the first day at
 * which a run of the employee looks.
 */
export const FIRST_MONTH_AHEAD: RunCheck<OfLine & { looksAt: string }> = {
  id: 'first-month-ahead',
  title: 'The first month of coverage is not taken',
  severity: 'warn',
  look: (computation) => {
    const { run } = computation;
    const isAhead = run.applies_on === 'next_month' && run.kind === 'regular';
    return each(({ employee, regular }) => {
      if (!isAhead || !employee.membership.isIn) return NONE;
      const begun = regular.filter((line) => !isStopped(line) && line.compared?.change === 'new');
      if (begun.length === 0) return NONE;
      const days = [run, ...checksBefore(computation, employee).map((check) => check.run)].map(dayOfRun);
      const looksAt = days.sort()[0] ?? '';
      return begun.flatMap((line) => {
        const history = historyOf(employee.histories, line.account.deduction_id);
        const date = stateNow(history, computation.day)?.starts_on;
        if (date == null || date >= looksAt) return [];
        return [{ ...factsOf(line), date, looksAt, ids: [versionOf(line)], result: 'warn' as const }];
      });
    });
  },
  text: (finding) =>
    `${lineInWords(finding)} a check, from ${finding.date}; the first run looks at ${finding.looksAt}`,
  advice:
    'Premiums are taken a month ahead, and these deductions began before the first month that a run looks at. Collect what is missing in an off-cycle run, or tell the employees.',
  passed: 'No deduction began before the first day that a run looks at.',
};

/** Lines of coverage for which two elections at once are almost always an error. */
const ELECTED_ONCE: ReadonlySet<string> = new Set([
  ...['medical', 'dental', 'vision', 'healthcare_fsa', 'limited_purpose_fsa', 'dependent_care_fsa'],
  ...['short_term_disability', 'long_term_disability', 'hsa'],
]);

/** `sameDay`: set if one deduction ends on the day on which the other one starts. */
type Overlap = Found & { pair: readonly [Line, Line]; sameDay: SameDay | null };
type SameDay = { ended: string; on: string; begun: string };

/** Reports pairs of deductions for one line of coverage. A deduction whose amounts became zero has ended (docs/internals/provider.md). */
export const OVERLAP: RunCheck<Overlap> = {
  id: 'overlap',
  title: 'Two deductions for one line of coverage',
  severity:
    'fail for medical, dental, vision, FSAs, HSA and disability; warn for others, in the first run of a pair',
  look: ({ day }) =>
    each(({ employee: { employeeId, histories }, regular }) => {
      // Lines are in the order of their lines of coverage.
      const isRival = ({ account }: Line, index: number) =>
        account.line_of_coverage === regular[index - 1]?.account.line_of_coverage;
      if (!regular.some(isRival)) return NONE;
      const elected = regular.filter((line) => !isStopped(line) && !isOfNothing(line));
      return [...Map.groupBy(elected, (line) => line.account.line_of_coverage)].flatMap(
        ([coverage, rivals]) =>
          pairsOf(rivals).flatMap((pair): readonly Overlap[] => {
            const result = ELECTED_ONCE.has(coverage) ? 'fail' : 'warn';
            // Where several elections are normal, only the first run of a pair names it.
            if (result === 'warn' && pair.every(wasTaken)) return [];
            const ids = pair.map(({ account }) => account.deduction_id).sort();
            const sameDay = sameDayOf(pair, histories, day);
            return [{ employee_id: employeeId, line_of_coverage: coverage, pair, sameDay, ids, result }];
          }),
      );
    }),
  text({ employee_id, pair, sameDay }) {
    const lines = pair.map(
      ({ account, amounts }) => `${account.line_of_coverage} ${amountOf(amounts.member)}`,
    );
    const touching =
      sameDay === null
        ? ''
        : `; ${sameDay.ended} ends on ${sameDay.on}, the day on which ${sameDay.begun} starts`;
    return `${employee_id}: ${lines.join(', ')}${touching}`;
  },
  advice:
    'An employee has two deductions in effect for one line of coverage. Ask the service which is correct. If both are, accept the finding.',
  passed: 'No employee has two deductions for one line of coverage that no earlier run reported.',
  fixed: { action: 'override' },
};

function isOfNothing({ election: { member_contribution, employer_contribution } }: Line): boolean {
  return isZero(member_contribution ?? '') && isZero(employer_contribution ?? '');
}

function pairsOf(lines: readonly Line[]): (readonly [Line, Line])[] {
  return lines.flatMap((line, index) => lines.slice(index + 1).map((rival) => [line, rival] as const));
}

/** Reports whether the previous run took the deduction too. */
function wasTaken({ compared }: Line): boolean {
  const { change, amount_change, previous_amount } = compared ?? NOT_COMPARED;
  return change === 'same' || (change === 'changed' && (amount_change === 'same' || previous_amount !== 0n));
}

function sameDayOf(pair: readonly [Line, Line], histories: readonly History[], day: string): SameDay | null {
  const [first, second] = pair.map(({ account }) =>
    stateNow(historyOf(histories, account.deduction_id), day),
  );
  const [ended, begun] =
    first?.ends_on != null && first.ends_on === second?.starts_on ? [first, second] : [second, first];
  if (ended?.ends_on == null || ended.ends_on !== begun?.starts_on) return null;
  return { ended: ended.deduction_id, on: ended.ends_on, begun: begun.deduction_id };
}

function stateNow({ timeline }: History, day: string): RunVersion | null {
  return stateOn(timeline.counting, day);
}

/** Returns `150.00 monthly from 2026-07-01`, with the employer's amount and the end if there are any. */
function termsInWords(version: RunVersion): string {
  const { member_contribution, employer_contribution, period, starts_on, ends_on } = version;
  const employer = isZero(employer_contribution) ? '' : ` plus employer ${employer_contribution}`;
  const from = starts_on === null ? '' : ` from ${starts_on}`;
  return `${member_contribution}${employer} ${period}${from}${ends_on === null ? '' : ` through ${ends_on}`}`;
}
