/** Readiness findings that people accepted for a run, remembered until their facts change. */
import Type from 'typebox';
import type { FindAcceptance, Finding, RememberedFinding } from '../../checks.ts';
import { insertRows } from '../../database/bulk.ts';
import type { Db, Tables, Trx } from '../../database/tables.ts';
import { StoredFinding } from '../../formats/finding.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { type Actor, type Made, makerOf, makersOf } from '../../security/audit.ts';
import { ERASED, type ReasonColumn } from '../../security/reasons.ts';
import { hashOf } from '../records/basis.ts';
import { lockPayroll } from '../settings/lock.ts';

export type AcceptanceRow = Tables['accepted_findings'];

const readIds = jsonColumn('accepted_findings', 'ids', Type.Array(Type.String()));

const readFinding = jsonColumn('accepted_findings', 'finding', StoredFinding);

/** An acceptance of some checks, for the findings of one readiness report. */
export type Acceptance = { checks: readonly string[]; reason: string };

/**
 * Returns the rows of the findings accepted with a run, in the order of `findings`, with their hash and the reason of the first.
 * The caller has locked the chain, so that an erased reason is not stored again. `next`: the records that the caller writes
 * before the rows.
 */
export async function acceptancesWith(
  trx: Trx,
  { runId, employerId }: { runId: string; employerId: string },
  findings: readonly RememberedFinding[],
  next: readonly (readonly [recordId: number, made: Made])[] = [],
): Promise<{ rows: AcceptanceRow[]; hash: string; reason: string | null }> {
  const known = await makersOf(trx, [...new Set(findings.map(({ recordId }) => recordId))]);
  const makers = new Map([...known, ...next]);
  const rows = findings.map(
    ({ checkId, employeeId, ids, finding, recordId }, ordinal): AcceptanceRow => ({
      run_id: runId,
      ordinal,
      employer_id: employerId,
      check_id: checkId,
      employee_id: employeeId,
      ids: idsText(ids),
      finding: JSON.stringify(finding),
      reason: makerOf(makers, recordId).reason ?? ERASED,
      record_id: recordId,
    }),
  );
  return { rows, hash: hashOfAcceptances(rows, firstMaker(rows, makers)), reason: rows[0]?.reason ?? null };
}

export async function insertAcceptances(trx: Trx, rows: readonly AcceptanceRow[]): Promise<void> {
  await insertRows(trx, 'accepted_findings', rows);
}

/** Returns the number of the findings that were accepted for a run while it was open. */
export async function countAcceptances(db: Db | Trx, runId: string): Promise<number> {
  const query = db.selectFrom('accepted_findings').select((eb) => eb.fn.countAll().as('count'));
  return Number((await query.where('run_id', '=', runId).executeTakeFirstOrThrow()).count);
}

/** Removes the acceptances of an open run that is deleted, or becomes final: a final run has only acceptances that still count. */
export async function removeAcceptances(trx: Trx, runId: string): Promise<void> {
  await trx.deleteFrom('accepted_findings').where('run_id', '=', runId).execute();
}

function firstMaker([first]: readonly AcceptanceRow[], makers: ReadonlyMap<number, Made>): Actor | null {
  return first === undefined ? null : (makers.get(first.record_id)?.by ?? null);
}

/**
 * Returns the SHA-256 of the acceptances of a run with the actor of the first, without their reasons, which can be erased. The
 * run keeps it with its outcome.
 */
export function hashOfAcceptances(rows: readonly AcceptanceRow[], by: Actor | null): string {
  const withoutReasons = rows.map(({ reason: _, ...row }) => row);
  const sorted = [...withoutReasons, ...(by === null ? [] : [by])].map((object) =>
    Object.entries(object).sort(),
  );
  return hashOf(JSON.stringify(sorted));
}

type RunAcceptances = { rows: AcceptanceRow[]; makers: ReadonlyMap<number, Made>; by: Actor | null };

/** Returns what was accepted with a run or before it, and by whom. `by`: of the first. */
export async function acceptancesOf(db: Db, runId: string): Promise<RunAcceptances> {
  const query = db.selectFrom('accepted_findings').selectAll().where('run_id', '=', runId);
  const rows = await query.orderBy('ordinal').execute();
  const makers = await makersOf(db, [...new Set(rows.map(({ record_id }) => record_id))]);
  return { rows, makers, by: firstMaker(rows, makers) };
}

/** A finding that was accepted with a run or before it. `ids`: the events, versions or dates that identify it. */
export type AcceptedInRun = {
  finding: Finding;
  ids: string[];
  reason: string;
  accepted_by: Actor;
  accepted_at: string;
};

/** Returns what was accepted with a run or before it, as it was then. */
export async function acceptedInRun(db: Db, runId: string): Promise<AcceptedInRun[]> {
  const { rows, makers } = await acceptancesOf(db, runId);
  return rows.map(({ run_id, finding, ids, reason, record_id }) => {
    const { by: accepted_by, at: accepted_at } = makerOf(makers, record_id);
    const found = { finding: readFinding(finding, run_id), ids: readIds(ids, run_id) };
    return { ...found, reason, accepted_by, accepted_at };
  });
}

/** Reads the findings accepted for an employer. A finding without ids is accepted for its own run only, while it is the same. */
export async function rememberedAcceptances(
  db: Db | Trx,
  employerId: string,
  runId: string | null,
): Promise<FindAcceptance> {
  const columns = ['check_id', 'employee_id', 'ids', 'reason', 'record_id'] as const;
  const ofRun = await db
    .selectFrom('accepted_findings')
    .select([...columns, 'finding'])
    .where('run_id', '=', runId ?? '')
    .where('ids', '=', idsText([]))
    .execute();
  const ofEmployer = await db
    .selectFrom('accepted_findings')
    .select(columns)
    // Each run stores the acceptances of earlier runs again.
    .distinct()
    .where('employer_id', '=', employerId)
    .where('ids', '<>', idsText([]))
    .orderBy('record_id')
    .execute();
  const known = new Map([
    ...ofEmployer.map((row) => [keyOf(row.check_id, row.employee_id, row.ids), row] as const),
    ...ofRun.map((row) => [keyOf(row.check_id, row.employee_id, row.finding), row] as const),
  ]);
  const makers = await makersOf(db, [...new Set([...known.values()].map(({ record_id }) => record_id))]);
  return ({ checkId, employeeId, ids, finding }) => {
    const row = known.get(
      keyOf(checkId, employeeId, ids.length > 0 ? idsText(ids) : JSON.stringify(finding)),
    );
    if (row === undefined) return null;
    const made = makers.get(row.record_id);
    if (made === undefined) return null;
    return { reason: row.reason, accepted_by: made.by, accepted_at: made.at, recordId: row.record_id };
  };
}

function idsText(ids: readonly string[]): string {
  return JSON.stringify(ids.toSorted());
}

/** `by`: the ids, or without ids the finding. */
function keyOf(checkId: string, employeeId: string | null, by: string): string {
  return JSON.stringify([checkId, employeeId, by]);
}

export const ACCEPTANCE_REASONS: ReasonColumn = {
  table: 'accepted_findings',
  column: 'reason',
  actions: ['run.finalize', 'run.approve', 'run.accept-findings'],
  by: { column: 'record_id', is: 'record_id' },
  // Finalizing repeats the reasons of earlier acceptances.
  lock: lockPayroll,
};
