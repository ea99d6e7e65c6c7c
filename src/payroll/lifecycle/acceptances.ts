/** Readiness failures that people accepted when finalizing a run, remembered until their facts change. */
import type { Failure, FindAcceptance } from '../../checks.ts';
import { insertRows } from '../../database/bulk.ts';
import type { Db, Tables, Trx } from '../../database/tables.ts';
import { hashOf } from '../records/basis.ts';

type AcceptanceRow = Tables['accepted_failures'];

/** An acceptance of some checks, for the failures of one readiness report. */
export type Acceptance = { checks: readonly string[]; reason: string; acceptedBy: string };

/** Returns the rows of the failures accepted with a run. */
export function acceptanceRows(
  { runId, employerId }: { runId: string; employerId: string },
  failures: readonly Failure[],
  { reason, acceptedBy }: Acceptance,
  now: string,
): AcceptanceRow[] {
  return failures.map(({ checkId, employeeId, ids }, ordinal) => ({
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
}

export async function recordAcceptances(trx: Trx, rows: readonly AcceptanceRow[]): Promise<void> {
  await insertRows(trx, 'accepted_failures', rows);
}

/** Returns the SHA-256 of the failures accepted with a run. The run keeps it with its outcome. */
export function hashOfAcceptances(rows: readonly AcceptanceRow[]): string {
  return hashOf(JSON.stringify(rows.map((row) => Object.entries(row).sort())));
}

export async function acceptancesOf(db: Db, runId: string): Promise<AcceptanceRow[]> {
  const rows = db.selectFrom('accepted_failures').selectAll().where('run_id', '=', runId);
  return rows.orderBy('ordinal').execute();
}

/** Reads the failures accepted for an employer. A failure without ids is accepted for its own run only. */
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
