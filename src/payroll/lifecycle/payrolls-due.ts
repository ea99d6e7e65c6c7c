/** The payrolls that are due: one for each employer, pay frequency and pay group, and what an employer lacks for payroll. */
import Type, { type Static } from 'typebox';
import { employersWithCensus } from '../../census/staged.ts';
import { employersWithSyncs } from '../../census/syncs.ts';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import {
  closed,
  integer,
  nullable,
  nullableText,
  oneOf,
  oneOfDescribed,
  text,
} from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { dayAt } from '../../database/time-zone.ts';
import { undeliveredChanges } from '../../employment/changes.ts';
import { employersInRoster } from '../../ledger/roster.ts';
import { isSamePerson } from '../../security/tokens.ts';
import { APPROVALS_SEEN, type ApprovedLines, approvedLines } from '../records/approvals.ts';
import { computationsOf, readDataState, type StoredComputation } from '../records/computations.ts';
import { currentRegularRuns, lastPayDates, voidedRegularRuns } from '../records/regular-runs.ts';
import {
  employersWithApproval,
  employersWithCodes,
  employersWithPolicy,
  schedulesByEmployer,
} from '../settings/all-employers.ts';
import { acrossYears, type DateList, type PayDate } from '../settings/schedules.ts';
import { endsSoon } from './ending-schedules.ts';

/** The age from which a computation is repeated although no data changed: checks also depend on the time. */
const OUTDATED_MS = 5 * 60_000;
/** The least time between two computations of a run for the list. */
export const RECOMPUTE_AFTER_MS = 60_000;

/** The parts of an employer's setup, in the order in which a person completes them. */
const MISSING = ['census', 'pay_schedule', 'next_pay_dates', 'payroll_codes', 'payroll_policy'] as const;
type Missing = (typeof MISSING)[number];

/** `needs_setup`: there is no pay date. `overdue`: the pay date has passed. */
const PAYROLL_STATES = [
  'needs_setup',
  'overdue',
  'not_started',
  'needs_review',
  'waiting_for_approval',
  'ready',
  'finalized',
] as const;

/** What is shown of a payroll without its run's figures. */
export const DuePayroll = closed({
  employer_id: text('The employer.'),
  pay_frequency: nullable(oneOfDescribed(PAY_FREQUENCIES, 'The pay frequency. Null without a pay schedule.')),
  pay_group: nullableText('The pay group of the pay schedule.'),
  pay_date: nullableText('The pay date that is due. Null if the pay schedule has none.'),
  period_start: nullableText('The first day of its pay period.'),
  period_end: nullableText('The last day of its pay period.'),
  next_pay_date: nullableText('The pay date after it.'),
  last_pay_date: nullableText('The last pay date of the pay schedule.'),
  state: oneOfDescribed(
    PAYROLL_STATES,
    '`needs_setup`: no pay date is due, see `missing`. `overdue`: the pay date has passed, and the run is not finalized. ' +
      '`not_started`: there is no run. `needs_review`: a check has a failed finding that no approval accepts, or the run was not computed yet. ' +
      '`waiting_for_approval`: the employer requires a second approval, and the lines have none. ' +
      '`ready`: when the run was last computed, every check passed, or an approval of its lines accepts the failed ones.',
  ),
  approval: nullable(
    oneOfDescribed(
      APPROVALS_SEEN,
      'The second approval of the open run: `missing`; `given` by another person; `yours`: you gave it, so another person must ' +
        'finalize the run. Null if none is required.',
    ),
  ),
  run_id: nullableText('The open or finalized run of the pay date.'),
  voided_run_id: nullableText('The run of the pay date that was voided last, if there is no other run.'),
  undelivered_changes: closed(
    {
      waiting: integer('Changes that are sent automatically, or wait for another one.'),
      rejected: integer('Changes that the benefits service rejected, so that a person must decide.'),
    },
    'The employment changes of employees of the employer, also former ones, that the benefits service lacks.',
  ),
  missing: Type.Array(oneOf(MISSING), {
    description:
      'What the employer lacks for payroll. `next_pay_dates`: the pay schedule ends within 60 days.',
  }),
});

export type PayrollDue = Static<typeof DuePayroll> & {
  computation: (StoredComputation & { is_outdated: boolean }) | null;
};

type Runs = Awaited<ReturnType<typeof currentRegularRuns>>;
type Key = { employer_id: string; pay_frequency: string | null; pay_group: string | null };

/**
 * Returns the payrolls that are due by pay date, then the employers that need a setup. A pay date before `now` is overdue.
 * `employers`: only payrolls of these; null for all. `person`: the caller, or null.
 */
export async function payrollsDue(
  db: Db,
  employers: readonly string[] | null,
  now: Date,
  person: string | null,
): Promise<PayrollDue[]> {
  const today = dayAt(db, now);
  // One after the other, each query would wait for its turn while a run is computed.
  const [schedules, codes, policies, approving, rosters, censuses, syncing, undelivered, lastDates, runs] =
    await Promise.all([
      schedulesByEmployer(db, employers),
      employersWithCodes(db, employers),
      employersWithPolicy(db, employers),
      employersWithApproval(db, employers),
      employersInRoster(db, employers),
      employersWithCensus(db, employers),
      employersWithSyncs(db, employers),
      undeliveredChanges(db, employers),
      lastPayDates(db, employers),
      currentRegularRuns(db, employers, today),
    ]);
  const counted = new Set([...rosters, ...censuses]);
  const known = [...schedules.keys(), ...codes, ...policies, ...counted, ...syncing];
  const lasts = new Map(lastDates.map((row) => [textOf(row), row.pay_date]));
  const lists = new Map([...schedules].map(([employer_id, years]) => [employer_id, acrossYears(years)]));
  const openRuns = runs.filter(({ state }) => state === 'open').map(({ run_id }) => run_id);
  const [voided, computations, approved, data] = await Promise.all([
    voidedFirst(db, lists, lasts),
    computationsOf(db, openRuns),
    approvedLines(db, openRuns, now.toISOString()),
    readDataState(db),
  ]);
  const runsByKey = Map.groupBy([...runs, ...voided], textOf);
  const isOutdated = (computation: StoredComputation) =>
    computation.position !== data.position ||
    computation.revision !== data.revision ||
    now.getTime() - Date.parse(computation.computed_at) > OUTDATED_MS;

  const due = [...new Set(known)].flatMap((employer_id): Due[] => {
    const missing = MISSING.filter(
      (what) =>
        (what === 'census' && !counted.has(employer_id)) ||
        (what === 'payroll_codes' && !codes.has(employer_id)) ||
        (what === 'payroll_policy' && !policies.has(employer_id)),
    );
    const ofEmployer = lists.get(employer_id) ?? [];
    if (ofEmployer.length === 0) return [withoutDate({ employer_id, missing, lacks: 'pay_schedule' })];
    return ofEmployer.map((schedule): Due => {
      const key = { employer_id, ...schedule };
      const text = textOf(key);
      const dated = dueOf(schedule, runsByKey.get(text) ?? [], lasts.get(text) ?? null, today);
      const { pay_frequency, pay_group } = schedule;
      if (dated === null) {
        const last_pay_date = schedule.pay_dates.at(-1)?.pay_date ?? null;
        return {
          ...withoutDate({ employer_id, missing, lacks: 'next_pay_dates' }),
          ...{ pay_frequency, pay_group, last_pay_date },
        };
      }
      const { isFinalized, ...row } = dated;
      const computation = row.run_id === null ? undefined : computations.get(row.run_id);
      const approvals = approving.has(employer_id) ? (approved.get(row.run_id ?? '') ?? []) : null;
      return {
        ...{ employer_id, pay_frequency, pay_group },
        ...row,
        state: isFinalized ? 'finalized' : stateOf(row, computation, { today, approvals }),
        approval: isFinalized || row.run_id === null ? null : approvalBy(person, computation, approvals),
        missing: inOrder([
          ...missing,
          ...(endsSoon(row.last_pay_date, today) ? (['next_pay_dates'] as const) : []),
        ]),
        computation:
          computation === undefined ? null : { ...computation, is_outdated: isOutdated(computation) },
      };
    });
  });
  const repeated = await voidedRuns(db, due);
  return due
    .map((row) => ({
      ...row,
      voided_run_id: repeated.get(sortKeyOf(row)) ?? null,
      undelivered_changes: undelivered.get(row.employer_id) ?? { waiting: 0, rejected: 0 },
    }))
    .toSorted((row, other) => (sortKeyOf(row) < sortKeyOf(other) ? -1 : 1));
}

type Due = Omit<PayrollDue, 'voided_run_id' | 'undelivered_changes'>;

/** Returns the voided runs of payrolls without a finalized run: their pay dates are still due. */
async function voidedFirst(
  db: Db,
  lists: ReadonlyMap<string, readonly DateList[]>,
  lasts: ReadonlyMap<string, string>,
): Promise<Runs> {
  const hasNoFinal = (key: Key) => !lasts.has(textOf(key));
  const employers = [...lists].flatMap(([employer_id, schedules]) =>
    schedules.some((schedule) => hasNoFinal({ employer_id, ...schedule })) ? [employer_id] : [],
  );
  return (await voidedRegularRuns(db, employers, null)).filter(hasNoFinal);
}

/** Returns the run voided last of each payroll that has no other run, by its sort key. */
async function voidedRuns(db: Db, due: readonly Due[]): Promise<Map<string, string>> {
  const without = due.filter(({ run_id, pay_date }) => run_id === null && pay_date !== null);
  const employers = [...new Set(without.map(({ employer_id }) => employer_id))];
  const payDates = [...new Set(without.flatMap(({ pay_date }) => pay_date ?? []))];
  const keys = new Set(without.map(sortKeyOf));
  const voided = (await voidedRegularRuns(db, employers, payDates)).filter((run) => keys.has(sortKeyOf(run)));
  const inOrderOfVoid = voided.toSorted((run, other) =>
    (run.voided_at ?? '') < (other.voided_at ?? '') ? -1 : 1,
  );
  return new Map(inOrderOfVoid.map((run) => [sortKeyOf(run), run.run_id]));
}

type Dated = Omit<PayDate, 'takes'> & {
  next_pay_date: string | null;
  last_pay_date: string;
  run_id: string | null;
  isFinalized: boolean;
};

/**
 * Returns the pay date that is due: one that has passed since the last finalized one, else the next one, which may be final.
 * An open run of an earlier pay date comes first, and so does a voided one before any is final. Null without a date.
 */
function dueOf(
  { pay_dates }: DateList,
  runs: Runs,
  lastFinalized: string | null,
  today: string,
): Dated | null {
  const passed = lastFinalized === null ? [] : pay_dates.filter(({ pay_date }) => pay_date > lastFinalized);
  const unfinished = runs.filter(({ state }) => state !== 'finalized').map(({ pay_date }) => pay_date);
  const candidates = [
    passed[0]?.pay_date,
    pay_dates.find(({ pay_date }) => pay_date >= today)?.pay_date,
    ...unfinished,
  ];
  const isScheduled = (day: string | undefined) => pay_dates.some(({ pay_date }) => pay_date === day);
  const [first] = candidates.filter((day) => day !== undefined && isScheduled(day)).toSorted();
  const place = pay_dates.findIndex(({ pay_date }) => pay_date === first);
  const date = pay_dates[place];
  if (date === undefined) return null;
  const ofDate = runs.filter(({ pay_date, state }) => pay_date === date.pay_date && state !== 'voided');
  const run = ofDate.find(({ state }) => state === 'finalized') ?? ofDate[0];
  const { takes: _, ...period } = date;
  return {
    ...period,
    next_pay_date: pay_dates[place + 1]?.pay_date ?? null,
    last_pay_date: (pay_dates.at(-1) as PayDate).pay_date,
    run_id: run?.run_id ?? null,
    isFinalized: run?.state === 'finalized',
  };
}

/** `approvals`: what is approved of the run; null if the employer requires no approval. */
function stateOf(
  { run_id, pay_date }: Pick<Dated, 'run_id' | 'pay_date'>,
  computation: StoredComputation | undefined,
  { today, approvals }: { today: string; approvals: readonly ApprovedLines[] | null },
): PayrollDue['state'] {
  if (pay_date < today) return 'overdue';
  if (run_id === null) return 'not_started';
  const { problem = '', failed = [] } = computation?.result ?? {};
  if (problem !== null) return 'needs_review';
  if (approvals !== null && countingOf(approvals, computation).length > 0) return 'ready';
  if (failed.length > 0) return 'needs_review';
  return approvals === null ? 'ready' : 'waiting_for_approval';
}

/** Returns the approvals that cover the lines computed last and their failed findings; all of a run not computed yet. */
function countingOf(
  approvals: readonly ApprovedLines[],
  computation: StoredComputation | undefined,
): readonly ApprovedLines[] {
  if (computation === undefined) return approvals;
  const { etag, failed_findings } = computation.result;
  return approvals.filter(
    (approval) => approval.etag === etag && failed_findings.every((hash) => approval.findings.has(hash)),
  );
}

function approvalBy(
  person: string | null,
  computation: StoredComputation | undefined,
  approvals: readonly ApprovedLines[] | null,
): PayrollDue['approval'] {
  if (approvals === null) return null;
  const counting = countingOf(approvals, computation);
  if (counting.length === 0) return 'missing';
  const isYours = person !== null && counting.every((approval) => isSamePerson(approval.person, person));
  return isYours ? 'yours' : 'given';
}

function withoutDate({
  employer_id,
  missing,
  lacks,
}: Pick<Due, 'employer_id' | 'missing'> & { lacks: Missing }): Due {
  return {
    ...{
      employer_id,
      pay_frequency: null,
      pay_group: null,
      state: 'needs_setup',
      approval: null,
      run_id: null,
    },
    ...{ pay_date: null, period_start: null, period_end: null, next_pay_date: null, last_pay_date: null },
    missing: inOrder([...missing, lacks]),
    computation: null,
  };
}

function inOrder(missing: readonly Missing[]): Missing[] {
  return MISSING.filter((what) => missing.includes(what));
}

function textOf({ employer_id, pay_frequency, pay_group }: Key): string {
  return JSON.stringify([employer_id, pay_frequency, pay_group]);
}

/** Payrolls without a date come last. */
export function sortKeyOf(due: Key & { pay_date: string | null }): string {
  return `${due.pay_date ?? '~'} ${textOf(due)}`;
}
