import type { Updateable } from 'kysely';
import type { CheckResult, Question } from '../../../src/checks.ts';
import type { Db, OutboxTable } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { pauseSending } from '../../../src/outbox/circuit-breaker.ts';
import { startPilot } from '../../../src/outbox/pilot.ts';
import { employerSubject, enqueue } from '../../../src/outbox/queue.ts';
import { bringOpeningItems } from '../../../src/payroll/reconciliation/opening-rows.ts';
import type { RequestedRun } from '../../../src/payroll/records/body.ts';
import { putRun } from '../../../src/payroll/records/runs.ts';
import { RUN_CHECKS, readinessOfRun } from '../../../src/readiness/run-report.ts';
import { deductionOf, deliver, receive } from '../../api/deliver.ts';
import { heldSync } from '../../census/parts.ts';
import { report as reportChange } from '../../employment/stage.ts';
import { owe } from '../../outbox/parts.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  BIWEEKLY,
  dateOf,
  deduct,
  employ,
  finalize,
  type Given,
  LATELY,
  NOW,
  override,
  putOn,
  QUESTION,
  readyEmployer,
  rowsOf,
  runOn,
  schedule,
  setCode,
  setCodes,
  setPolicy,
  setSchedules,
  sync,
} from '../../support/payroll.ts';
import { every } from '../calendars.ts';

const test = onEitherEngine.with(readyEmployer);

const RUN = runOn('2026-07-17');

/** A run of the previous tax year. */
const DECEMBER: RequestedRun = {
  ...RUN,
  pay_date: '2025-12-19',
  period_start: '2025-11-30',
  period_end: '2025-12-13',
};

const report = (db: Db, run: RequestedRun = RUN, question: Question = QUESTION) =>
  readinessOfRun(db, run, null, question);

async function check(db: Db, id: string, run: RequestedRun = RUN, question: Question = QUESTION) {
  const { checks } = await report(db, run, question);
  return withTexts(checks.find((one) => one.id === id) as CheckResult);
}

const withTexts = (check: CheckResult) => ({ ...check, texts: check.findings.map(({ text }) => text) });

const later = (days: number): Question => ({ ...QUESTION, now: new Date(NOW.getTime() + days * DAY_MS) });

async function finalized(db: Db, runId: string, run: RequestedRun): Promise<void> {
  await transact(db, (trx) => putRun(trx, runId, run, acting(LATELY)));
  await finalize(db, runId);
}

function reject(db: Db, requestId: string): Promise<unknown> {
  return setRequest(db, requestId, { state: 'rejected', is_next: 0, status: 422, finished_at: LATELY });
}

function setRequest(db: Db, requestId: string, columns: Updateable<OutboxTable>): Promise<unknown> {
  return transact(db, (trx) =>
    trx.updateTable('outbox').set(columns).where('request_id', '=', requestId).execute(),
  );
}

/** A vision election from July, moved to August on June 20 with these changes. */
async function movedStart(db: Db, changes: object): Promise<void> {
  await deduct(db, 'evt-3', { ...VISION, effective_start: '2026-07-01' }, '2026-06-01T00:00:00Z');
  const moved = { ...VISION, ...changes, effective_start: '2026-08-01' };
  await deduct(db, 'evt-4', moved, '2026-06-20T00:00:00Z');
}

/** Deductions of `ded-1`, unless overridden, in another event. */
const elect = (db: Db, fields: object, createdAt?: string) => deduct(db, 'evt-3', fields, createdAt);

const PLACEHOLDER = {
  ...{ id: 'placeholder:emp-1:vision:pre_tax', employee_id: 'emp-1', line_of_coverage: 'vision' },
};

const VISION = { id: 'ded-3', employee_id: 'emp-1', line_of_coverage: 'vision' };

/** Changes the medical deduction of `emp-1` by an event that is received after finalized runs. */
const electLater = (db: Db, member_contribution: string, sent: string) =>
  deliver(db, [deductionOf('evt-later', { member_contribution }, `${sent}T00:00:00Z`)], AFTERWARD);

/** A vision election with a renewal, which a correction of the window before it erases. */
async function erasedRenewal(db: Db, starts: string): Promise<void> {
  const vision = { ...VISION, employer_contribution: '0' };
  const windows = [
    ['2025-12-01', { effective_start: '2026-01-01', member_contribution: '10.00' }],
    ['2026-06-01', { effective_start: starts, member_contribution: '20.00' }],
    [
      '2026-06-20',
      { effective_start: '2026-01-01', effective_end: '2026-06-30', member_contribution: '12.00' },
    ],
  ] as const;
  for (const [sent, window] of windows)
    await deduct(db, `evt-${sent}`, { ...vision, ...window }, `${sent}T00:00:00Z`);
}

/** emp-2 left before the run, and the coverage ended on that day. */
async function leftBefore(db: Db): Promise<void> {
  await employ(db, 'emp-2', { termination_date: '2026-06-10' });
  const dental = { id: 'ded-2', employee_id: 'emp-2', line_of_coverage: 'dental' };
  await elect(db, { ...dental, effective_end: '2026-06-10' }, '2026-07-05T00:00:00Z');
}

/** After the runs that are finalized at `LATELY`. */
const AFTERWARD = '2026-07-11T09:00:00.000Z';
const LAST_DAY = dateOf('2026-12-31', 13);
const CLOCK = "2 hours ahead of the database's clock";
const REFUSED = { minute: '2026-07-13T08:00Z', cause: 'signature', refused_count: 1 };
const LOSS = {
  ...{ found_at: LATELY, position: 2, seq: 1, received_at: LATELY },
  ...{ saved_position: 3, saved_seq: 2, saved_received_at: null },
  ...{ accepted_at: null, accepted_reason: null },
};
const DAY_MS = 86_400_000;

/** The run or the question in which a check finds its problem, if another one than usual. */
const ASKED: Record<string, { run?: RequestedRun; question?: Question }> = {
  'events-stale': { question: { ...QUESTION, silentAfterMs: 2 * DAY_MS } },
  'employer-unknown': { run: { ...RUN, employer_id: 'nobody' } },
  'ledger-empty': { run: { ...RUN, employer_id: 'globex' } },
  'employees-without-pay-group': { run: { ...RUN, pay_group: 'a' } },
  'population-narrowed': { run: { ...RUN, employee_ids: ['emp-1'] } },
  'off-cycle-adds': { run: { ...RUN, kind: 'off_cycle', employee_ids: ['emp-1'], deductions: ['ded-1'] } },
  'final-check-empty': { run: { ...RUN, final_checks: ['emp-2'] } },
  'check-beyond-year': { run: { ...RUN, ...LAST_DAY } },
  'period-differs-from-schedule': { run: { ...RUN, period_end: '2026-07-11' } },
  clock: { question: { ...QUESTION, clockWarning: CLOCK } },
};

/** For each check: its severity, the finding, and how to break a ready run. */
const SPOILT: Record<`${'warn' | 'fail'} ${string}: ${string}`, (db: Db) => unknown> = {
  [`fail data-loss: replay the events from 2026-07-09T05:00:00.000Z onward: found at ${LATELY} that the database lacks 1 event and their effects`]:
    (db) => transact(db, (trx) => trx.insertInto('data_losses').values(LOSS).execute()),
  'fail events-pending: evt-3': (db) => receive(db, [deductionOf('evt-3', {})], LATELY),
  'fail events-quarantined: evt-3: emp-1, medical': (db) =>
    elect(db, { period: 'daily' }, '2026-01-01T00:00:00Z'),
  'fail events-in-conflict: evt-1': (db) => deduct(db, 'evt-1', { member_contribution: '1' }),
  'fail ties-changed-content: evt-3': (db) => elect(db, { member_contribution: '1' }),
  'fail events-future-dated: evt-3': (db) => elect(db, {}, '2027-01-01T00:00:00Z'),
  'warn nothing-received: no event has arrived since the database was created 3 days ago, at 2026-07-10T09:00:00.000Z':
    (db) =>
      transact(db, async (trx) => {
        await trx.updateTable('inbox').set({ source: 'import' }).execute();
        await trx.updateTable('instance').set({ created_at: '2026-07-10T09:00:00.000Z' }).execute();
      }),
  'warn events-stale: the last event arrived 3 days ago, at 2026-07-10T09:00:00.000Z': () => {},
  'warn signatures-refused: 1 delivery without a valid signature': (db) =>
    transact(db, (trx) => trx.insertInto('refused_signatures').values(REFUSED).execute()),
  'warn contract-changed: evt-3: a new field data.tier (employee.deduction-updated)': (db) =>
    elect(db, { tier: 'gold' }),
  [`warn sending-off: since ${LATELY}`]: (db) => transact(db, (trx) => startPilot(trx, acting(LATELY))),
  [`fail circuit-breaker-paused: status 401 (since ${LATELY})`]: (db) =>
    transact(db, (trx) => pauseSending(trx, 'status 401', new Date(LATELY))),
  'warn sending-stalled: req-1: termination, due since 2026-07-13T08:59:15.000Z': (db) =>
    owe(db, 'req-1', 'emp-1', 'termination', new Date('2026-07-13T08:59:15.000Z')),
  'fail requests-rejected: req-1: termination, the service found invalid data in it (status 422)': async (
    db,
  ) => {
    await owe(db, 'req-1', 'emp-1', 'termination', NOW);
    await reject(db, 'req-1');
  },
  'fail requests-held: acme: census, the service does not know this employer (status 404)': async (db) => {
    await owe(db, 'req-1', 'acme', 'census', NOW);
    await setRequest(db, 'req-1', { status: 404, refusals: 1 });
  },
  'warn requests-stuck: req-1: termination, since 2026-07-13T07:00:00.000Z': (db) =>
    owe(db, 'req-1', 'emp-1', 'termination', new Date('2026-07-13T07:00:00.000Z')),
  [`fail census-syncs: acme: waiting, requested ${LATELY}`]: (db) => sync(db, { state: 'waiting' }),
  'fail census-held: acme: 1 employee of the last upload is missing: emp-gone': (db) =>
    heldSync(db, () => NOW, 'acme'),
  'warn deductions-unmatched: 1 of no known employer': (db) =>
    elect(db, { id: 'ded-3', employee_id: 'emp-9' }),
  'warn never-in-effect: emp-1: deduction ded-3, until 0001-01-01': (db) =>
    elect(db, { id: 'ded-3', employee_id: 'emp-1', effective_start: null, effective_end: '0001-01-01' }),
  'warn starts-far-ahead: emp-1: deduction ded-3, from 3026-07-01': (db) =>
    elect(db, { id: 'ded-3', employee_id: 'emp-1', effective_start: '3026-07-01', effective_end: null }),
  'warn events-unattributed: 1 event': (db) => elect(db, { period: 'daily', employee_id: 'emp-9' }),
  'fail placeholders-open: emp-1: vision, pre-tax': (db) => elect(db, PLACEHOLDER),
  'fail employer-unknown: nobody': () => {},
  'fail employees-with-two-employers: emp-2: dental, deduction ded-2': (db) =>
    employ(db, 'emp-2', { employer_id: 'globex' }),
  'fail census-completed: acme: no census was processed yet': (db) =>
    transact(db, (trx) => trx.deleteFrom('census_syncs').execute()),
  'fail ledger-empty: globex': (db) => employ(db, 'emp-7', { employer_id: 'globex' }),
  'fail employees-without-frequency: emp-3': async (db) => {
    await employ(db, 'emp-3', { pay_frequency: null });
    await setSchedules(db, [schedule(), schedule({ pay_group: 'b' })]);
  },
  'warn employees-without-pay-group: emp-2': async (db) => {
    await employ(db, 'emp-1', { pay_group: 'a' });
    await employ(db, 'emp-2', { pay_group: null });
  },
  'warn override-outdated: emp-1: ded-1 on 2026-07-03 would be 78.46 plus employer 161.53; it was 69.23 plus employer 161.53 when overridden':
    async (db) => {
      await putOn(db, '2026-07-03');
      await override(db, '2026-07-03', 'emp-1', 'ded-1');
      await finalize(db, '2026-07-03');
      await elect(db, { member_contribution: '170.00' }, '2026-06-02T00:00:00Z');
    },
  'fail overlap: emp-1: medical 69.23, medical 69.23': (db) =>
    elect(db, { id: 'ded-3', employee_id: 'emp-1' }),
  'fail pay-date-taken: before': (db) =>
    finalized(db, 'before', { ...RUN, period_start: '2026-06-15', period_end: '2026-06-28' }),
  'fail periods-overlap: before: 2026-06-15 to 2026-06-29': (db) =>
    finalized(db, 'before', { ...runOn('2026-07-03'), period_end: '2026-06-29' }),
  // A deduction of zero is in effect too.
  'fail employees-not-scheduled: emp-2': async (db) => {
    await employ(db, 'emp-2', { pay_frequency: 'monthly' });
    const zero = { member_contribution: '0.00', employer_contribution: '0' };
    await elect(db, { id: 'ded-2', employee_id: 'emp-2', ...zero }, '2026-06-01T00:00:00Z');
  },
  'warn population-narrowed: 1 employee': () => {},
  'warn start-moved: emp-1: vision (ded-3), 150.00 plus employer 350 monthly from 2026-07-01 until 99.00 plus employer 350 monthly from 2026-08-01':
    (db) => movedStart(db, { member_contribution: '99.00' }),
  'fail renewal-erased: emp-1: vision (ded-3), 20.00 monthly from 2026-07-15 was erased by 12.00 monthly from 2026-01-01 through 2026-06-30':
    (db) => erasedRenewal(db, '2026-07-15'),
  'warn one-day-window: emp-1: vision 69.23 (ded-3), in effect on 2026-07-17 only': (db) =>
    elect(db, { ...VISION, effective_start: '2026-07-17', effective_end: '2026-07-17' }),
  'warn end-at-midnight: emp-1: vision 69.23 (ded-3), ends on 2026-07-17': (db) =>
    elect(db, { ...VISION, effective_end: '2026-07-17T07:00:00Z' }),
  'warn first-month-ahead: emp-1: vision 69.23 (ded-3) a check, from 2026-07-01; the first run looks at 2026-08-01':
    async (db) => {
      await setPolicy(db, { applies_on: 'next_month' });
      await elect(db, { ...VISION, effective_start: '2026-07-01' });
    },
  'warn start-corrected: emp-1': (db) => movedStart(db, {}),
  'warn missed-checks: emp-2: dental 69.23 (paycheck of 2026-07-03)': (db) =>
    finalized(db, 'first', runOn('2026-07-03', { employee_ids: ['emp-1'] })),
  'warn items-of-another-year: emp-1: medical 23.08 (paycheck of 2025-12-19)': async (db) => {
    await finalized(db, 'december', DECEMBER);
    await elect(db, { member_contribution: '200.00' }, '2026-07-05T00:00:00Z');
  },
  'warn retro-pre-tax: emp-1: medical 23.07 (paycheck of 2026-07-03)': async (db) => {
    await finalized(db, 'first', runOn('2026-07-03'));
    await elect(db, { member_contribution: '200.00' }, '2026-07-05T00:00:00Z');
  },
  'warn retro-refund: emp-1: medical -23.08 (paycheck of 2026-07-03)': async (db) => {
    await finalized(db, 'first', runOn('2026-07-03'));
    await electLater(db, '100.00', '2026-07-05');
  },
  'warn refund-waits: emp-1: medical -64.62 (paycheck of 2026-07-03)': async (db) => {
    await setPolicy(db, { open_items: 'include' });
    await finalized(db, 'first', runOn('2026-07-03'));
    // Elected before the pay date, so nothing but its size lets the refund wait.
    await elect(db, { member_contribution: '10.00' }, '2026-06-25T00:00:00Z');
  },
  'warn paid-after-termination: emp-1: medical (ded-1), paid on 2026-07-03 after 2026-06-10': async (db) => {
    await finalized(db, 'first', runOn('2026-07-03'));
    await employ(db, 'emp-1', { termination_date: '2026-06-10' });
  },
  'fail negative-total: emp-1: -12.00 pre_tax': (db) =>
    elect(db, { member_contribution: '-26.00' }, '2026-07-05T00:00:00Z'),
  'warn coverage-beyond-last-check: emp-2: 1 share, 69.23 plus employer 161.53, coverage through 2026-07-31':
    async (db) => {
      await employ(db, 'emp-2', { termination_date: '2026-07-01' });
      const dental = { id: 'ded-2', employee_id: 'emp-2', line_of_coverage: 'dental' };
      await elect(db, { ...dental, effective_end: '2026-07-31' }, '2026-07-05T00:00:00Z');
    },
  'warn final-check-empty: emp-2': (db) => leftBefore(db),
  'warn termination-contradicted: emp-2': async (db) => {
    await employ(db, 'emp-2', { termination_date: '2026-07-01' });
    await employ(db, 'emp-2');
  },
  'fail codes-missing: dental pre_tax employee': (db) => setCode(db, 'medical'),
  'warn no-pay-schedule: biweekly, 2026: 1/26 of the year on each check': (db) => setSchedules(db, []),
  'fail short-year: 150.00 a month: 90.00 on each of 20 checks': (db) =>
    setSchedules(db, [schedule({ pay_dates: BIWEEKLY.slice(0, 20), year_in_fewer_checks: true })]),
  // 1,800.00 − 14 × 69.23 = 830.78 are left for 13 of 27 checks.
  'fail calendar-differs: 69.23 until now; 830.78 left of 1,800.00, on 13 checks; 63.90': async (db) => {
    await finalized(db, 'before', runOn('2026-07-03'));
    await setSchedules(db, [schedule({ pay_dates: [...BIWEEKLY, LAST_DAY] })]);
  },
  'fail pay-date-skipped: 2026-07-03: not run; 2 employees, 138.46 on 2026-06-19': (db) =>
    finalized(db, 'before', runOn('2026-06-19')),
  'warn check-beyond-year: medical: 1 employee, 150.00 on check 27, after the first 26': async (db) => {
    await elect(db, { period: 'biweekly' }, '2026-02-01T00:00:00Z');
    await setSchedules(db, [schedule({ pay_dates: [...BIWEEKLY, LAST_DAY] })]);
  },
  'warn period-differs-from-schedule: 2026-07-17 pays 2026-06-29 to 2026-07-12': () => {},
  'warn open-after-termination: emp-2: left on 2026-07-01, dental 69.23 (coverage without an end date)': (
    db,
  ) => employ(db, 'emp-2', { termination_date: '2026-07-01' }),
  [`warn clock: ${CLOCK}`]: () => {},
  'warn absent-from-census: emp-2': (db) => employ(db, 'emp-2', { absent: 1 }),
  'warn frequency-moved: emp-1: since 2026-06-29': async (db) => {
    const weekly = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7));
    await setSchedules(db, [schedule(), schedule({ pay_frequency: 'weekly', pay_dates: weekly })]);
    await employ(db, 'emp-1', { pay_frequency: 'weekly', effective_on: '2025-12-01' });
    await employ(db, 'emp-1', { effective_on: '2026-06-29' });
  },
  'warn transfer-unknown: emp-2: left on 2026-07-08': (db) =>
    employ(db, 'emp-2', { employer_id: 'globex', termination_date: '2026-07-08' }),
  'warn off-cycle-adds: 1 employee, 69.23': () => {},
};

const AMOUNTS = { member_amount: '69.23', employer_amount: '161.53' };
const VISION_FACTS = { employee_id: 'emp-1', deduction_id: 'ded-3', version: 1, line_of_coverage: 'vision' };
const ITEM_FACTS = {
  employee_id: 'emp-1',
  deduction_id: 'ded-1',
  version: 2,
  line_of_coverage: 'medical',
  employer_amount: '0.00',
};

/** What the finding of each check is about, in addition to its text. */
const FACTS: Record<string, object> = {
  'data-loss': { date: '2026-07-10' },
  'events-pending': { event_id: 'evt-3' },
  'events-quarantined': { employee_id: 'emp-1', event_id: 'evt-3', line_of_coverage: 'medical' },
  'events-in-conflict': { event_id: 'evt-1' },
  'ties-changed-content': { event_id: 'evt-3' },
  'events-future-dated': { event_id: 'evt-3' },
  'signatures-refused': { count: 1 },
  'contract-changed': { event_id: 'evt-3' },
  'sending-stalled': { employee_id: 'emp-1', change_id: 'req-1' },
  'requests-rejected': { employee_id: 'emp-1', change_id: 'req-1' },
  'requests-held': { employer_id: 'acme' },
  'requests-stuck': { employee_id: 'emp-1', change_id: 'req-1' },
  'census-syncs': { employer_id: 'acme', sync_id: String },
  'census-held': { employer_id: 'acme', employee_ids: ['emp-gone'], sync_id: String },
  'deductions-unmatched': { count: 1 },
  'never-in-effect': { employee_id: 'emp-1', deduction_id: 'ded-3', event_id: 'evt-3' },
  'starts-far-ahead': { employee_id: 'emp-1', deduction_id: 'ded-3', event_id: 'evt-3', date: '3026-07-01' },
  'events-unattributed': { count: 1 },
  'placeholders-open': {
    ...{ employer_id: 'acme', employee_id: 'emp-1' },
    ...{ deduction_id: 'placeholder:emp-1:vision:pre_tax', line_of_coverage: 'vision' },
    taxability: 'pre_tax',
  },
  'employer-unknown': { employer_id: 'nobody' },
  'employees-with-two-employers': { employee_id: 'emp-2', deduction_id: 'ded-2' },
  'census-completed': { employer_id: 'acme' },
  'ledger-empty': { employer_id: 'globex' },
  'employees-without-frequency': { employee_id: 'emp-3' },
  'employees-without-pay-group': { employee_id: 'emp-2' },
  'override-outdated': {
    employee_id: 'emp-1',
    deduction_id: 'ded-1',
    version: 2,
    run_id: '2026-07-03',
    date: '2026-07-03',
    member_amount: '78.46',
    employer_amount: '161.53',
  },
  overlap: { employee_id: 'emp-1', line_of_coverage: 'medical' },
  'pay-date-taken': { run_id: 'before', date: '2026-07-17' },
  'periods-overlap': { run_id: 'before' },
  'employees-not-scheduled': { employee_id: 'emp-2' },
  'population-narrowed': { count: 1 },
  'start-moved': { ...VISION_FACTS, date: '2026-07-01' },
  'renewal-erased': {
    employee_id: 'emp-1',
    deduction_id: 'ded-3',
    version: 2,
    line_of_coverage: 'vision',
    date: '2026-07-15',
  },
  'one-day-window': { ...VISION_FACTS, event_id: 'evt-3', date: '2026-07-17', ...AMOUNTS },
  'end-at-midnight': { ...VISION_FACTS, event_id: 'evt-3', date: '2026-07-17', ...AMOUNTS },
  'first-month-ahead': { ...VISION_FACTS, date: '2026-07-01', ...AMOUNTS },
  'start-corrected': { ...VISION_FACTS, date: '2026-07-01' },
  'missed-checks': {
    employee_id: 'emp-2',
    deduction_id: 'ded-2',
    version: 1,
    run_id: 'first',
    line_of_coverage: 'dental',
    date: '2026-07-03',
    ...AMOUNTS,
  },
  'items-of-another-year': { ...ITEM_FACTS, run_id: 'december', date: '2025-12-19', member_amount: '23.08' },
  'retro-pre-tax': { ...ITEM_FACTS, run_id: 'first', date: '2026-07-03', member_amount: '23.07' },
  'retro-refund': { ...ITEM_FACTS, run_id: 'first', date: '2026-07-03', member_amount: '-23.08' },
  'refund-waits': { ...ITEM_FACTS, run_id: 'first', date: '2026-07-03', member_amount: '-64.62' },
  'paid-after-termination': {
    employee_id: 'emp-1',
    deduction_id: 'ded-1',
    version: 1,
    line_of_coverage: 'medical',
    date: '2026-06-10',
  },
  'negative-total': { employee_id: 'emp-1', taxability: 'pre_tax', member_amount: '-12.00' },
  'coverage-beyond-last-check': {
    employee_id: 'emp-2',
    deduction_id: 'ded-2',
    line_of_coverage: 'dental',
    ...AMOUNTS,
  },
  'final-check-empty': { employee_id: 'emp-2' },
  'termination-contradicted': { employee_id: 'emp-2', date: '2026-07-10' },
  'codes-missing': { line_of_coverage: 'dental', taxability: 'pre_tax', side: 'employee' },
  'calendar-differs': { run_id: 'before' },
  'pay-date-skipped': { date: '2026-07-03' },
  'check-beyond-year': { line_of_coverage: 'medical', member_amount: '150.00' },
  'period-differs-from-schedule': { date: '2026-07-17' },
  'open-after-termination': {
    employee_id: 'emp-2',
    deduction_id: 'ded-2',
    version: 1,
    line_of_coverage: 'dental',
    date: '2026-07-01',
    ...AMOUNTS,
  },
  'absent-from-census': { employee_id: 'emp-2' },
  'frequency-moved': { employee_id: 'emp-1', date: '2026-06-29' },
  'transfer-unknown': { employee_id: 'emp-2', date: '2026-07-08' },
  'off-cycle-adds': { member_amount: '69.23' },
};

/** The severity, the check and the text of each entry. */
const SPOILS = Object.entries(SPOILT).map(([finding, spoil]) => {
  const [, result, id, text] = /^(\w+) (\S+): (.*)$/.exec(finding) as string[] as [
    string,
    string,
    string,
    string,
  ];
  return { result, id, text, spoil };
});

test('a run without problems passes every check, and each explains the result', async (t, db) => {
  const { ready, checked_at, checks } = await report(db);
  const flawed = checks.filter((one) => one.result !== 'pass' || one.count > 0 || one.findings.length > 0);
  t.strictSame(flawed, []);
  t.equal(ready, true);
  t.equal(checked_at, NOW.toISOString());
  const texts = new Map(checks.map(({ id, advice }) => [id, advice]));
  const ids = [...texts.keys()];
  const expected = RUN_CHECKS.map(({ id }) => id);
  t.strictSame(ids, expected);
  for (const { id, passed } of RUN_CHECKS) if (typeof passed === 'string') t.equal(texts.get(id), passed);
  t.equal(texts.get('events-stale'), 'The last event arrived 3 days ago, at 2026-07-10T09:00:00.000Z.');
});

/** Breaking it takes a small disk: test/faults/full-disk.test.ts has one. */
const ELSEWHERE: Record<string, 'fail'> = { 'disk-space': 'fail' };

onEitherEngine('every check of a run finds its problem, names it and gives advice', async (t) => {
  const spoilt = [...SPOILS.map(({ id }) => id), ...Object.keys(ELSEWHERE)];
  t.strictSame(spoilt.sort(), RUN_CHECKS.map(({ id }) => id).sort());
  for (const { id, result, text, spoil } of SPOILS) {
    await t.test(id, async (t) => {
      const db = await readyEmployer(t);
      const { run, question } = ASKED[id] ?? {};
      await spoil(db);
      const { advice } = RUN_CHECKS.find((one) => one.id === id) as { advice: string };
      const { ready, checks } = await report(db, run, question);
      const found = checks.find((one) => one.id === id) as CheckResult;
      const findings = [{ check: id, text, ...FACTS[id] }];
      t.match(found, { id, result, count: 1, findings, accepted: [] });
      t.strictSame(Object.keys(found.findings[0] ?? {}).sort(), Object.keys(findings[0] ?? {}).sort());
      t.ok(found.advice.startsWith(advice));
      t.equal(ready, !checks.some((one) => one.result === 'fail'));
    });
  }
});

onEitherEngine(
  'a deduction whose employee has almost the id of one in the census is named with it',
  async (t) => {
    const db = await readyEmployer(t);
    await employ(db, '123', { absent: 1 });
    await deduct(db, 'evt-3', { id: 'ded-3', employee_id: '00123' });
    await deduct(db, 'evt-4', { id: 'ded-4', employee_id: '00999' });
    const { checks } = await report(db);
    const unmatched = {
      result: 'warn',
      count: 2,
      findings: [
        { employee_id: '00123', text: '00123: the census has 123' },
        { count: 1, text: '1 of no known employer' },
      ],
    };
    t.match(
      checks.find(({ id }) => id === 'deductions-unmatched'),
      { ...unmatched, advice: /removed the zeros/ },
    );
  },
);

onEitherEngine('the severity of each check names what it finds', async (t) => {
  for (const { id, severity } of RUN_CHECKS) {
    const found = SPOILS.find((spoil) => spoil.id === id)?.result ?? ELSEWHERE[id];
    t.match(severity, found as string, `${id} is a ${found}`);
  }
});

test('twenty findings are named, and all are counted, with each employee once', async (t, db) => {
  const ids = Array.from({ length: 24 }, (_, index) => `emp-${index + 10}`);
  for (const employee_id of ids) {
    await employ(db, employee_id, { absent: 1 });
    for (const line_of_coverage of ['dental', 'vision']) {
      const id = `${employee_id}-${line_of_coverage}`;
      await deduct(db, id, { id, employee_id, line_of_coverage });
    }
  }
  t.match(await check(db, 'absent-from-census'), { count: 24, texts: ids.slice(0, 20) });
});

onEitherEngine('two elections fail if one is the rule, and warn for a voluntary coverage', async (t) => {
  for (const [line_of_coverage, result] of [
    ['hsa', 'fail'],
    ['dependent_care_fsa', 'fail'],
    ['voluntary_life', 'warn'],
  ] as const) {
    const db = await readyEmployer(t);
    for (const id of ['ded-3', 'ded-4'])
      await deduct(db, `evt-${id}`, { id, employee_id: 'emp-1', line_of_coverage });
    t.match(await check(db, 'overlap'), { result, count: 1 }, line_of_coverage);
  }
});

test('two elections of which one ends on the day the other starts say so', async (t, db) => {
  await deduct(db, 'evt-3', { effective_end: '2026-07-17' }, '2026-06-01T00:00:00Z');
  await deduct(db, 'evt-4', { id: 'ded-3', employee_id: 'emp-1', effective_start: '2026-07-17' });
  t.strictSame((await check(db, 'overlap')).texts, [
    'emp-1: medical 69.23, medical 69.23; ded-1 ends on 2026-07-17, the day on which ded-3 starts',
  ]);
});

test('an end that is a US midnight in UTC is named in the run of its day, other times are not', async (t, db) => {
  const times = [
    '04:00:00Z',
    '10:00:00.000Z',
    '03:00:00Z',
    '11:00:00Z',
    '00:00:00Z',
    '05:31:56Z',
    '07:00:00-07:00',
  ];
  for (const [index, time] of times.entries()) {
    const id = `ded-${index + 3}`;
    await deduct(db, `evt-${index + 3}`, { ...VISION, id, effective_end: `2026-07-17T${time}` });
  }
  const named = (id: string) => `emp-1: vision 69.23 (${id}), ends on 2026-07-17`;
  t.strictSame((await check(db, 'end-at-midnight')).texts, [named('ded-3'), named('ded-4')]);
  t.match(await check(db, 'end-at-midnight', runOn('2026-07-03')), { result: 'pass' });
});

test('an erased renewal warns until its start, and fails from then on unless the employee has left', async (t, db) => {
  await erasedRenewal(db, '2026-07-17');
  const result = async (payDate: string) => (await check(db, 'renewal-erased', runOn(payDate))).result;
  t.equal(await result('2026-07-03'), 'warn');
  t.equal(await result('2026-07-17'), 'fail');
  t.equal(await result('2026-07-31'), 'fail');
  await employ(db, 'emp-1', { termination_date: '2026-07-16' });
  t.equal(await result('2026-07-17'), 'pass');
});

test('only the first run after a refund or a changed overridden amount names it', async (t, db) => {
  await putOn(db, '2026-07-03');
  await override(db, '2026-07-03', 'emp-2', 'ded-2');
  await finalize(db, '2026-07-03');
  await electLater(db, '100.00', '2026-07-05');
  const dental = {
    id: 'ded-2',
    employee_id: 'emp-2',
    line_of_coverage: 'dental',
    member_contribution: '170.00',
  };
  await deliver(db, [deductionOf('evt-4', dental, '2026-07-05T00:00:00Z')], AFTERWARD);
  const results = async (payDate: string) => {
    const { checks } = await report(db, runOn(payDate));
    return ['retro-refund', 'override-outdated'].map((id) => checks.find((one) => one.id === id)?.result);
  };
  t.strictSame(await results('2026-07-17'), ['warn', 'warn']);
  await putOn(db, '2026-07-17');
  await finalize(db, '2026-07-17', { sharedNow: async () => NOW });
  t.strictSame(await results('2026-07-31'), ['pass', 'pass']);
});

test('only the first run that leaves out an item of another tax year names it', async (t, db) => {
  await finalized(db, 'december', DECEMBER);
  await elect(db, { member_contribution: '200.00' }, '2026-06-10T00:00:00Z');
  const named = async (payDate: string) => {
    const { checks } = await report(db, runOn(payDate));
    return checks.find(({ id }) => id === 'items-of-another-year')?.count;
  };
  t.equal(await named('2026-07-03'), 1, 'the run before is of the year of the item');
  await putOn(db, '2026-07-03');
  await finalize(db, '2026-07-03');
  t.equal(await named('2026-07-17'), 0);
  await electLater(db, '210.00', '2026-07-11');
  t.equal(await named('2026-07-17'), 1, 'its amount is new');
});

test('events about employees of another employer do not fail a run', async (t, db) => {
  await employ(db, 'emp-8', { employer_id: 'globex' });
  const of = { id: 'ded-8', employee_id: 'emp-8' };
  await deduct(db, 'quarantined', { ...of, period: 'daily' });
  await deduct(db, 'tie-1', of);
  await deduct(db, 'tie-2', { ...of, member_contribution: '1.00' });
  await deduct(db, 'early', { ...of, id: 'ded-9' }, '2027-01-01T00:00:00Z');
  const ids = ['events-quarantined', 'ties-changed-content', 'events-future-dated'];
  for (const [employer_id, result] of [
    ['acme', 'pass'],
    ['globex', 'fail'],
  ] as const) {
    const { checks } = await report(db, { ...RUN, employer_id });
    for (const id of ids)
      t.match(checks.find((one) => one.id === id)?.result, result, `${employer_id}: ${id}`);
    if (result === 'pass') t.notMatch(JSON.stringify(checks), 'emp-8');
  }
});

test('events that just arrived warn', async (t, db) => {
  await receive(db, [deductionOf('evt-3', {})], '2026-07-13T08:59:30.000Z');
  t.match(await check(db, 'events-pending'), { result: 'warn', texts: ['evt-3'] });
});

test('sending is stalled when requests are due and none was finished for 45 s', async (t, db) => {
  const secondsAgo = (seconds: number) => new Date(NOW.getTime() - seconds * 1_000);
  const isStalled = async () => (await check(db, 'sending-stalled')).result !== 'pass';
  await owe(db, 'due', 'emp-1', 'demographic', secondsAgo(44));
  await owe(db, 'behind', 'emp-1', 'demographic', secondsAgo(3_600));
  t.equal(await isStalled(), false, 'a request waiting for another one of its employee is not due');
  await owe(db, 'late', 'emp-2', 'demographic', secondsAgo(46));
  const stalled = { count: 1, texts: [`late: demographic, due since ${secondsAgo(46).toISOString()}`] };
  t.match(await check(db, 'sending-stalled'), stalled);
  await employ(db, 'emp-8', { employer_id: 'globex' });
  await owe(db, 'elsewhere', 'emp-8', 'demographic', secondsAgo(47));
  await owe(db, 'upload', 'globex', 'census', secondsAgo(47));
  t.match(await check(db, 'sending-stalled'), stalled, 'requests of another employer do not count');
  await owe(db, 'sent', 'emp-3', 'demographic', secondsAgo(60));
  const finish = (seconds: number) => {
    const finished_at = secondsAgo(seconds).toISOString();
    return transact(db, (trx) =>
      trx
        .updateTable('outbox')
        .set({ state: 'delivered', is_next: 0, body: null, finished_at })
        .where('request_id', '=', 'sent')
        .execute(),
    );
  };
  await finish(46);
  t.equal(await isStalled(), true);
  await finish(44);
  t.equal(await isStalled(), false);
  await finish(46);
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', NOW));
  t.equal(await isStalled(), false, 'a paused circuit breaker has its own check');
});

test('sending is stalled when no sender takes over a claim with an expired lease', async (t, db) => {
  await owe(db, 'req-1', 'emp-1', 'demographic', new Date(LATELY));
  const claimUntil = (lease_expires_at: string) =>
    transact(db, (trx) =>
      trx.updateTable('outbox').set({ state: 'sending', claimed_by: 'x', lease_expires_at }).execute(),
    );
  await claimUntil(new Date(NOW.getTime() - 44_000).toISOString());
  t.match(await check(db, 'sending-stalled'), { result: 'pass' });
  await claimUntil(new Date(NOW.getTime() - 46_000).toISOString());
  t.match(await check(db, 'sending-stalled'), { result: 'warn', count: 1 });
});

test('requests for employees outside the run do not count', async (t, db) => {
  await employ(db, 'emp-8', { employer_id: 'globex' });
  for (const id of ['emp-8', 'emp-2']) {
    await owe(db, `late-${id}`, id, 'demographic', new Date('2026-07-12T08:00:00.000Z'));
    await owe(db, `bad-${id}`, id, 'demographic', NOW);
    await reject(db, `bad-${id}`);
  }
  const rejected = {
    count: 1,
    texts: ['bad-emp-2: demographic, the service found invalid data in it (status 422)'],
  };
  t.match(await check(db, 'requests-rejected'), rejected);
  t.match(await check(db, 'requests-stuck'), {
    result: 'fail',
    count: 1,
    texts: ['late-emp-2: demographic, since 2026-07-12T08:00:00.000Z'],
  });
  const narrowed = runOn('2026-07-17', { employee_ids: ['emp-1'] });
  const upload = {
    requestId: 'upload',
    kind: 'census',
    ...employerSubject('emp-1'),
    encrypted: null,
  } as const;
  await transact(db, (trx) => enqueue(trx, [upload], '2026-07-12T08:00:00.000Z'));
  t.match(await check(db, 'requests-rejected', narrowed), { result: 'pass' });
  t.match(await check(db, 'requests-stuck', narrowed), { result: 'pass' });
});

test('a completed census of the employer counts for a month', async (t, db) => {
  await sync(db, { employer_id: 'globex', at: '2026-08-01T00:00:00.000Z' });
  t.match(await check(db, 'census-completed', RUN, later(28)), { result: 'pass' });
  const old = { result: 'warn', texts: [`acme: last processed ${LATELY}`] };
  t.match(await check(db, 'census-completed', RUN, later(29)), old);
  await sync(db, { employer_id: 'globex', state: 'waiting' });
  t.match(await check(db, 'census-syncs'), { result: 'pass' });
  await sync(db, { state: 'requested' });
  t.match(await check(db, 'census-syncs'), { texts: [`acme: overdue, requested ${LATELY}`] });
});

onEitherEngine('a retroactive finding names the paychecks after which the amount was elected', async (t) => {
  for (const [elected, text] of [
    ['2026-06-25', 'emp-1: medical 23.07 (paycheck of 2026-06-19)'],
    ['2026-07-05', 'emp-1: medical 46.14 (2 paychecks from 2026-06-19 to 2026-07-03)'],
  ] as const) {
    const db = await readyEmployer(t);
    for (const date of ['2026-06-19', '2026-07-03']) await finalized(db, date, runOn(date));
    await deduct(db, 'evt-3', { member_contribution: '200.00' }, `${elected}T00:00:00Z`);
    t.match(await check(db, 'retro-pre-tax'), { texts: [text] }, elected);
  }
});

test('a finding names a termination until the service has received it', async (t, db) => {
  const end = { id: 'ded-2', employee_id: 'emp-2', line_of_coverage: 'dental', effective_end: '2026-12-31' };
  await deduct(db, 'evt-3', end, '2026-07-05T00:00:00Z');
  const fields = { termination_date: '2026-07-01' };
  const first = await reportChange(db, 'termination', 'emp-2', { fields });
  const found = () => check(db, 'open-after-termination');
  const undelivered = /The service has not received the termination of emp-2 yet\.$/;
  t.match(await found(), {
    advice: undelivered,
    texts: ['emp-2: left on 2026-07-01, dental 69.23 (coverage through 2026-12-31)'],
  });
  await reject(db, first);
  t.match(await found(), { advice: undelivered });
  const again = await reportChange(db, 'termination', 'emp-2', { fields });
  const delivered = { state: 'delivered', is_next: 0, body: null, finished_at: LATELY } as const;
  await transact(db, (trx) =>
    trx.updateTable('outbox').set(delivered).where('request_id', '=', again).execute(),
  );
  t.notMatch(await found(), { advice: undelivered });
});

test('a final check that takes a line is not named as empty', async (t, db) => {
  await employ(db, 'emp-1', { termination_date: '2026-07-01' });
  await leftBefore(db);
  const texts = ['emp-2'];
  t.match(await check(db, 'final-check-empty', { ...RUN, final_checks: ['emp-1', 'emp-2'] }), { texts });
});

test('employees with two employers are determined on the period end', async (t, db) => {
  await employ(db, 'emp-2', { employer_id: 'globex', hire_date: '2026-07-13' });
  t.match(await check(db, 'employees-with-two-employers'), { result: 'pass' });
  const next = runOn('2026-07-31');
  t.match(await check(db, 'employees-with-two-employers', next), {
    texts: ['emp-2: dental, deduction ded-2'],
  });
});

test('only finalized regular runs of the frequency and group overlap', async (t, db) => {
  const shifted = { ...runOn('2026-07-03'), period_start: '2026-06-16', period_end: '2026-06-29' };
  const nextToIt = { ...runOn('2026-07-03'), pay_date: '2026-07-04', pay_group: 'a' };
  await setSchedules(db, []);
  const others: [string, RequestedRun][] = [
    ['other-frequency', { ...shifted, pay_frequency: 'weekly', pay_group: 'a' }],
    ['group-a', { ...shifted, pay_group: 'a' }],
    ['group-b', { ...shifted, pay_group: 'b' }],
    ['off-cycle', { ...shifted, kind: 'off_cycle', employee_ids: ['emp-1'], deductions: [] }],
    ['next-to-it', nextToIt],
    ['after-it', runOn('2026-07-31', { pay_group: 'a' })],
  ];
  for (const [id, run] of others) await finalized(db, id, run);
  await transact(db, (trx) =>
    putRun(trx, 'open', { ...shifted, pay_date: '2026-07-05', pay_group: 'a' }, acting(LATELY)),
  );
  const found = async (run: RequestedRun) => (await check(db, 'periods-overlap', run)).texts;
  const texts = ['group-a: 2026-06-16 to 2026-06-29'];
  t.strictSame(await found({ ...RUN, pay_group: 'a' }), texts);
  t.strictSame(await found({ ...RUN, kind: 'off_cycle', employee_ids: ['emp-1'] }), []);
  const itself = await readinessOfRun(db, nextToIt, 'next-to-it', QUESTION);
  const ofItself = (id: string) => itself.checks.find((check) => check.id === id);
  t.strictSame(
    ofItself('periods-overlap')?.findings.map(({ text }) => text),
    texts,
    'a run does not overlap itself',
  );
  t.match(ofItself('pay-date-taken'), { result: 'pass' }, 'nor is its pay date taken by itself');
  t.strictSame(await found(runOn('2026-07-31', { pay_group: 'c' })), []);
});

test('codes are required for amounts other than zero', async (t, db) => {
  await setCode(db, 'medical', 'employer');
  t.match(await check(db, 'codes-missing'), {
    count: 3,
    texts: ['dental pre_tax employee', 'dental pre_tax employer', 'medical pre_tax employee'],
  });
  for (const [event, id, employee_id] of [
    ['evt-3', 'ded-1', 'emp-1'],
    ['evt-4', 'ded-2', 'emp-2'],
  ] as const) {
    const nothing = { member_contribution: '0.00', employer_contribution: '5', coverage_type: 'member' };
    const line_of_coverage = id === 'ded-1' ? 'medical' : 'dental';
    await deduct(db, event, { id, employee_id, line_of_coverage, ...nothing }, '2026-02-01T00:00:00Z');
  }
  t.match(await check(db, 'codes-missing'), { count: 1, texts: ['dental pre_tax employer'] });
  const family = { line_of_coverage: 'dental', coverage_type: 'member_family', taxability: null } as const;
  await setCodes(db, [{ ...family, side: 'employer', code: 'X1', treatment: null }]);
  const { findings } = await check(db, 'codes-missing');
  const ofMember = findings.find(({ text }) => text === 'dental member pre_tax employer');
  t.match(ofMember, { coverage_type: 'member', side: 'employer' });
});

test('an opening item has the code of who its deduction covers', async (t, db) => {
  await deduct(db, 'evt-3', { coverage_type: 'member_family' }, '2026-06-01T00:00:00Z');
  await setPolicy(db, { open_items: 'include' });
  const levels = ['medical', 'dental'] as const;
  await setCodes(
    db,
    levels.flatMap((line_of_coverage) =>
      (['member', 'member_family'] as const).map((coverage_type) => {
        const of = { line_of_coverage, coverage_type, taxability: null };
        return {
          ...of,
          side: 'employee' as const,
          code: `${line_of_coverage}-${coverage_type}`,
          treatment: null,
        };
      }),
    ),
  );
  const opening = {
    ...{ id: 'o1', employee_id: 'emp-1', line_of_coverage: 'medical', taxability: 'pre_tax' },
    ...{ member_amount: '50.00', employer_amount: '0.00', pay_date: '2026-06-19' },
  };
  const bring = (...rows: Given[]) => bringOpeningItems(db, 'acme', rowsOf(...rows), acting(LATELY));
  await bring({ ...opening, deduction_id: 'ded-1' });
  const before = (await check(db, 'codes-missing')).texts;
  t.notMatch(before, [/medical/]);
  await bring({ ...opening, id: 'o2' });
  t.strictSame((await check(db, 'codes-missing')).texts, [
    ...before,
    'medical without a coverage type pre_tax employee',
  ]);
});

test('the last check of a year with a pay date less than usual is named', async (t, db) => {
  for (const employee_id of ['emp-1', 'emp-2'])
    await deduct(
      db,
      `evt-${employee_id}`,
      { id: `ded-of-${employee_id}`, employee_id, line_of_coverage: 'vision', period: 'biweekly' },
      '2026-02-01T00:00:00Z',
    );
  await setSchedules(db, [schedule({ pay_dates: BIWEEKLY.slice(1) })]);
  const texts = async (payDate: string) => (await check(db, 'check-beyond-year', runOn(payDate))).texts;
  t.strictSame(await texts('2026-12-18'), [
    'vision: 2 employees, 300.00 on check 25, the last of a year with fewer than 26',
  ]);
  t.strictSame(await texts('2026-12-04'), []);
  await setSchedules(db, [schedule()]);
  t.strictSame(await texts('2026-12-18'), []);
});

test('a skipped pay date has the size of the run before it', async (t, db) => {
  await finalized(db, 'june-5', runOn('2026-06-05'));
  await finalized(db, 'june-19', runOn('2026-06-19', { employee_ids: ['emp-1'] }));
  await finalized(db, 'july-17', runOn('2026-07-17'));
  t.strictSame((await check(db, 'pay-date-skipped', runOn('2026-08-14'))).texts, [
    '2026-07-03: not run; 1 employee, 69.23 on 2026-06-19',
    '2026-07-31: not run; 2 employees, 138.46 on 2026-07-17',
  ]);
});

test('a date that takes nothing, or without a list, is not skipped', async (t, db) => {
  await finalized(db, 'june-19', runOn('2026-06-19'));
  const skipped = async () => (await check(db, 'pay-date-skipped')).result;
  t.equal(await skipped(), 'fail');
  const without = (takes: 'own_period' | 'none') =>
    setSchedules(db, [
      schedule({
        pay_dates: BIWEEKLY.map((date) => (date.pay_date === '2026-07-03' ? { ...date, takes } : date)),
      }),
    ]);
  await without('own_period');
  t.equal(await skipped(), 'fail');
  await without('none');
  t.equal(await skipped(), 'pass');
  await setSchedules(db, []);
  t.equal(await skipped(), 'pass');
});

test('a run of another pay group does not cover a pay date', async (t, db) => {
  for (const [id, date, pay_group] of [
    ['a-5', '2026-06-05', 'a'],
    ['b-5', '2026-06-05', 'b'],
    ['a-19', '2026-06-19', 'a'],
  ] as const)
    await finalized(db, id, runOn(date, { pay_group }));
  const skipped = async (pay_group: string) =>
    (await check(db, 'pay-date-skipped', runOn('2026-07-17', { pay_group }))).texts.map((text) =>
      text?.slice(0, 'YYYY-MM-DD'.length),
    );
  t.strictSame(await skipped('a'), ['2026-07-03']);
  t.strictSame(await skipped('b'), ['2026-06-19', '2026-07-03']);
  t.strictSame(await skipped('c'), [], 'before its first run');
});

test('only runs of the known frequency name an employee whose group has no schedule', async (t, db) => {
  await employ(db, 'emp-1', { pay_group: 'a' });
  await employ(db, 'emp-2', { pay_frequency: 'weekly', pay_group: null });
  const ofGroup = { ...RUN, pay_group: 'b' };
  const texts = async () => (await check(db, 'employees-not-scheduled', ofGroup)).texts;
  await setSchedules(db, [schedule({ pay_group: 'b' })]);
  t.strictSame(await texts(), ['emp-1', 'emp-2'], 'weekly has no schedule');
  await setSchedules(db, [
    schedule({ pay_group: 'b' }),
    schedule({ pay_frequency: 'weekly', pay_group: 'b' }),
  ]);
  t.strictSame(await texts(), ['emp-1']);
});

test('a run without a list of pay dates fails after a run with one', async (t, db) => {
  await finalized(db, 'before', runOn('2026-07-03'));
  t.match(await check(db, 'calendar-differs'), { result: 'pass' });
  await setSchedules(db, []);
  const texts = ['before had a list of pay dates; today there is none'];
  t.match(await check(db, 'calendar-differs'), { result: 'fail', texts });
});

test('the first run of a year is compared with the last one of the previous year', async (t, db) => {
  const pastDates = every(14, '2025-01-03', 26).map((date, index) => ({
    ...dateOf(date),
    takes: index < 2 ? ('none' as const) : ('all' as const),
  }));
  await setSchedules(db, [schedule({ pay_dates: pastDates }), schedule()]);
  await finalized(db, 'before', DECEMBER);
  const texts = ['75.00 on a check of 2025; 69.23 on a check of 2026'];
  t.match(await check(db, 'calendar-differs', runOn('2026-01-02')), { result: 'fail', texts });
  await setSchedules(db, [schedule({ pay_dates: pastDates })]);
  t.match(
    await check(db, 'calendar-differs', runOn('2026-01-02')),
    { result: 'fail', texts },
    'without a list',
  );
  await setSchedules(db, [schedule({ pay_dates: pastDates }), schedule()]);
  await finalized(db, 'first', runOn('2026-01-02'));
  t.match(await check(db, 'calendar-differs', runOn('2026-01-16')), { result: 'pass' });
});
