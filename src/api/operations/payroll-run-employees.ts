import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { cursorOf, LIMIT_DEFAULT } from '../../formats/cursor.ts';
import { FLAG_NAMES } from '../../formats/flags.ts';
import { hasFacts } from '../../ledger/changed-since.ts';
import { readPosition } from '../../ledger/position.ts';
import { amountOf, type Cents } from '../../money.ts';
import { amountField } from '../../payroll/calculation/line.ts';
import { DIFFERENCE_REASONS, differenceOf, type EmployeeRow } from '../../payroll/compute/employee-rows.ts';
import { storedRun } from '../../payroll/records/runs.ts';
import { readHead } from '../../security/audit-chain.ts';
import { isChangeRecordedAfter } from '../../security/audit-list.ts';
import { operation } from '../operation.ts';
import { RunId } from '../run-schemas.ts';
import { cursor, flag, limit } from '../schemas.ts';

const Row = field.component(
  'PayrollRunEmployee',
  {
    id: field.text('The ID of the employee.'),
    lines: field.integer('The number of lines in this run.'),
    previous_member_amount: amountField('The employee’s amount in the previous run.'),
    member_amount: amountField('The employee’s amount in this run.'),
    member_difference: amountField('This run less the previous one.'),
    employer_amount: amountField('The employer amount in this run.'),
    employer_difference: amountField('This run less the previous one.'),
    reasons: Type.Array(
      field.closed({
        reason: field.oneOfDescribed(
          DIFFERENCE_REASONS,
          '`joined` and `left` the run; the `change` or `amount_change` of a line; `policy`: another payroll policy; ' +
            '`unassigned`: the employee is active with two employers, and the deduction is assigned to neither; ' +
            '`adjustment` and `arrears` of this run; `settled_before`: the adjustments and arrears of the previous run.',
        ),
        line_of_coverage: field.nullableText('The line of coverage. Null for the whole employee.'),
        deduction_id: field.nullableText('The deduction to assign to an employer. Null for other reasons.'),
        member_difference: amountField('The part of the difference.'),
      }),
      { description: 'Why the amount differs from the previous run. Empty without one.' },
    ),
  },
  'An employee of a run, compared with the previous run.',
);

const Page = field.component(
  'PayrollRunEmployeeList',
  {
    data: Type.Array(Row),
    has_more: field.boolean('Whether more rows follow this page.'),
    next_cursor: field.nullableText('Pass it as `cursor` to get the next page. Null on the last page.'),
    total: field.integer('The number of employees that match.'),
    employees: field.integer('The number of employees of the run and of the previous run.'),
    different: field.integer('The number of these whose amount differs by more than rounding.'),
    reasons: Type.Array(
      field.closed({
        reason: field.oneOf(DIFFERENCE_REASONS),
        employees: field.integer('The number of employees.'),
      }),
      { description: 'The employees by reason.' },
    ),
    flags: Type.Array(
      field.closed({ flag: field.oneOf(FLAG_NAMES), employees: field.integer('The number of employees.') }),
      { description: 'The employees by flag of a line.' },
    ),
  },
  'A page of the employees of a run.',
);

const Freshness = field.component(
  'PayrollRunFreshness',
  {
    changed: field.boolean('Whether a fact or a setting of the employer changed after `since`.'),
    state: field.text('Send it as `since` to learn of later changes.'),
  },
  'Whether what a client shows of a run may be outdated.',
);
/** The position of the ledger and the last audit record. */
const freshness = cursorOf(
  'payroll-run-freshness',
  Type.Object({ position: Type.Integer({ minimum: 0 }), record: Type.Integer({ minimum: 0 }) }),
);

const place = cursorOf('payroll-run-employees', Type.Integer({ minimum: 0 }));

export const listPayrollRunEmployees = operation({
  id: 'listPayrollRunEmployees',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/employees',
  scope: 'runs:read',
  employers: 'run',
  isForConsole: true,
  summary: 'List the employees of a payroll run',
  description:
    'Lists employees with the amounts of this run and the previous one, and why they differ, the largest difference first. ' +
    'Rows of an open run are computed from the current ledger.',
  params: RunId,
  query: field.closed({
    search: Type.Optional(
      Type.String({ minLength: 1, maxLength: 255, description: 'A part of the employee ID.' }),
    ),
    different: flag('Only employees whose amount differs by more than rounding, or does not.'),
    reason: Type.Optional(field.oneOfDescribed(DIFFERENCE_REASONS, 'Only employees with this reason.')),
    flag: Type.Optional(field.oneOfDescribed(FLAG_NAMES, 'Only employees with a line that has this flag.')),
    page: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        rule: 'must be a page number',
        description: 'The number of the page, instead of a cursor.',
      }),
    ),
    cursor,
    limit,
  }),
  response: { 200: Page },
  refuses: ['NOT_FOUND', 'RUN_REFUSED'],
  async run({ params, query }, { db, runReviews }) {
    const stored = await storedRun(db, params.run_id);
    const rows = await runReviews.employeesOf(stored);
    const { search, different, reason, flag: flagged } = query;
    const needle = search?.toLowerCase();
    const matching = rows.filter(
      (row) =>
        (needle === undefined || row.employeeId.toLowerCase().includes(needle)) &&
        (different === undefined || isDifferent(row) === different) &&
        (reason === undefined || row.reasons.some((each) => each.reason === reason)) &&
        (flagged === undefined || row.flags.includes(flagged)),
    );
    // The sort is stable, so equal differences stay in the order of ids.
    const sorted = matching.toSorted((row, other) => Number(magnitudeOf(other) - magnitudeOf(row)));
    const size = query.limit ?? LIMIT_DEFAULT;
    const from = place.decode(query.cursor) ?? ((query.page ?? 1) - 1) * size;
    const until = from + size;
    return {
      ...place.page(sorted.slice(from, until).map(viewRow), until < sorted.length ? until : null),
      total: sorted.length,
      employees: rows.length,
      different: rows.filter(isDifferent).length,
      reasons: DIFFERENCE_REASONS.map((name) => ({
        reason: name,
        employees: rows.filter((row) => row.reasons.some((each) => each.reason === name)).length,
      })).filter(({ employees }) => employees > 0),
      flags: FLAG_NAMES.map((name) => ({
        flag: name,
        employees: rows.filter(({ flags }) => flags.includes(name)).length,
      })).filter(({ employees }) => employees > 0),
    };
  },
});

export const getPayrollRunFreshness = operation({
  id: 'getPayrollRunFreshness',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/freshness',
  scope: 'runs:read',
  employers: 'run',
  isForConsole: true,
  summary: 'Check whether a payroll run may have changed',
  description:
    'Reports without computing the run whether a fact, a setting or a run of its employer changed since an earlier response. ' +
    'Changes of other employers do not count.',
  params: RunId,
  query: field.closed({
    since: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4_096, description: 'The `state` of an earlier response.' }),
    ),
  }),
  response: { 200: Freshness },
  refuses: ['NOT_FOUND'],
  async run({ params, query }, { db }) {
    const { employer_id } = await storedRun(db, params.run_id);
    const since = freshness.decode(query.since);
    const state = { position: await readPosition(db), record: (await readHead(db)).record_id };
    const changed =
      since !== undefined &&
      ((await hasFacts(db, employer_id, { after: since.position, upTo: state.position })) ||
        (await isChangeRecordedAfter(db, employer_id, since.record)));
    return { changed, state: freshness.page([], state).next_cursor as string };
  },
});

/** The last check of a year differs by the cents that the others left. */
function isDifferent({ now, before, reasons }: EmployeeRow): boolean {
  const isRounding = reasons.length > 0 && reasons.every(({ reason }) => reason === 'rounding');
  return !isRounding && (now.member !== before.member || now.employer !== before.employer);
}

function magnitudeOf(row: EmployeeRow): Cents {
  const difference = differenceOf(row);
  return difference < 0n ? -difference : difference;
}

function viewRow(row: EmployeeRow): Static<typeof Row> {
  const { employeeId, lines, before, now, reasons } = row;
  return {
    id: employeeId,
    lines,
    previous_member_amount: amountOf(before.member),
    member_amount: amountOf(now.member),
    member_difference: amountOf(now.member - before.member),
    employer_amount: amountOf(now.employer),
    employer_difference: amountOf(now.employer - before.employer),
    reasons: reasons.map(({ reason, lineOfCoverage, deductionId = null, difference }) => ({
      reason,
      line_of_coverage: lineOfCoverage,
      deduction_id: deductionId,
      member_difference: amountOf(difference),
    })),
  };
}
