/** The last computation of each open run: what lists show of a run without computing it. */
import Type, { type Static } from 'typebox';
import { closed, integer, nullable, text } from '../../contract/fields.ts';
import { isOneOf } from '../../database/bulk.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { readPosition } from '../../ledger/position.ts';
import { forget } from '../../notifications/known.ts';
import { runSubject } from '../../notifications/types.ts';
import { amountField } from '../calculation/line.ts';
import { isApprovalRequired } from '../settings/approval.ts';
import { readPayrollRevision } from '../settings/lock.ts';
import { approvedLines, requestApproval } from './approvals.ts';

const Findings = Type.Array(
  closed({ check_id: text('The ID of the check.'), count: integer('The number of open findings.') }),
);

/** The result of a computation: its figures and findings, or why the run cannot be computed. */
export const ComputationResult = closed({
  problem: nullable(text('Why the run cannot be computed. Null if it was.')),
  employees: integer('The number of employees in the run.'),
  lines: integer('The number of lines.'),
  etag: nullable(text('The ETag of the lines. Null if the run cannot be computed.')),
  member_amount: nullable(amountField('What the employees pay.')),
  employer_amount: nullable(amountField('What the employer pays.')),
  member_difference: nullable(amountField('This run less the previous one. Null without a previous run.')),
  open_items: integer('The number of open items after the run.'),
  failed: { ...Findings, description: 'The failed readiness checks.' },
  warned: { ...Findings, description: 'The readiness checks that warn.' },
});

const StoredResult = closed({
  ...ComputationResult.properties,
  /** The hash of each failed finding, by which an approval covers it. */
  failed_findings: Type.Array(Type.String()),
});
export type StoredResult = Static<typeof StoredResult>;

/** The state of the data that a computation read: the ledger's position, and the revision of runs, reports and settings. */
export type DataState = { position: number; revision: number };

export async function readDataState(db: Db | Trx): Promise<DataState> {
  return { position: await readPosition(db), revision: await readPayrollRevision(db) };
}

export type StoredComputation = DataState & { run_id: string; computed_at: string; result: StoredResult };

const readResult = jsonColumn('run_computations', 'result', StoredResult);

/** Stores the computation of an open run, unless the stored one read newer data. Tells whether the run waits for an approval. */
export async function saveComputation(db: Db, computation: StoredComputation): Promise<void> {
  const { result, ...row } = computation;
  await transact(db, async (trx) => {
    const run = await trx
      .selectFrom('payroll_runs')
      .select(['run_id', 'employer_id', 'pay_date'])
      .where('state', '=', 'open')
      .where('run_id', '=', row.run_id)
      .executeTakeFirst();
    if (run === undefined) return;
    if (await waitsForApproval(trx, run, computation))
      await requestApproval(trx, run, 'finalize', row.computed_at);
    await trx
      .insertInto('run_computations')
      .values({ ...row, result: JSON.stringify(result) })
      .onConflict((conflict) =>
        conflict
          .column('run_id')
          .doUpdateSet((eb) => ({
            position: eb.ref('excluded.position'),
            revision: eb.ref('excluded.revision'),
            computed_at: eb.ref('excluded.computed_at'),
            result: eb.ref('excluded.result'),
          }))
          .where(({ eb, refTuple }) =>
            eb(
              refTuple('excluded.position', 'excluded.revision'),
              '>=',
              refTuple('run_computations.position', 'run_computations.revision'),
            ),
          ),
      )
      .execute();
  });
}

/** Reports whether all checks pass, and only the approval of the lines is missing. */
async function waitsForApproval(
  trx: Trx,
  { run_id, employer_id }: { run_id: string; employer_id: string },
  { result: { etag, failed }, computed_at }: StoredComputation,
): Promise<boolean> {
  if (etag === null || failed.length > 0 || !(await isApprovalRequired(trx, employer_id))) return false;
  const approved = (await approvedLines(trx, [run_id], computed_at)).get(run_id) ?? [];
  return !approved.some((lines) => lines.etag === etag);
}

/** Removes what is kept of a run only while it is open. */
export async function removeComputation(trx: Trx, runId: string): Promise<void> {
  await forget(trx, runSubject(runId));
  await dropComputation(trx, runId);
}

/** Removes the computation of an open run, so that lists compute it at once, however young it is. */
export async function dropComputation(trx: Trx, runId: string): Promise<void> {
  await trx.deleteFrom('run_computations').where('run_id', '=', runId).execute();
}

/** Returns the last computations of these runs by run id. */
export async function computationsOf(
  db: Db,
  runIds: readonly string[],
): Promise<Map<string, StoredComputation>> {
  if (runIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('run_computations')
    .selectAll()
    .where(isOneOf(db, 'run_id', runIds))
    .execute();
  return new Map(
    rows.map((row) => [row.run_id, { ...row, result: readResult(row.result, row.run_id) }] as const),
  );
}
