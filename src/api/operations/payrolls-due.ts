import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { isAppError } from '../../errors.ts';
import { cursorOf, LIMIT_DEFAULT } from '../../formats/cursor.ts';
import { amountField } from '../../payroll/calculation/line.ts';
import {
  DuePayroll,
  type PayrollDue,
  payrollsDue,
  RECOMPUTE_AFTER_MS,
  sortKeyOf,
} from '../../payroll/lifecycle/payrolls-due.ts';
import { findingHash } from '../../payroll/records/approvals.ts';
import {
  ComputationResult,
  computationsOf,
  readDataState,
  type StoredComputation,
  type StoredResult,
  saveComputation,
} from '../../payroll/records/computations.ts';
import { finalFigures } from '../../payroll/records/regular-runs.ts';
import { openRun, type StoredRun } from '../../payroll/records/runs.ts';
import { readinessOf } from '../../readiness/run-report.ts';
import { lastTimesOf } from '../../security/audit.ts';
import { assertKnownFilter, employersFiltered } from '../employers.ts';
import { oncePer } from '../once-per.ts';
import { operation, type Parts } from '../operation.ts';
import { RunId } from '../run-schemas.ts';
import { cursor, idFilter, limit, pageOf } from '../schemas.ts';
import { questionOf } from './readiness.ts';

const RunComputation = field.component(
  'RunComputation',
  {
    position: field.integer('The ledger position of the computation.'),
    computed_at: field.text('The time of the computation.'),
    ...ComputationResult.properties,
  },
  'The last computation of an open run, for lists. Get the run to compute it now.',
);

const PayrollDueRow = field.component(
  'PayrollDue',
  {
    id: field.text('Identifies the employer, pay frequency and pay group.'),
    ...DuePayroll.properties,
    computation: field.nullable(
      field.closed({
        ...RunComputation.properties,
        is_outdated: field.boolean('Data of the run may have changed since.'),
      }),
    ),
    final: field.nullable(
      field.closed(
        {
          employees: field.integer('The number of employees in the run.'),
          lines: field.integer('The number of lines.'),
          member_amount: amountField('What the employees pay.'),
          employer_amount: amountField('What the employer pays.'),
          member_difference: field.nullable(
            amountField('This run less the previous one. Null without a previous run.'),
          ),
          downloaded_at: field.nullableText('The time of the last recorded download of its file.'),
        },
        'The figures of a finalized run, and the last download of its file.',
      ),
    ),
  },
  'The payroll of an employer, pay frequency and pay group that is due.',
);

const dueCursor = cursorOf('payrolls-due', Type.String());

export const listPayrollsDue = operation({
  id: 'listPayrollsDue',
  method: 'GET',
  path: '/v1/payrolls-due',
  scope: 'runs:read',
  employers: 'list',
  isForConsole: true,
  summary: 'List the payrolls that are due',
  description:
    'Lists one payroll for each employer, pay frequency and pay group by pay date, with its run and the last computation ' +
    'of it. Employers that need a setup come last.',
  query: field.closed({ employer_id: idFilter('Only payrolls of this employer.'), cursor, limit }),
  response: { 200: pageOf(PayrollDueRow) },
  refuses: ['NOT_FOUND'],
  async run(call, { db, now }) {
    const { query } = call;
    const { employer_id } = query;
    await assertKnownFilter(call, { db }, employer_id);
    const after = dueCursor.decode(query.cursor) ?? '';
    const employers = employersFiltered(call, employer_id);
    const all = await payrollsDue(db, employers, now(), call.caller?.person ?? null);
    const due = all.filter((row) => sortKeyOf(row) > after);
    const page = dueCursor.cut(due, query.limit ?? LIMIT_DEFAULT, sortKeyOf);
    const finalizedRuns = page.data.flatMap(({ state, run_id }) =>
      state === 'finalized' && run_id !== null ? [run_id] : [],
    );
    const figures = await finalFigures(db, finalizedRuns);
    const downloads = await lastTimesOf(db, 'run.download', finalizedRuns);
    const data = page.data.map((row) => {
      const ofRun = figures.get(row.run_id ?? '');
      const downloaded_at = downloads.get(row.run_id) ?? null;
      return viewDue(row, ofRun === undefined ? null : { ...ofRun, downloaded_at });
    });
    return { ...page, data };
  },
});

/** Runs are computed one at a time. */
const alone = oncePer(oneAtATime);

export const computePayrollRun = operation({
  id: 'computePayrollRun',
  method: 'POST',
  path: '/v1/payroll-runs/:run_id/computation',
  scope: 'runs:read',
  employers: 'run',
  action: 'none',
  isForConsole: true,
  summary: 'Compute an open payroll run for the list of payrolls',
  description:
    'Computes an open run with its readiness and keeps the result for `GET /v1/payrolls-due`. Runs are computed one at a ' +
    'time, and each at most once a minute: a younger result is returned as it is. Finalizing computes the run again.',
  params: RunId,
  response: { 200: RunComputation },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run({ params }, parts) {
    const stored = await openRun(parts.db, params.run_id);
    return viewComputation(await alone(parts.db)(() => computed(parts, stored)));
  },
});

/** Returns the computation of a run, or the stored one if it is young. */
async function computed(parts: Parts, stored: StoredRun): Promise<StoredComputation> {
  const { db, now } = parts;
  const { run_id } = stored;
  const known = (await computationsOf(db, [run_id])).get(run_id);
  if (known !== undefined && now().getTime() - Date.parse(known.computed_at) < RECOMPUTE_AFTER_MS)
    return known;
  const data = await readDataState(db);
  const computed_at = now().toISOString();
  const computation = { ...{ run_id, ...data, computed_at }, result: await resultOf(parts, stored) };
  await saveComputation(db, computation);
  return computation;
}

async function resultOf(parts: Parts, stored: StoredRun): Promise<StoredResult> {
  const { db, runReviews } = parts;
  try {
    const { computation, summary } = await runReviews.review(stored);
    const report = await readinessOf(db, computation, summary, await questionOf(parts));
    const { totals, outcome } = summary;
    const checksWith = (result: 'fail' | 'warn') =>
      report.checks
        .filter((check) => check.result === result)
        .map(({ id, count }) => ({ check_id: id, count }));
    return {
      problem: null,
      employees: outcome.employees,
      lines: totals.lines,
      etag: summary.etag,
      member_amount: totals.member_amount,
      employer_amount: totals.employer_amount,
      member_difference: outcome.comparison?.totals.member_difference ?? null,
      open_items: outcome.open_items.reduce((sum, { items }) => sum + items, 0),
      failed: checksWith('fail'),
      failed_findings: report.failed.map(findingHash),
      warned: checksWith('warn'),
    };
  } catch (error) {
    if (!isAppError(error, 'RUN_REFUSED')) throw error;
    const [first] = error.problems;
    return {
      problem: first === undefined ? error.message : `${first.path} ${first.rule}`,
      ...{ employees: 0, lines: 0, etag: null, open_items: 0, failed: [], failed_findings: [], warned: [] },
      ...{ member_amount: null, employer_amount: null, member_difference: null },
    };
  }
}

/** Returns a function that runs work after the work before it has ended. */
function oneAtATime() {
  let last: Promise<unknown> = Promise.resolve();
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };
}

function viewComputation({
  position,
  computed_at,
  result: { failed_findings: _, ...result },
}: StoredComputation): Static<typeof RunComputation> {
  return { position, computed_at, ...result };
}

type Row = Static<typeof PayrollDueRow>;

function viewDue({ computation, ...row }: PayrollDue, final: Row['final']): Row {
  const { employer_id, pay_frequency, pay_group } = row;
  return {
    id: [employer_id, pay_frequency, pay_group].filter((part) => part !== null).join(' '),
    ...row,
    computation:
      computation === null ? null : { ...viewComputation(computation), is_outdated: computation.is_outdated },
    final,
  };
}
