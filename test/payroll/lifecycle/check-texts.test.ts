import type { CheckResult } from '../../../src/checks.ts';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import type { StatedRun } from '../../../src/payroll/records/body.ts';
import { readReadiness } from '../../../src/readiness/report.ts';
import { readinessOfRun } from '../../../src/readiness/run-report.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  BIWEEKLY,
  deduct,
  EMPLOYER,
  employ,
  finalize,
  LATELY,
  putOn,
  QUESTION,
  readyEmployer,
  runOn,
  schedule,
  setCodes,
  setSchedules,
  sync,
} from '../../support/payroll.ts';

const PAY_DATE = '2026-07-17';

/** Returns the texts of checks in the report of a run. */
async function textsOf(db: Db, run: StatedRun, ids: readonly string[]): Promise<Record<string, string>> {
  const { checks } = await readinessOfRun(db, run, null, QUESTION);
  return Object.fromEntries(ids.map((id) => [id, checks.find((check) => check.id === id)?.advice ?? '']));
}

async function checkOf(db: Db, id: string): Promise<CheckResult> {
  const { checks } = await readinessOfRun(db, runOn(PAY_DATE), null, QUESTION);
  return checks.find((check) => check.id === id) as CheckResult;
}

onEitherEngine('a passed check states which of its cases holds', async (t) => {
  const db = await readyEmployer(t);
  const code = { taxability: null, side: 'employee', code: 'X1', treatment: null } as const;
  await setCodes(db, [
    { line_of_coverage: 'medical', ...code },
    { line_of_coverage: 'dental', ...code },
  ]);
  const codes = 'codes-missing';
  const ofGroup = 'employees-without-pay-group';
  const year = ['calendar-assumed', 'calendar-differs', 'policy-differs', 'period-differs-from-schedule'];
  const noEarlier = 'No earlier run of the year is finalized for this pay frequency and pay group.';
  t.strictSame(await textsOf(db, runOn(PAY_DATE), [codes, ofGroup, ...year]), {
    [codes]: 'Every line has a payroll code.',
    [ofGroup]: 'The run covers all pay groups.',
    'calendar-assumed': 'The pay schedule has the pay dates of the year.',
    'calendar-differs': noEarlier,
    'policy-differs': noEarlier,
    'period-differs-from-schedule': 'The pay period matches the pay schedule.',
  });
  await setCodes(db, []);
  for (const id of ['emp-1', 'emp-2']) await employ(db, id, { pay_group: 'north' });
  await setSchedules(db, []);
  const pay_dates = BIWEEKLY.map(({ pay_date }) => pay_date);
  const stated = runOn(PAY_DATE, { pay_dates, pay_group: 'north' });
  t.strictSame(await textsOf(db, stated, [codes, ofGroup, ...year]), {
    [codes]: 'The employer has no payroll codes.',
    [ofGroup]: 'Every employee has a known pay group.',
    'calendar-assumed': 'The run states the pay dates of the year.',
    'calendar-differs': noEarlier,
    'policy-differs': noEarlier,
    'period-differs-from-schedule': 'No pay schedule has this pay date.',
  });
});

onEitherEngine('a passed comparison with the previous run names it', async (t) => {
  const db = await readyEmployer(t);
  await setSchedules(db, [schedule()]);
  await putOn(db, '2026-07-03');
  await finalize(db, '2026-07-03');
  t.strictSame(await textsOf(db, runOn(PAY_DATE), ['calendar-differs', 'policy-differs']), {
    'calendar-differs': 'The previous run of the year, 2026-07-03, has the same place among the pay dates.',
    'policy-differs': 'The previous run of the year, 2026-07-03, has the same scheme and remainder.',
  });
});

onEitherEngine('a check that does not apply to off-cycle runs states so', async (t) => {
  const db = await readyEmployer(t);
  const ids = ['population-narrowed', 'periods-overlap', 'policy-differs', 'pay-date-skipped'];
  const texts = await textsOf(db, runOn(PAY_DATE, { kind: 'off_cycle', employee_ids: ['emp-1'] }), ids);
  for (const id of ids) t.match(texts[id], /^An off-cycle run /, id);
});

onEitherEngine('the report of all employers and that of a known one differ in what passed', async (t) => {
  const db = await readyEmployer(t);
  const text = async (employerId?: string) => {
    const { checks } = await readReadiness(db, { ...QUESTION, employerId });
    return checks.find(({ id }) => id === 'employer-unknown')?.advice;
  };
  t.equal(await text(), 'The report covers all employers.');
  t.equal(await text(EMPLOYER), 'The employer is known.');
});

onEitherEngine('the advice of a census check fits the state of its syncs', async (t) => {
  const db = await readyEmployer(t);
  await transact(db, (trx) => trx.deleteFrom('census_syncs').execute());
  const completed = async () => (await checkOf(db, 'census-completed')).advice;
  const stalled = async () => (await checkOf(db, 'census-syncs')).advice;
  t.match(await completed(), /outdated employees\. Stage a census of this employer and sync it\.$/);
  await transact(db, (trx) =>
    trx
      .insertInto('staged_censuses')
      .values({
        ...{ census_id: 'c', employer_id: EMPLOYER, state: 'current', staged_at: LATELY },
        ...{ employee_count: 1, body_bytes: 1, fingerprint_key: 'k' },
      })
      .execute(),
  );
  t.match(await completed(), /A census of this employer is staged: sync it\.$/);

  await sync(db, { state: 'waiting' });
  const move = (state: 'waiting' | 'failed' | 'uploaded' | 'requested', problem_count = 0) =>
    transact(db, (trx) =>
      trx.updateTable('census_syncs').set({ state, problem_count, reason: 'x' }).execute(),
    );
  const advices = [
    ['waiting', 0, /Waiting: stage a fresh census\.$/],
    ['failed', 2, /Failed: correct the rows that the sync names/],
    ['failed', 0, /Failed: read the reason of the sync and the response of the service/],
    ['uploaded', 0, /Overdue since its upload: ask the service/],
    ['requested', 0, /Overdue before its upload: the reason of the sync/],
  ] as const;
  for (const [state, problems, advice] of advices) {
    await move(state, problems);
    t.match(await stalled(), advice);
    t.match(await stalled(), /^Resolve each sync, or dismiss one/);
    if (state === 'waiting' || state === 'failed') t.match(await completed(), advice);
  }
  t.match(await completed(), /A sync is under way/);
  await move('uploaded');
  t.match(await completed(), /A census is uploaded: wait until the service completes its sync\.$/);

  await sync(db, { state: 'waiting', at: '2026-07-11T09:00:00.000Z' });
  t.match(
    await stalled(),
    /Overdue since its upload: .* Waiting: stage a fresh census\.$/,
    'each state once',
  );
});

onEitherEngine('refused deliveries are counted in words by cause', async (t) => {
  const db = await readyEmployer(t);
  await deduct(db, 'evt-1');
  const counts = [
    { cause: 'headers', refused_count: 1 },
    { cause: 'timestamp', refused_count: 2 },
  ];
  await transact(db, (trx) =>
    trx
      .insertInto('refused_signatures')
      .values(counts.map((counted) => ({ minute: '2026-07-13T08:00Z', ...counted })))
      .execute(),
  );
  t.match(await checkOf(db, 'signatures-refused'), {
    count: 3,
    examples: [
      '1 delivery without complete signature headers',
      '2 deliveries with a time more than 5 minutes off',
    ],
  });
});
