import { transact } from '../../../src/database/transaction.ts';
import { allPages } from '../../../src/formats/cursor.ts';
import { beginComputation } from '../../../src/payroll/compute/computation.ts';
import { computedPages, linesOfRun } from '../../../src/payroll/lifecycle/line-pages.ts';
import { computeNow } from '../../../src/payroll/lifecycle/results.ts';
import { type RunBody, runOf } from '../../../src/payroll/records/body.ts';
import { deleteRun, listRuns, putRun, voidRun } from '../../../src/payroll/records/runs.ts';
import { ACTING, acting } from '../../support/audit.ts';
import { onSqlite } from '../../support/engine.ts';
import {
  body,
  elected,
  election,
  employment,
  finalize,
  finalized,
  LATELY,
  learn,
  linesOf,
  put,
  run,
  send,
  setCodes,
  storedRun,
  view,
} from '../../support/payroll.ts';

const test = onSqlite.with(elected);

test('the same run again changes nothing, with an explicit or default kind, in any order', async (t, db) => {
  const again = (given: RunBody) => {
    const asOf = acting('2026-07-01T00:00:00.000Z');
    return transact(db, (trx) => putRun(trx, 'r', runOf(given), asOf));
  };
  const different = { code: 'CONFLICT', message: /a different body/ };
  t.equal(await again(body(2, { employee_ids: ['f', 'e'] })), true);
  const stored = await storedRun(db, 'r');
  t.equal(await again(body(2, { kind: 'regular', employee_ids: ['e', 'f'] })), false);
  await t.rejects(again(body(2)), different);
  await t.rejects(again(body(2, { employee_ids: ['e', 'f'], final_checks: ['e'] })), different);
  t.strictSame(await storedRun(db, 'r'), stored);
  await finalize(db, 'r');
  t.equal(await again(body(2, { employee_ids: ['f', 'e'] })), false, 'even after it is finalized');
  await t.rejects(again(body(3)), different);
});

test('runs are listed by pay date, latest first, and a cursor continues after a page', async (t, db) => {
  for (const [runId, place, employer_id, pay_group] of [
    ['b', 2, 'acme', 'north'],
    ['a', 2, 'acme'],
    ['c', 3, 'acme'],
    ['d', 1, 'other'],
    ['e', 1, 'acme'],
  ] as const)
    await put(db, runId, body(place, { employer_id, ...(pay_group && { pay_group }) }));
  const pages = async (limit: number, filter: Parameters<typeof listRuns>[1]) => {
    const seen: string[][] = [];
    for await (const runs of allPages((cursor) => listRuns(db, filter, { cursor, limit })))
      seen.push(runs.map(({ run_id }) => run_id));
    return seen;
  };
  t.strictSame(await pages(9, {}), [['c', 'b', 'a', 'e', 'd']]);
  t.strictSame(await pages(2, {}), [['c', 'b'], ['a', 'e'], ['d']]);
  t.strictSame(
    await pages(2, { employerId: 'acme' }),
    [
      ['c', 'b'],
      ['a', 'e'],
    ],
    'no empty page at the end',
  );
  await finalize(db, 'a');
  t.strictSame(await pages(9, { state: 'finalized' }), [['a']]);
  const { finalized_at } = await storedRun(db, 'a');
  t.strictSame(await pages(9, { finalizedFrom: finalized_at as string }), [['a']]);
  t.strictSame(await pages(9, { finalizedFrom: `${finalized_at}~` }), [[]], 'later');
  t.strictSame(await pages(9, { state: 'open', employerId: 'other' }), [['d']]);
  t.strictSame(await pages(9, { employerId: 'nobody' }), [[]]);
  const { pay_date } = await storedRun(db, 'd');
  t.strictSame(await pages(1, { payDate: pay_date }), [['e'], ['d']], 'every run of one pay date');
  t.strictSame(await pages(9, { payDate: pay_date, employerId: 'other' }), [['d']]);
});

test('only an open run can be deleted, and only a finalized one can be voided', async (t, db) => {
  const remove = (runId: string) => transact(db, (trx) => deleteRun(trx, runId, ACTING));
  const take = (runId: string) =>
    transact(db, (trx) => voidRun(trx, runId, { reason: 'a mistake', ...acting(LATELY) }));
  await t.rejects(remove('r'), { code: 'NOT_FOUND' });
  await t.rejects(take('r'), { code: 'NOT_FOUND' });
  await put(db, 'r', body(2));
  await t.rejects(take('r'), { code: 'CONFLICT' });
  await finalize(db, 'r');
  await t.rejects(remove('r'), { code: 'CONFLICT' });
  await take('r');
  await t.rejects(take('r'), { code: 'CONFLICT' });
  await t.rejects(remove('r'), { code: 'CONFLICT' });
  t.match(await storedRun(db, 'r'), { state: 'voided', void_reason: 'a mistake', voided_at: LATELY });
  t.match(await linesOf(db, 'r'), [{ member_amount: '10.00' }], 'a voided run stays readable');
  await put(db, 'open', body(2));
  await remove('open');
  t.equal(await storedRun(db, 'open'), null);
});

test('an ETag changes with every line, and only then', async (t, db) => {
  await learn(db, employment('x', { employer_id: 'other' }));
  await put(db, 'r', body(3));
  const etags = [(await view(db, 'r')).etag];
  const sameAfter = async (what: string, change: Promise<unknown>) => {
    await change;
    t.equal((await view(db, 'r')).etag, etags.at(-1), what);
  };
  const changedAfter = async (what: string, change: Promise<unknown>) => {
    await change;
    const { etag } = await view(db, 'r');
    t.notOk(etags.includes(etag), what);
    etags.push(etag);
  };
  await sameAfter('nothing', Promise.resolve());
  await sameAfter(
    'an event of a second employer',
    send(db, election('2026-01-10', { employee_id: 'x' }, 'x')),
  );
  await sameAfter('an employee without lines', learn(db, employment('g')));
  await sameAfter('an employment status', learn(db, employment('e', { employment_status: 'part_time' })));
  await sameAfter('a late event', send(db, election('2025-11-01', { member_contribution: '99' })));
  await sameAfter('another run', put(db, 's', body(4)));
  await changedAfter('an amount', send(db, election('2026-01-11', { member_contribution: '11' })));
  await changedAfter(
    'a cent of the employer amount',
    send(db, election('2026-01-12', { member_contribution: '11', employer_contribution: '0.01' })),
  );
  await changedAfter(
    'a description',
    send(db, election('2026-01-13', { member_contribution: '11', description: 'Gold' })),
  );
  await changedAfter('a new line', send(db, election('2026-01-14', { employee_id: 'f' }, 'b')));
  await changedAfter('a previous run', finalized(db, 'before', body(2)));
  await changedAfter(
    'an adjustment for that run',
    send(db, election('2026-01-15', { member_contribution: '12' })),
  );
  const code = {
    line_of_coverage: 'medical',
    taxability: null,
    side: 'employee',
    code: 'M',
    treatment: null,
  } as const;
  await changedAfter('a payroll code', setCodes(db, [code]));
  await sameAfter('a code of a second employer', setCodes(db, [code], 'other'));
  await changedAfter('a termination', learn(db, employment('f', { termination_date: '2026-02-10' })));
  await sameAfter('finalizing it', finalize(db, 'r'));
  await sameAfter(
    'a later change of that employee',
    send(db, election('2026-01-16', { member_contribution: '13' })),
  );
});

test('totals cover the lines to deduct, by coverage and taxability', async (t, db) => {
  await send(
    db,
    election(
      '2025-12-01',
      { line_of_coverage: 'dental', taxability: 'post_tax', employer_contribution: '2.50' },
      'b',
    ),
    election('2025-12-01', { employee_id: 'f', member_contribution: '-3.01' }, 'c'),
  );
  await finalized(db, 'r2', body(2));
  await send(db, election('2026-01-30', { member_contribution: '12' }));
  await put(db, 'r', body(3));
  t.match((await view(db, 'r')).totals, {
    employees: 2,
    lines: 3,
    member_amount: '18.99',
    employer_amount: '2.50',
    by_line_of_coverage: [
      { line_of_coverage: 'dental', employees: 1, lines: 1, member_amount: '10.00', employer_amount: '2.50' },
      { line_of_coverage: 'medical', employees: 2, lines: 2, member_amount: '8.99', employer_amount: '0.00' },
    ],
    by_taxability: [
      { taxability: 'post_tax', lines: 1, member_amount: '10.00' },
      { taxability: 'pre_tax', lines: 2, member_amount: '8.99' },
    ],
  });
  t.strictSame((await view(db, 'r')).outcome.open_items, [
    { kind: 'adjustment', employees: 1, items: 1, member_amount: '2.00', employer_amount: '0.00' },
  ]);
});

test('a run is compared with the previous one by coverage and employee', async (t, db) => {
  await finalized(db, 'r2', body(2));
  await learn(db, employment('f', { termination_date: '2026-01-20' }), employment('g'));
  const vision = { employee_id: 'g', line_of_coverage: 'vision', effective_start: '2026-02-01' } as const;
  await send(
    db,
    election('2026-01-30', { member_contribution: '9.50', effective_start: '2026-02-01' }),
    election('2026-01-30', vision, 'b'),
  );
  await put(db, 'r', body(3));
  t.match((await view(db, 'r')).outcome.comparison, {
    previous_run_id: 'r2',
    employees: { previous: 2, current: 2, joined: 1, left: 1 },
    totals: { previous_member_amount: '10.00', member_amount: '19.50', member_difference: '9.50' },
    by_line_of_coverage: [
      { line_of_coverage: 'medical', member_difference: '-0.50' },
      { line_of_coverage: 'vision', previous_member_amount: '0.00', member_difference: '10.00' },
    ],
    largest_movers: [
      { employee_id: 'g', member_difference: '10.00' },
      { employee_id: 'e', member_difference: '-0.50' },
    ],
  });
});

test('a preview equals the run and stores nothing', async (t, db) => {
  await put(db, 'r', body(2));
  const before = await db.selectFrom('payroll_runs').selectAll().execute();
  const { summary: preview } = await computeNow(db, null, run(2));
  const kept = await view(db, 'r');
  t.equal(preview.etag, kept.etag);
  t.strictSame(preview.totals, kept.totals);
  t.strictSame(await db.selectFrom('payroll_runs').selectAll().execute(), before);
  const computation = await beginComputation(db, null, run(2, { employee_ids: ['e'] }));
  const seen: string[] = [];
  for await (const page of computedPages(db, computation))
    seen.push(...page.map(({ employeeId }) => employeeId));
  t.strictSame(seen, ['e']);
});

test('all pages of an open run are computed at the position of the first', async (t, db) => {
  await send(db, election('2025-12-01', { employee_id: 'f' }, 'b'));
  const stored = await put(db, 'r', body(2));
  const { position } = await linesOfRun(db, stored);
  await send(db, election('2026-01-10', { employee_id: 'f', member_contribution: '99' }, 'b'));
  const amounts = async (cursor: { employeeId: string; position: number } | null) => {
    const { pages } = await linesOfRun(db, stored, { from: cursor ?? undefined });
    const seen: string[] = [];
    for await (const page of pages)
      seen.push(...page.flatMap((one) => one.lines.map(({ member_amount }) => member_amount)));
    return seen;
  };
  t.strictSame(await amounts({ employeeId: 'e', position }), ['10.00']);
  t.strictSame(await amounts(null), ['10.00', '99.00']);
});
