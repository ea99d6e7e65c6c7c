import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { unreadable } from '../../../src/formats/bytes.ts';
import type { RowResult, Rows } from '../../../src/formats/rows.ts';
import { readTaken, recordTaken } from '../../../src/payroll/facts/taken.ts';
import { verifyTaken } from '../../../src/payroll/facts/verify-taken.ts';
import { verifyRun, verifyRuns } from '../../../src/payroll/lifecycle/verify.ts';
import { open, scratch } from '../../database/scratch.ts';
import { refusedFor } from '../../formats/read.ts';
import { acting } from '../../support/audit.ts';
import { differencesOf } from '../../support/differences.ts';
import { onEitherEngine } from '../../support/engine.ts';
import { pastTriggers } from '../../support/past-triggers.ts';
import {
  deduct,
  employ,
  finalizedOn,
  type Given,
  hireMany,
  LATELY,
  linesOf,
  putOn,
  readyEmployer,
  rowsOf,
  setPolicy,
  storedRun,
  taken,
  voided,
} from '../../support/payroll.ts';
import { afterReads } from '../../support/reads.ts';

const test = onEitherEngine.with(readyEmployer);

const payrollChange = async (db: Db) =>
  (await db.selectFrom('payroll_head').select('revision').executeTakeFirstOrThrow()).revision;

/** Three consecutive pay dates, each the id of its run. 150.00 a month makes 69.23 or 69.24 per check. */
const [FIRST, SECOND, THIRD] = ['2026-06-05', '2026-06-19', '2026-07-03'] as const;

/** Runs take all open items, whatever their size. */
const INCLUDE = { open_items: 'include', recoup: { method: 'all' } } as const;

const takenLines = (db: Db) =>
  db.selectFrom('taken_lines').selectAll().orderBy('report').orderBy('employee_id').orderBy('line').execute();

/** Returns a run's arrears lines: deduction, amount, and the run they settle. */
async function arrearsIn(db: Db, runId: string): Promise<string[]> {
  return (await linesOf(db, runId))
    .filter((line) => line.kind === 'arrears')
    .map((line) => `${line.deduction_id} ${line.member_amount} of ${line.adjustment_for}`);
}

const problemsOf = (db: Db, runId: string, ...rows: Given[]) => refusedFor(() => taken(db, runId, ...rows));

test('a report returns what is owed, line by line', async (t, db) => {
  await finalizedOn(db, FIRST);
  const recorded = await taken(db, FIRST, { employee_id: 'emp-1', amount: '40' });
  t.match(recorded, { id: '1', lines: 1, owed: '29.23', difference_count: 1 });
  const line = { employee_id: 'emp-1', deduction_id: 'ded-1', line_of_coverage: 'medical', kind: 'regular' };
  const amounts = { adjustment_for: null, member_amount: '69.23', taken: '40.00', owed: '29.23' };
  t.strictSame(recorded.differences, [{ ...line, ...amounts }]);
});

test('a later report replaces the lines it names, and all reports stay readable', async (t, db) => {
  await setPolicy(db, INCLUDE);
  await finalizedOn(db, FIRST);
  await putOn(db, THIRD);
  t.strictSame(await readTaken(db, FIRST), []);
  await taken(db, FIRST, { employee_id: 'emp-1', amount: '40' }, { employee_id: 'emp-2', amount: '0.00' });
  await finalizedOn(db, SECOND);
  const replaced = await taken(db, FIRST, { employee_id: 'emp-2', amount: '-1.5', over: 'true' });
  t.match(replaced, { id: '2', lines: 1 });
  t.strictSame(await readTaken(db, FIRST), [
    { id: '1', recorded_at: LATELY, lines: 2 },
    { id: '2', recorded_at: LATELY, lines: 1 },
  ]);
  t.match(await takenLines(db), [
    { report: 1, employee_id: 'emp-1', line: 'regular ded-1', amount: '40.00', owed: '29.23' },
    { report: 1, employee_id: 'emp-2', line: 'regular ded-2', amount: '0.00', owed: '69.23' },
    { report: 2, employee_id: 'emp-2', line: 'regular ded-2', amount: '-1.50', owed: '70.73' },
  ]);
  t.strictSame(
    await arrearsIn(db, THIRD),
    [`ded-2 1.50 of ${FIRST}`],
    'SECOND collected 69.23 of 70.73 of ded-2, and all of ded-1',
  );
  t.match(await verifyRun(db, await storedRun(db, SECOND)), { identical: true });
});

test('a row identifies one of the two lines of a corrected taxability', async (t, db) => {
  await setPolicy(db, INCLUDE);
  await finalizedOn(db, FIRST);
  await deduct(db, 'evt-3', { taxability: 'post_tax' });
  await finalizedOn(db, SECOND);
  const of = (fields: Given) =>
    problemsOf(db, SECOND, { employee_id: 'emp-1', kind: 'adjustment', amount: '1', ...fields });
  t.strictSame(await of({}), ['lines[0]: matches several lines: add item_id or taxability']);
  t.strictSame(await of({ taxability: 'post_tax' }), []);
});

test('frozen lines that cannot be read are named, and other lines verified', async (t, db) => {
  await finalizedOn(db, FIRST);
  await taken(db, FIRST, { employee_id: 'emp-1', amount: '40' }, { employee_id: 'emp-2', amount: '0.00' });
  for (const lines of ['[', 'null', '{}', '5', '[null]', '[{}]']) {
    const isRead = lines === '[{}]';
    await pastTriggers(db, (trx) =>
      trx.updateTable('run_employees').set({ lines }).where('employee_id', '=', 'emp-1').execute(),
    );
    const named = [
      ...(await differencesOf((on) => verifyRuns(db, on))),
      ...(await differencesOf((on) => verifyTaken(db, on))),
    ];
    const found = named.map(({ table, id, field, rule }) => `${table}.${field} of ${id} ${rule}`);
    const damaged = found.filter((text) => /^run_employees\.lines of .+\/emp-1 cannot be read$/.test(text));
    t.equal(damaged.length, isRead ? 0 : 1, lines);
    t.ok(found.includes(`taken_lines.line of ${FIRST}/1/emp-1 there is no such line`), lines);
    const isNamed = found.some((text) => text.includes('emp-2'));
    t.notOk(isNamed, lines);
    const verified = verifyRun(db, await storedRun(db, FIRST));
    if (isRead) t.match(await verified, { identical: false, difference_count: 2 });
    else await t.rejects(verified, { code: 'STORED_JSON_DAMAGED' }, lines);
  }
});

test('a row identifies its line among the lines of its employee', async (t, db) => {
  await deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-1', line_of_coverage: 'dental' });
  await deduct(db, 'evt-4', { id: 'ded-4', employee_id: 'emp-1', line_of_coverage: 'dental' });
  await finalizedOn(db, FIRST);
  const of = (fields: Given) => problemsOf(db, FIRST, { employee_id: 'emp-1', amount: '1', ...fields });
  t.strictSame(await of({}), ['lines[0]: matches several lines: add deduction_id or line_of_coverage']);
  t.strictSame(await of({ line_of_coverage: 'dental' }), [
    'lines[0]: matches several lines: add deduction_id',
  ]);
  t.strictSame(await of({ line_of_coverage: 'medical' }), []);
  t.strictSame(await of({ deduction_id: 'ded-4', line_of_coverage: 'dental', kind: 'regular' }), []);
  t.strictSame(await of({ deduction_id: 'ded-4', line_of_coverage: 'medical' }), [
    'lines[0]: does not match a line of the run',
  ]);
  t.strictSame(await of({ payroll_code: 'MED' }), [
    'lines[0].payroll_code: does not match a line of the run: the lines of the employee were finalized without payroll codes. Name them by line_of_coverage',
  ]);
  t.strictSame(await of({ kind: 'arrears' }), [
    'lines[0].kind: does not match a line of the run: the lines of the employee have other values',
  ]);
});

test('a value that is none of a few is refused with the one that was probably meant', async (t, db) => {
  await finalizedOn(db, FIRST);
  const wrong = { kind: 'Adjustment', line_of_coverage: 'MED', taxability: 'Pre-Tax', over: 'yes' };
  const rows = Object.entries(wrong).map(([name, text]) => ({
    employee_id: 'emp-1',
    amount: '1',
    [name]: text,
  }));
  const meant = ['adjustment', 'medical', 'pre_tax', 'true'];
  const problems = await problemsOf(db, FIRST, ...rows);
  t.strictSame(
    problems.map((problem) => problem.replace(/must be one of [^;]*/, '')),
    Object.keys(wrong).map((name, row) => `lines[${row}].${name}: ; did you mean ${meant[row]}?`),
  );
});

test('an amount larger in size than its line, or of the other sign, needs over', async (t, db) => {
  await setPolicy(db, INCLUDE);
  await finalizedOn(db, FIRST);
  await deduct(db, 'evt-3', { member_contribution: '130.00' });
  await finalizedOn(db, SECOND);
  const of = (amount: string, fields: Given = {}) =>
    problemsOf(db, SECOND, { employee_id: 'emp-1', kind: 'adjustment', amount, ...fields });
  const rule = (amount: string) =>
    `lines[0].amount: is ${amount} for a line of -9.23. Correct it, or set over to true if payroll took it`;
  for (const amount of ['0', '-9.23', '-5']) t.strictSame(await of(amount), [], amount);
  for (const amount of ['-9.24', '0.01', '9.23']) t.strictSame(await of(amount), [rule(amount)], amount);
  for (const over of ['true', 'TRUE']) t.strictSame(await of('9.23', { over }), []);
  t.strictSame(await of('9.23', { over: 'false' }), [rule('9.23')]);
  t.strictSame(await of('-5', { over: 'yes' }), [
    'lines[0].over: must be one of true, false; did you mean true?',
  ]);
  const typed = await problemsOf(db, FIRST, { employee_id: 'emp-1', amount: '692.30' });
  t.match(typed, [/is 692\.30 for a line of 69\.23\./]);
});

test('a row with only an employee and 0.00 means that nothing was taken from the paycheck', async (t, db) => {
  await setPolicy(db, INCLUDE);
  await deduct(db, 'evt-3', { id: 'ded-3', line_of_coverage: 'dental' });
  await finalizedOn(db, FIRST);
  await deduct(db, 'evt-4', { member_contribution: '130.00' });
  await finalizedOn(db, SECOND);
  t.match(await taken(db, SECOND, { employee_id: 'emp-1', amount: '0' }), {
    ...{ lines: 2, owed: '129.23', difference_count: 2 },
  });
  const lines = (await takenLines(db)).map(({ line, amount, owed }) => [line, amount, owed]);
  t.strictSame(lines, [
    ['regular ded-1', '0.00', '60.00'],
    ['regular ded-3', '0.00', '69.23'],
  ]);
  const dental = { employee_id: 'emp-1', amount: '0.00', line_of_coverage: 'dental' };
  t.match(await taken(db, SECOND, dental), { lines: 1 }, 'a row with a line names only that one');
  t.strictSame(await problemsOf(db, SECOND, { employee_id: 'emp-1', amount: '0' }, dental), [
    'lines[1]: names the same line as an earlier row',
  ]);
  t.strictSame(await problemsOf(db, SECOND, { employee_id: 'emp-1', amount: '1.00' }), [
    'lines[0]: matches several lines: add deduction_id or line_of_coverage or kind or item_id',
  ]);
});

test('each invalid row is named, and one rejects the whole report', async (t, db) => {
  await employ(db, 'emp-3');
  await finalizedOn(db, FIRST);
  await taken(db, FIRST, { employee_id: 'emp-1', amount: '40' });
  const before = { lines: await takenLines(db), change: await payrollChange(db) };
  const amounts = ['', '1.234', '1,00', '1e3', '+1', '.5', '1.', 'NaN', '0x1', ' 1', `1${'0'.repeat(60)}`];
  const rule = 'must be an amount such as 12.34 or -5: at most 2 decimals, no other signs';
  t.strictSame(
    await problemsOf(db, FIRST, ...amounts.map((amount) => ({ employee_id: 'emp-1', amount }))),
    amounts.map((amount, index) => {
      const meant = { '+1': '1', '.5': '0.5', '1.': '1', ' 1': '1' }[amount];
      return `lines[${index}].amount: ${rule}${meant === undefined ? '' : `; did you mean ${meant}?`}`;
    }),
  );
  t.strictSame(
    await problemsOf(
      db,
      FIRST,
      { employee_id: 'emp-1', amount: '1' },
      { amount: '1' },
      { employee_id: 'emp-2' },
      { employee_id: 'emp-9', amount: '1' },
      { employee_id: 'EMP-1', amount: '1' },
      { employee_id: 'emp-3', amount: '1' },
      { employee_id: 'emp-2', amount: '1', kind: 'other' },
      { employee_id: 'emp-2', amount: '1' },
      { employee_id: 'emp-1', amount: '1', deduction_id: 'ded-1' },
    ),
    [
      'lines[1].employee_id: is required',
      'lines[2].amount: is required',
      'lines[3].employee_id: is not in the run',
      'lines[4].employee_id: is not in the run. The census has emp-1',
      'lines[5].employee_id: has no line in the run',
      'lines[6].kind: must be one of regular, adjustment, arrears',
      'lines[8]: names the same line as an earlier row',
    ],
  );
  t.strictSame(await problemsOf(db, FIRST), ['lines: must have at least 1 element']);
  const broken: RowResult[] = [
    ...rowsOf({ employee_id: 'emp-1', amount: '1' }),
    { problem: { path: 'a', rule: 'b' } },
  ];
  const record = async (rows: Rows) => recordTaken(db, await storedRun(db, FIRST), rows, acting(LATELY));
  await t.rejects(record(broken), { code: 'ROWS_REFUSED', problems: [{ path: 'a', rule: 'b' }] });
  async function* cut() {
    yield* rowsOf({ employee_id: 'emp-1', amount: '1' });
    throw unreadable('lines[1]', 'ends in the middle');
  }
  await t.rejects(record(cut()), {
    code: 'ROWS_REFUSED',
    problems: [{ path: 'lines[1]', rule: 'ends in the middle' }],
  });
  const after = { lines: await takenLines(db), change: await payrollChange(db) };
  t.strictSame(after, before, 'nothing is half-done');
});

test('a preview has what a report would have, and leaves nothing behind', async (t, db) => {
  await hireMany(db, 2);
  const stored = await finalizedOn(db, FIRST);
  const before = await payrollChange(db);
  const report = (isPreview: boolean) =>
    recordTaken(db, stored, rowsOf({ employee_id: 'emp-2', amount: '40.00' }), acting(LATELY), {
      ...{ isPreview, idempotencyKey: 'key' },
    });
  const previewed = await report(true);
  t.match(previewed, { lines: 1, owed: '29.23', differences: [{ employee_id: 'emp-2', taken: '40.00' }] });
  t.strictSame([await takenLines(db), await readTaken(db, FIRST)], [[], []]);
  t.equal(await payrollChange(db), before);
  t.strictSame(await report(false), previewed);
  t.match(await readTaken(db, FIRST), [{ id: '1', lines: 1 }]);
});

test('rows may be in any order, and duplicates are detected far apart', async (t, db) => {
  const ids = await hireMany(db, 600);
  await finalizedOn(db, FIRST);
  const rows = ids
    .map((employee_id, index) => ({ employee_id, amount: `${index}.00`, over: 'true' }))
    .reverse();
  t.match(await taken(db, FIRST, ...rows), { id: '1', lines: 600 });
  t.strictSame(await problemsOf(db, FIRST, ...rows, rows[0] as Given), [
    'lines[600]: names the same line as an earlier row',
  ]);
  const kept = await takenLines(db);
  t.equal(kept.length, 600);
  const own = kept.find((line) => line.employee_id === ids[7]);
  t.match(own, { amount: '7.00', owed: '62.23' });
});

test('a report fails if a newer one or a void comes first', async (t, db) => {
  const ids = await hireMany(db, 260);
  const stored = await finalizedOn(db, FIRST);
  /** Runs `interfere` after a part of the report is written. */
  async function* interrupted(interfere: () => Promise<unknown>): AsyncGenerator<RowResult> {
    const rows = rowsOf(...ids.map((employee_id) => ({ employee_id, amount: '1' })));
    yield* rows.slice(0, 255);
    t.equal((await takenLines(db)).filter(({ amount }) => amount === '1.00').length, 250);
    await interfere();
    yield* rows.slice(255);
  }
  const report = (interfere: () => Promise<unknown>) =>
    refusedFor(() => recordTaken(db, stored, interrupted(interfere), acting(LATELY)));
  t.strictSame(await report(() => taken(db, FIRST, { employee_id: 'emp-2', amount: '2' })), [
    'a newer report on the run was recorded in the meantime',
  ]);
  const standing = [{ report: 2, employee_id: 'emp-2' }];
  t.match(await readTaken(db, FIRST), [{ id: '2' }]);
  t.match(await takenLines(db), standing);
  t.equal((await takenLines(db)).length, 1);
  t.strictSame(await report(() => voided(db, FIRST)), ['the run was voided in the meantime']);
  t.match(await readTaken(db, FIRST), [{ id: '2' }]);
  t.equal((await takenLines(db)).length, 1);
});

test('a recorded report removes the rows of an abandoned one', async (t, db) => {
  await setPolicy(db, INCLUDE);
  await finalizedOn(db, FIRST);
  await transact(db, async (trx) => {
    const key = { run_id: FIRST, report: 1 };
    await trx
      .insertInto('taken_reports')
      .values({ ...key, recorded_at: null, line_count: 0 })
      .execute();
    const line = { employee_id: 'emp-1', line: 'regular ded-1', amount: '1.00', owed: '68.23' };
    await trx
      .insertInto('taken_lines')
      .values({ ...key, ...line })
      .execute();
  });
  await putOn(db, SECOND);
  t.strictSame(await readTaken(db, FIRST), []);
  t.strictSame(await arrearsIn(db, SECOND), [], 'it never stood');
  t.match(await taken(db, FIRST, { employee_id: 'emp-1', amount: '60' }), { id: '2' });
  t.match(await takenLines(db), [{ report: 2, amount: '60.00' }]);
  t.equal((await takenLines(db)).length, 1);
  t.strictSame(await arrearsIn(db, SECOND), [`ded-1 9.23 of ${FIRST}`]);
});

onEitherEngine('a clean-up removes nothing of a report that was recorded after it looked', async (t) => {
  const { db, url } = await scratch(t);
  await readyEmployer(t, db);
  await finalizedOn(db, FIRST);
  await taken(db, FIRST, { employee_id: 'emp-1', amount: '40' });
  const recorded_at = (to: string | null) =>
    transact(db, (trx) =>
      trx.updateTable('taken_reports').set({ recorded_at: to }).where('report', '=', 1).execute(),
    );
  await recorded_at(null);
  const other = afterReads(open(t, url), async (rows) => {
    if (JSON.stringify(rows) === '[{"report":1}]') await recorded_at(LATELY);
  });
  t.match(await taken(other, FIRST, { employee_id: 'emp-2', amount: '2' }), { id: '2' });
  t.match(await readTaken(db, FIRST), [{ id: '1' }, { id: '2' }]);
  t.match(await takenLines(db), [{ report: 1, amount: '40.00' }, { report: 2 }]);
});
