/** Readiness findings that people accepted when finalizing a run, remembered until their facts change. */
import Type from 'typebox';
import type { AcceptableFinding, FindAcceptance } from '../../checks.ts';
import { insertRows } from '../../database/bulk.ts';
import type { Db, Tables, Trx } from '../../database/tables.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { type Actor, makersOf } from '../../security/audit.ts';
import type { ReasonColumn } from '../../security/reasons.ts';
import { hashOf } from '../records/basis.ts';

export type AcceptanceRow = Tables['accepted_findings'];

const readIds = jsonColumn('accepted_findings', 'ids', Type.Array(Type.String()));

/** Returns the events, versions or dates of an accepted finding. */
export function idsOf({ run_id, ids }: Pick<AcceptanceRow, 'run_id' | 'ids'>): string[] {
  return readIds(ids, run_id);
}

/** An acceptance of some checks, for the findings of one readiness report. */
export type Acceptance = { checks: readonly string[]; reason: string };

/** Returns the rows of the findings accepted with a run. */
export function acceptanceRows(
  { runId, employerId }: { runId: string; employerId: string },
  findings: readonly AcceptableFinding[],
  { reason }: Pick<Acceptance, 'reason'>,
  recordId: number,
): AcceptanceRow[] {
  return findings.map(({ checkId, employeeId, ids, example }, ordinal) => ({
    run_id: runId,
    ordinal,
    employer_id: employerId,
    check_id: checkId,
    employee_id: employeeId,
    ids: idsText(ids),
    example,
    reason,
    record_id: recordId,
  }));
}

export async function recordAcceptances(trx: Trx, rows: readonly AcceptanceRow[]): Promise<void> {
  await insertRows(trx, 'accepted_findings', rows);
}

/**
 * Returns the SHA-256 of the acceptances of a run with their actor, without their reason, which can be erased. The run keeps
 * it with its outcome.
 */
export function hashOfAcceptances(rows: readonly AcceptanceRow[], by: Actor | null): string {
  const withoutReasons = rows.map(({ reason: _, ...row }) => row);
  const sorted = [...withoutReasons, ...(by === null ? [] : [by])].map((object) =>
    Object.entries(object).sort(),
  );
  return hashOf(JSON.stringify(sorted));
}

/** Returns what was accepted with a run, and by whom. */
export async function acceptancesOf(
  db: Db,
  runId: string,
): Promise<{ rows: AcceptanceRow[]; by: Actor | null }> {
  const query = db.selectFrom('accepted_findings').selectAll().where('run_id', '=', runId);
  const rows = await query.orderBy('ordinal').execute();
  const recordIds = rows.map(({ record_id }) => record_id).slice(0, 1);
  const [made] = (await makersOf(db, recordIds)).values();
  return { rows, by: made?.by ?? null };
}

/** Reads the findings accepted for an employer. A finding without ids is accepted for its own run only. */
export async function rememberedAcceptances(db: Db, employerId: string): Promise<FindAcceptance> {
  const rows = await db
    .selectFrom('accepted_findings')
    .select(['check_id', 'employee_id', 'ids', 'reason', 'record_id'])
    .where('employer_id', '=', employerId)
    .where('ids', '<>', idsText([]))
    .orderBy('record_id')
    .execute();
  const known = new Map(rows.map((row) => [keyOf(row.check_id, row.employee_id, row.ids), row]));
  const makers = await makersOf(db, [...new Set(rows.map(({ record_id }) => record_id))]);
  return ({ checkId, employeeId, ids }) => {
    const row = known.get(keyOf(checkId, employeeId, idsText(ids)));
    if (row === undefined) return null;
    const made = makers.get(row.record_id);
    return made === undefined ? null : { reason: row.reason, accepted_by: made.by, accepted_at: made.at };
  };
}

function idsText(ids: readonly string[]): string {
  return JSON.stringify(ids.toSorted());
}

function keyOf(checkId: string, employeeId: string | null, ids: string): string {
  return JSON.stringify([checkId, employeeId, ids]);
}

export const ACCEPTANCE_REASONS: ReasonColumn = {
  ...{ table: 'accepted_findings', column: 'reason', actions: ['run.finalize', 'run.approve'] },
  by: { column: 'record_id', is: 'record_id' },
};
