import { readFileSync } from 'node:fs';
import type { CheckResult, Question } from '../../../src/checks.ts';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { dismissEvent } from '../../../src/inbox/events.ts';
import { pauseSending } from '../../../src/outbox/circuit-breaker.ts';
import { employerSubject, enqueue } from '../../../src/outbox/queue.ts';
import type { RunBody, StatedRun } from '../../../src/payroll/records/body.ts';
import { putRun } from '../../../src/payroll/records/runs.ts';
import { LEDGER_CHECKS, readReadiness } from '../../../src/readiness/report.ts';
import { RUN_CHECKS, readinessOfRun } from '../../../src/readiness/run-report.ts';
import { deductionOf, deliver, receive } from '../../api/deliver.ts';
import { owe } from '../../outbox/parts.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  BIWEEKLY,
  deduct,
  employ,
  finalize,
  LATELY,
  NOW,
  QUESTION,
  readyEmployer,
  runOn,
  schedule,
  setCode,
  setSchedules,
  sync,
} from '../../support/payroll.ts';

const RUN = runOn('2026-07-17');

const report = (db: Db, run: StatedRun = RUN, question: Question = QUESTION) =>
  readinessOfRun(db, run, null, question);

async function check(
  db: Db,
  id: string,
  run: StatedRun = RUN,
  question: Question = QUESTION,
): Promise<CheckResult> {
  const { checks } = await report(db, run, question);
  return checks.find((one) => one.id === id) as CheckResult;
}

/** The same question some days later. */
const later = (days: number): Question => ({ ...QUESTION, now: new Date(NOW.getTime() + days * 86_400_000) });

async function finalized(db: Db, runId: string, run: StatedRun): Promise<void> {
  await transact(db, (trx) => putRun(trx, runId, run, LATELY));
  const { outcome } = await finalize(db, runId);
  if (outcome !== 'finalized') throw new Error(outcome);
}

function reject(db: Db, requestId: string): Promise<unknown> {
  const rejected = { state: 'rejected', is_next: 0, status: 422, finished_at: LATELY } as const;
  return transact(db, (trx) =>
    trx.updateTable('outbox').set(rejected).where('request_id', '=', requestId).execute(),
  );
}

/** A dental election from July, moved to August on June 20 with these changes. */
async function movedStart(db: Db, changes: object): Promise<void> {
  const election = { id: 'ded-3', employee_id: 'emp-1', line_of_coverage: 'vision' };
  await deduct(db, 'evt-3', { ...election, effective_start: '2026-07-01' }, '2026-06-01T00:00:00Z');
  const moved = { ...election, ...changes, effective_start: '2026-08-01' };
  await deduct(db, 'evt-4', moved, '2026-06-20T00:00:00Z');
}

/** For each check, how to break a ready run and the expected finding. */
type Spoilt = {
  spoil?: (db: Db) => Promise<unknown>;
  run?: StatedRun;
  question?: Question;
  result: 'warn' | 'fail';
  examples: string[];
};

const LAST_DAY = { pay_date: '2026-12-31', period_start: '2026-12-14', period_end: '2026-12-26' };

const SPOILT: Record<string, Spoilt> = {
  'data-loss': {
    spoil: (db) =>
      transact(db, (trx) =>
        trx
          .insertInto('data_losses')
          .values({
            found_at: LATELY,
            position: 2,
            seq: 1,
            received_at: LATELY,
            saved_position: 3,
            saved_seq: 2,
            saved_received_at: null,
            accepted_at: null,
            accepted_reason: null,
          })
          .execute(),
      ),
    result: 'fail',
    examples: [
      `replay the events from 2026-07-09T05:00:00.000Z onward: found at ${LATELY} that the database lacks 1 event and their effects`,
    ],
  },
  'events-pending': {
    spoil: (db) => receive(db, [deductionOf('evt-3', {})], LATELY),
    result: 'fail',
    examples: ['evt-3'],
  },
  'events-quarantined': {
    spoil: (db) => deduct(db, 'evt-3', { period: 'daily' }),
    result: 'fail',
    examples: ['evt-3: emp-1, medical'],
  },
  'events-in-conflict': {
    spoil: (db) => deduct(db, 'evt-1', { member_contribution: '1' }),
    result: 'fail',
    examples: ['evt-1'],
  },
  'ties-changed-content': {
    spoil: (db) => deduct(db, 'evt-3', { member_contribution: '1' }),
    result: 'fail',
    examples: ['evt-3'],
  },
  'events-future-dated': {
    spoil: (db) => deduct(db, 'evt-3', {}, '2027-01-01T00:00:00Z'),
    result: 'fail',
    examples: ['evt-3'],
  },
  'events-stale': {
    question: { ...QUESTION, silentAfterMs: 2 * 86_400_000 },
    result: 'warn',
    examples: ['the last event arrived 3 days ago, at 2026-07-10T09:00:00.000Z'],
  },
  'signatures-refused': {
    spoil: (db) =>
      transact(db, (trx) =>
        trx
          .insertInto('refused_signatures')
          .values({ minute: '2026-07-13T08:00Z', cause: 'signature', refused_count: 1 })
          .execute(),
      ),
    result: 'warn',
    examples: ['1 delivery without a valid signature'],
  },
  'circuit-breaker-paused': {
    spoil: (db) =>
      transact(db, (trx) =>
        trx
          .updateTable('circuit_breaker')
          .set({ state: 'paused', reason: 'status 401', paused_at: LATELY, next_probe_at: LATELY })
          .execute(),
      ),
    result: 'fail',
    examples: [`status 401 (since ${LATELY})`],
  },
  'sending-stalled': {
    spoil: (db) => owe(db, 'req-1', 'emp-9', 'termination', new Date('2026-07-13T08:59:15.000Z')),
    result: 'warn',
    examples: ['termination req-1: due since 2026-07-13T08:59:15.000Z'],
  },
  'requests-rejected': {
    spoil: async (db) => {
      await owe(db, 'req-1', 'emp-1', 'termination', NOW);
      await reject(db, 'req-1');
    },
    result: 'fail',
    examples: ['termination req-1: status 422'],
  },
  'requests-stuck': {
    spoil: (db) => owe(db, 'req-1', 'emp-1', 'termination', new Date('2026-07-13T07:00:00.000Z')),
    result: 'warn',
    examples: ['termination req-1: since 2026-07-13T07:00:00.000Z'],
  },
  'census-syncs': {
    spoil: (db) => sync(db, { state: 'waiting' }),
    result: 'fail',
    examples: [`acme: waiting, requested ${LATELY}`],
  },
  'deductions-unmatched': {
    spoil: (db) => deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-9' }),
    result: 'warn',
    examples: ['1 of no known employer'],
  },
  'events-unattributed': {
    spoil: (db) => deduct(db, 'evt-3', { period: 'daily', employee_id: 'emp-9' }),
    result: 'warn',
    examples: ['1 event'],
  },
  'employer-unknown': { run: { ...RUN, employer_id: 'nobody' }, result: 'warn', examples: ['nobody'] },
  'employees-with-two-employers': {
    spoil: (db) => employ(db, 'emp-2', { employer_id: 'globex' }),
    result: 'fail',
    examples: ['emp-2'],
  },
  'census-completed': {
    spoil: (db) => transact(db, (trx) => trx.deleteFrom('census_syncs').execute()),
    result: 'fail',
    examples: ['acme: never'],
  },
  'ledger-empty': {
    spoil: (db) => employ(db, 'emp-7', { employer_id: 'globex' }),
    run: { ...RUN, employer_id: 'globex' },
    result: 'fail',
    examples: ['globex'],
  },
  'employees-without-frequency': {
    spoil: async (db) => {
      await employ(db, 'emp-3', { pay_frequency: null });
      await setSchedules(db, [schedule(), schedule({ pay_group: 'b' })]);
    },
    result: 'fail',
    examples: ['emp-3'],
  },
  'employees-without-pay-group': {
    spoil: async (db) => {
      await employ(db, 'emp-1', { pay_group: 'a' });
      await employ(db, 'emp-2', { pay_group: null });
    },
    run: { ...RUN, pay_group: 'a' },
    result: 'warn',
    examples: ['emp-2'],
  },
  overlap: {
    spoil: (db) => deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-1' }),
    result: 'fail',
    examples: ['emp-1'],
  },
  'periods-overlap': {
    spoil: (db) => finalized(db, 'before', { ...runOn('2026-07-03'), period_end: '2026-06-29' }),
    result: 'fail',
    examples: ['before: 2026-06-15 to 2026-06-29'],
  },
  'employees-not-scheduled': {
    // A deduction of zero is in effect too.
    spoil: async (db) => {
      await employ(db, 'emp-2', { pay_frequency: 'monthly' });
      const zero = { member_contribution: '0.00', employer_contribution: '0' };
      await deduct(db, 'evt-3', { id: 'ded-2', employee_id: 'emp-2', ...zero }, '2026-06-01T00:00:00Z');
    },
    result: 'fail',
    examples: ['emp-2'],
  },
  'population-narrowed': {
    run: { ...RUN, employee_ids: ['emp-1'] },
    result: 'warn',
    examples: ['1 employee'],
  },
  'start-moved': {
    spoil: (db) => movedStart(db, { member_contribution: '99.00' }),
    result: 'fail',
    examples: ['emp-1: deduction ded-3, version 1 of 2026-07-01 or 2 of 2026-08-01'],
  },
  'start-corrected': { spoil: (db) => movedStart(db, {}), result: 'warn', examples: ['emp-1'] },
  'missed-checks': {
    spoil: async (db) => {
      await finalized(db, 'first', runOn('2026-07-03', { employee_ids: ['emp-1'] }));
    },
    result: 'warn',
    examples: ['emp-2'],
  },
  'retro-pre-tax': {
    spoil: async (db) => {
      await finalized(db, 'first', runOn('2026-07-03'));
      await deduct(db, 'evt-3', { member_contribution: '200.00' }, '2026-07-05T00:00:00Z');
    },
    result: 'warn',
    examples: ['emp-1'],
  },
  'negative-total': {
    spoil: (db) => deduct(db, 'evt-3', { member_contribution: '-26.00' }, '2026-07-05T00:00:00Z'),
    result: 'fail',
    examples: ['emp-1: -12.00'],
  },
  'coverage-beyond-last-check': {
    spoil: async (db) => {
      await employ(db, 'emp-2', { termination_date: '2026-07-01' });
      await deduct(
        db,
        'evt-3',
        { id: 'ded-2', employee_id: 'emp-2', line_of_coverage: 'dental', effective_end: '2026-07-31' },
        '2026-07-05T00:00:00Z',
      );
    },
    result: 'warn',
    examples: ['emp-2'],
  },
  'termination-contradicted': {
    spoil: async (db) => {
      await employ(db, 'emp-2', { termination_date: '2026-07-01' });
      await employ(db, 'emp-2');
    },
    result: 'warn',
    examples: ['emp-2'],
  },
  'codes-missing': {
    spoil: (db) => setCode(db, 'medical'),
    result: 'fail',
    examples: ['dental pre_tax employee'],
  },
  'calendar-assumed': {
    spoil: (db) => setSchedules(db, []),
    result: 'warn',
    examples: ['26 biweekly pay dates, stepped from 2026-07-17'],
  },
  'calendar-differs': {
    spoil: async (db) => {
      await finalized(db, 'before', runOn('2026-07-03'));
      await setSchedules(db, [schedule({ pay_dates: [...BIWEEKLY, LAST_DAY] })]);
    },
    result: 'fail',
    examples: ['before was check 14 of 26; today it is check 14 of 27'],
  },
  'policy-differs': {
    spoil: (db) => finalized(db, 'before', runOn('2026-07-03', { remainder: 'none' })),
    result: 'warn',
    examples: ['remainder last; before has none'],
  },
  'pay-date-skipped': {
    spoil: (db) => finalized(db, 'before', runOn('2026-06-19')),
    result: 'fail',
    examples: ['2026-07-03'],
  },
  'period-differs-from-schedule': {
    run: { ...RUN, period_end: '2026-07-11' },
    result: 'warn',
    examples: ['2026-07-17 pays 2026-06-29 to 2026-07-12'],
  },
  'open-after-termination': {
    spoil: (db) => employ(db, 'emp-2', { termination_date: '2026-07-01' }),
    result: 'warn',
    examples: ['emp-2'],
  },
  clock: {
    question: { ...QUESTION, clockWarning: "2 hours ahead of the database's clock" },
    result: 'warn',
    examples: ["2 hours ahead of the database's clock"],
  },
  'absent-from-census': {
    spoil: (db) => employ(db, 'emp-2', { absent: 1 }),
    result: 'warn',
    examples: ['emp-2'],
  },
  'frequency-mismatch': {
    spoil: (db) => deduct(db, 'evt-3', { period: 'weekly' }, '2026-02-01T00:00:00Z'),
    result: 'warn',
    examples: ['emp-1'],
  },
};

onEitherEngine('a run without problems passes every check, and each explains the result', async (t) => {
  const db = await readyEmployer(t);
  const { ready, checked_at, checks } = await report(db);
  t.strictSame(
    checks.filter((one) => one.result !== 'pass' || one.count > 0 || one.examples.length > 0),
    [],
  );
  t.equal(ready, true);
  t.equal(checked_at, NOW.toISOString());
  const texts = new Map(checks.map(({ id, advice }) => [id, advice]));
  t.strictSame(
    [...texts.keys()],
    RUN_CHECKS.map(({ id }) => id),
  );
  for (const { id, passed } of RUN_CHECKS) if (typeof passed === 'string') t.equal(texts.get(id), passed);
  t.equal(texts.get('events-stale'), 'The last event arrived 3 days ago, at 2026-07-10T09:00:00.000Z.');
});

/** Breaking it takes a small disk: test/faults/full-disk.test.ts has one. */
const ELSEWHERE: Record<string, 'fail'> = { 'disk-space': 'fail' };

onEitherEngine('every check of a run finds its problem, names it and gives advice', async (t) => {
  const spoilt = [...Object.keys(SPOILT), ...Object.keys(ELSEWHERE)];
  t.strictSame(spoilt.sort(), RUN_CHECKS.map(({ id }) => id).sort());
  for (const [id, { spoil, run, question, result, examples }] of Object.entries(SPOILT)) {
    await t.test(id, async (t) => {
      const db = await readyEmployer(t);
      await spoil?.(db);
      const { advice } = RUN_CHECKS.find((one) => one.id === id) as { advice: string };
      const found = await check(db, id, run, question);
      t.strictSame(found, { id, result, count: 1, advice: found.advice, examples, accepted: [] });
      t.ok(found.advice.startsWith(advice));
      const { ready, checks } = await report(db, run, question);
      t.equal(ready, !checks.some((one) => one.result === 'fail'));
    });
  }
});

onEitherEngine('docs/readiness-checks.md has every check with its title and severity', async (t) => {
  const page = readFileSync(new URL('../../../docs/readiness-checks.md', import.meta.url), 'utf8');
  const rows = (name: string) => {
    const table = page.split(`<!-- checks: ${name} -->`)[1]?.split('<!-- end -->')[0] ?? '';
    return [...table.matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|/gm)].map(([, ...cells]) => cells);
  };
  const ledger = LEDGER_CHECKS.map(({ id }) => id);
  const declared = [...LEDGER_CHECKS, ...RUN_CHECKS.filter(({ id }) => !ledger.includes(id))];
  const documented = [...rows('ledger'), ...rows('run')];
  t.strictSame(
    documented.map(([id, title]) => [id, title?.replaceAll('`', '')]),
    declared.map(({ id, title }) => [id, title]),
  );
  for (const [id, , result] of documented) {
    const found = SPOILT[id as string]?.result ?? ELSEWHERE[id as string];
    t.match(result, found as string, `${id} is a ${found}`);
  }
});

onEitherEngine('a warning leaves a run ready', async (t) => {
  const db = await readyEmployer(t);
  await setSchedules(db, []);
  t.equal((await report(db)).ready, true);
});

onEitherEngine('twenty findings are named, and all are counted, with each employee once', async (t) => {
  const db = await readyEmployer(t);
  const ids = Array.from({ length: 24 }, (_, index) => `emp-${index + 10}`);
  for (const id of ids) await employ(db, id, { absent: 1 });
  await deliver(
    db,
    ids.flatMap((id) =>
      ['dental', 'vision'].map((line_of_coverage) =>
        deductionOf(`${id}-${line_of_coverage}`, {
          id: `${id}-${line_of_coverage}`,
          employee_id: id,
          line_of_coverage,
        }),
      ),
    ),
    LATELY,
  );
  t.match(await check(db, 'absent-from-census'), { count: 24, examples: ids.slice(0, 20) });
});

onEitherEngine('a dismissed event no longer fails', async (t) => {
  const db = await readyEmployer(t);
  await deduct(db, 'evt-3', { period: 'daily' });
  t.equal((await report(db)).ready, false);
  await transact(db, (trx) => dismissEvent(trx, 'evt-3', 'sent again', LATELY));
  t.equal((await report(db)).ready, true);
});

onEitherEngine('events that just arrived warn', async (t) => {
  const db = await readyEmployer(t);
  await receive(db, [deductionOf('evt-3', {})], '2026-07-13T08:59:30.000Z');
  t.match(await check(db, 'events-pending'), { result: 'warn', examples: ['evt-3'] });
});

onEitherEngine('sending is stalled when requests are due and none was finished for 45 s', async (t) => {
  const db = await readyEmployer(t);
  const secondsAgo = (seconds: number) => new Date(NOW.getTime() - seconds * 1_000);
  const isStalled = async () => (await check(db, 'sending-stalled')).result !== 'pass';
  await owe(db, 'due', 'emp-1', 'demographic', secondsAgo(44));
  await owe(db, 'behind', 'emp-1', 'demographic', secondsAgo(3_600));
  t.equal(await isStalled(), false, 'a request waiting for another one of its employee is not due');
  await owe(db, 'late', 'emp-2', 'demographic', secondsAgo(46));
  t.match(await check(db, 'sending-stalled'), {
    count: 1,
    examples: [`demographic late: due since ${secondsAgo(46).toISOString()}`],
  });
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

onEitherEngine('sending is stalled when no sender takes over a claim with an expired lease', async (t) => {
  const db = await readyEmployer(t);
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

onEitherEngine('requests for employees outside the run do not count', async (t) => {
  const db = await readyEmployer(t);
  await employ(db, 'emp-8', { employer_id: 'globex' });
  for (const id of ['emp-8', 'emp-2']) {
    await owe(db, `late-${id}`, id, 'demographic', new Date('2026-07-12T08:00:00.000Z'));
    await owe(db, `bad-${id}`, id, 'demographic', NOW);
    await reject(db, `bad-${id}`);
  }
  t.match(await check(db, 'requests-rejected'), {
    count: 1,
    examples: ['demographic bad-emp-2: status 422'],
  });
  t.match(await check(db, 'requests-stuck'), {
    result: 'fail',
    count: 1,
    examples: ['demographic late-emp-2: since 2026-07-12T08:00:00.000Z'],
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

onEitherEngine('a completed census of the employer counts for a month', async (t) => {
  const db = await readyEmployer(t);
  await sync(db, { employer_id: 'globex', at: '2026-08-01T00:00:00.000Z' });
  t.match(await check(db, 'census-completed', RUN, later(28)), { result: 'pass' });
  t.match(await check(db, 'census-completed', RUN, later(29)), {
    result: 'warn',
    examples: [`acme: last on ${LATELY}`],
  });
  await sync(db, { employer_id: 'globex', state: 'waiting' });
  t.match(await check(db, 'census-syncs'), { result: 'pass' });
  await sync(db, { state: 'requested' });
  t.match(await check(db, 'census-syncs'), { examples: [`acme: overdue, requested ${LATELY}`] });
});

onEitherEngine('employees without a frequency are in the run if the employer has one schedule', async (t) => {
  const db = await readyEmployer(t);
  await employ(db, 'emp-3', { pay_frequency: null });
  t.match(await check(db, 'employees-without-frequency'), { result: 'pass' });
});

onEitherEngine('employees with two employers are determined on the period end', async (t) => {
  const db = await readyEmployer(t);
  await employ(db, 'emp-2', { employer_id: 'globex', hire_date: '2026-07-13' });
  t.match(await check(db, 'employees-with-two-employers'), { result: 'pass' });
  const next = runOn('2026-07-31');
  t.match(await check(db, 'employees-with-two-employers', next), { examples: ['emp-2'] });
});

onEitherEngine('only finalized regular runs that may pay the same employees overlap', async (t) => {
  const db = await readyEmployer(t);
  const shifted = { period_start: '2026-06-16', period_end: '2026-06-29' };
  const nextToIt = { ...runOn('2026-07-03'), pay_date: '2026-07-04' };
  await setSchedules(db, []);
  const others: [string, StatedRun][] = [
    ['other-frequency', { ...runOn('2026-07-03'), ...shifted, pay_frequency: 'weekly', pay_group: 'w' }],
    ['group-a', { ...runOn('2026-07-03'), ...shifted, pay_group: 'a' }],
    ['group-b', { ...runOn('2026-07-03'), ...shifted, pay_group: 'b' }],
    [
      'off-cycle',
      { ...runOn('2026-07-03'), ...shifted, kind: 'off_cycle', employee_ids: ['emp-1'], deductions: [] },
    ],
    ['next-to-it', nextToIt],
    ['after-it', runOn('2026-07-31')],
  ];
  for (const [id, run] of others) await finalized(db, id, run);
  await transact(db, (trx) =>
    putRun(trx, 'open', { ...runOn('2026-07-03'), ...shifted, pay_date: '2026-07-04' }, LATELY),
  );
  const found = async (run: StatedRun) => (await check(db, 'periods-overlap', run)).examples;
  t.strictSame(await found(RUN), ['group-a: 2026-06-16 to 2026-06-29', 'group-b: 2026-06-16 to 2026-06-29']);
  t.strictSame(await found({ ...RUN, pay_group: 'a' }), ['group-a: 2026-06-16 to 2026-06-29']);
  t.strictSame(await found({ ...RUN, kind: 'off_cycle', employee_ids: ['emp-1'] }), []);
  const itself = await readinessOfRun(db, nextToIt, 'next-to-it', QUESTION);
  t.strictSame(
    itself.checks.find(({ id }) => id === 'periods-overlap')?.examples,
    ['group-a: 2026-06-16 to 2026-06-29', 'group-b: 2026-06-16 to 2026-06-29'],
    'a run does not overlap itself',
  );
  const ofGroup = runOn('2026-07-31', { pay_group: 'c' });
  t.strictSame(await found(ofGroup), ['after-it: 2026-07-13 to 2026-07-26'], 'a run for all groups');
});

onEitherEngine('an off-cycle run may have any period', async (t) => {
  const db = await readyEmployer(t);
  const offCycle = { kind: 'off_cycle' as const, employee_ids: ['emp-1'], period_end: '2026-07-11' };
  t.match(await check(db, 'period-differs-from-schedule', { ...RUN, ...offCycle }), { result: 'pass' });
});

onEitherEngine('codes are required for amounts other than zero', async (t) => {
  const db = await readyEmployer(t);
  await setCode(db, 'medical', 'employer');
  t.match(await check(db, 'codes-missing'), {
    count: 3,
    examples: ['dental pre_tax employee', 'dental pre_tax employer', 'medical pre_tax employee'],
  });
  for (const [event, id, employee_id] of [
    ['evt-3', 'ded-1', 'emp-1'],
    ['evt-4', 'ded-2', 'emp-2'],
  ] as const) {
    const nothing = { member_contribution: '0.00', employer_contribution: '5' };
    const line_of_coverage = id === 'ded-1' ? 'medical' : 'dental';
    await deduct(db, event, { id, employee_id, line_of_coverage, ...nothing }, '2026-02-01T00:00:00Z');
  }
  t.match(await check(db, 'codes-missing'), { count: 1, examples: ['dental pre_tax employer'] });
});

onEitherEngine('a deduction that ended needs no code', async (t) => {
  const db = await readyEmployer(t);
  await finalized(db, 'before', runOn('2026-07-03'));
  await deduct(
    db,
    'evt-3',
    { id: 'ded-2', employee_id: 'emp-2', line_of_coverage: 'dental', effective_end: '2026-07-01' },
    '2026-02-01T00:00:00Z',
  );
  await setCode(db, 'medical');
  t.match(await check(db, 'codes-missing'), { result: 'pass' });
});

onEitherEngine('a run of the group, or one without a group, covers a pay date', async (t) => {
  const db = await readyEmployer(t);
  const skipped = async (fields: Partial<RunBody>) =>
    (await check(db, 'pay-date-skipped', runOn('2026-07-31', fields))).examples;
  await finalized(db, 'june-5', runOn('2026-06-05'));
  await finalized(db, 'june-19', runOn('2026-06-19', { pay_group: 'a' }));
  t.strictSame(await skipped({ pay_group: 'a' }), ['2026-07-03', '2026-07-17']);
  t.strictSame(await skipped({ pay_group: 'b' }), ['2026-06-19', '2026-07-03', '2026-07-17']);
  t.strictSame(await skipped({}), ['2026-06-19', '2026-07-03', '2026-07-17']);
  await setSchedules(db, []);
  t.strictSame(await skipped({}), [], 'an assumed calendar has no skipped dates');
});

onEitherEngine('a stepped calendar shifted by a holiday differs from the frozen one', async (t) => {
  const db = await readyEmployer(t);
  await setSchedules(db, []);
  await finalized(db, 'before', runOn('2026-07-03'));
  const run = { ...RUN, pay_date: '2026-07-16' };
  t.match(await check(db, 'calendar-differs', run), {
    result: 'fail',
    examples: ['before was check 14 of 26; 2026-07-03 is not a pay date today'],
  });
  t.match(await check(db, 'calendar-differs'), { result: 'pass' });
  const nextYear = runOn('2026-07-17');
  t.match(await check(db, 'calendar-differs', { ...nextYear, pay_date: '2027-01-15' }), { result: 'pass' });
});

onEitherEngine('events of one employer never fail the payroll of another', async (t) => {
  const db = await readyEmployer(t);
  await employ(db, 'other-1', { employer_id: 'globex' });
  const others = { employee_id: 'other-1', id: 'ded-other' };
  await deduct(db, 'evt-ok', others, '2026-01-01T00:00:00Z');
  await deduct(db, 'evt-quarantined', { ...others, period: 'daily' });
  await deduct(db, 'evt-tied', { ...others, member_contribution: '1' }, '2026-01-01T00:00:00Z');
  await deduct(db, 'evt-ok', { ...others, member_contribution: '2' });
  await deduct(db, 'evt-ahead', others, '2027-01-01T00:00:00Z');
  await receive(db, [deductionOf('evt-pending', others)], LATELY);
  const failed = async (employerId?: string) =>
    (await readReadiness(db, { ...QUESTION, employerId })).checks
      .filter(({ result }) => result === 'fail')
      .map(({ id, examples }) => [id, ...examples]);
  const bad = [
    ['events-pending', 'evt-pending'],
    ['events-quarantined', 'evt-quarantined: other-1, medical'],
    ['events-in-conflict', 'evt-ok'],
    ['ties-changed-content', 'evt-tied'],
    ['events-future-dated', 'evt-ahead'],
  ];
  t.strictSame(await failed('acme'), []);
  t.equal((await report(db)).ready, true);
  t.strictSame(await failed('globex'), bad);
  t.strictSame(await failed(), bad, 'the report without an employer lists all');
});

onEitherEngine(
  'events without an employer are counted, and fail only the report without an employer',
  async (t) => {
    const db = await readyEmployer(t);
    await deduct(db, 'evt-nobody', { employee_id: 'nobody', period: 'daily' });
    await receive(db, [{ eventId: 'evt-text', body: Buffer.from('no JSON') }], LATELY);
    t.match(await check(db, 'events-unattributed'), { result: 'warn', count: 2, examples: ['2 events'] });
    t.equal((await report(db)).ready, true);
    const { checks } = await readReadiness(db, QUESTION);
    t.match(
      checks.find(({ id }) => id === 'events-quarantined'),
      { result: 'fail', examples: ['evt-nobody'] },
    );
  },
);

onEitherEngine('overlapping elections fail, except for voluntary coverage, where they warn', async (t) => {
  for (const [line_of_coverage, result] of [
    ['medical', 'fail'],
    ['dependent_care_fsa', 'fail'],
    ['short_term_disability', 'fail'],
    ['voluntary_life', 'warn'],
    ['supplemental', 'warn'],
    ['voluntary_short_term_disability', 'warn'],
  ] as const) {
    const db = await readyEmployer(t);
    for (const id of ['one', 'two'])
      await deduct(db, `evt-${id}`, { id, employee_id: 'emp-2', line_of_coverage });
    t.match(await check(db, 'overlap'), { result, count: 1, examples: ['emp-2'] }, line_of_coverage);
  }
});
