/** Readiness failures that people accepted when finalizing a run, remembered until their facts change. */
import type { Failure, FindAcceptance } from '../../checks.ts';
import { insertRows } from '../../database/bulk.ts';
import type { Db, Trx } from '../../database/tables.ts';

/** An acceptance of some checks, for the failures of one readiness report. */
export type Acceptance = { checks: readonly string[]; reason: string; acceptedBy: string };

export async function recordAcceptances(
  trx: Trx,
  { runId, employerId }: { runId: string; employerId: string },
  failures: readonly Failure[],
  { reason, acceptedBy }: Acceptance,
  now: string,
): Promise<void> {
  const rows = failures.map(({ checkId, employeeId, ids }, ordinal) => ({
    run_id: runId,
    ordinal,
    employer_id: employerId,
    check_id: checkId,
    employee_id: employeeId,
    ids: idsText(ids),
    reason,
    accepted_by: acceptedBy,
    accepted_at: now,
  }));
  await insertRows(trx, 'accepted_failures', rows);
}

/** Reads what was accepted for an employer. A failure without ids is accepted for its own run only. */
export async function rememberedAcceptances(db: Db, employerId: string): Promise<FindAcceptance> {
  const rows = await db
    .selectFrom('accepted_failures')
    .select(['check_id', 'employee_id', 'ids', 'reason', 'accepted_by', 'accepted_at'])
    .where('employer_id', '=', employerId)
    .where('ids', '<>', idsText([]))
    .orderBy('accepted_at')
    .execute();
  const known = new Map(rows.map((row) => [keyOf(row.check_id, row.employee_id, row.ids), row]));
  return ({ checkId, employeeId, ids }) => {
    const row = known.get(keyOf(checkId, employeeId, idsText(ids)));
    if (row === undefined) return null;
    const { reason, accepted_by, accepted_at } = row;
    return { reason, accepted_by, accepted_at };
  };
}

function idsText(ids: readonly string[]): string {
  return JSON.stringify(ids.toSorted());
}

function keyOf(checkId: string, employeeId: string | null, ids: string): string {
  return JSON.stringify([checkId, employeeId, ids]);
}
