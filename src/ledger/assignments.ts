/** Assignments of deductions to one of the employers of their employee. They have their own ledger positions. */
import { isOneOf } from '../database/bulk.ts';
import type { AssignmentTable, Db, Trx } from '../database/tables.ts';
import { type Acting, type Actor, forEmployers, makerOf, makersOf, recordAll } from '../security/audit.ts';
import type { ReasonColumn } from '../security/reasons.ts';
import { type Content, contentHash } from '../security/verify-contents.ts';
import { lockLedger, moveLedger } from './position.ts';

export type Assignment = Pick<AssignmentTable, 'position' | 'employer_id' | 'effective_on' | 'recorded_at'>;

/** An assignment with the person or program that made it. */
export type MadeAssignment = AssignmentTable & { assigned_by: Actor };

/** The employer, the first day and the reason of an assignment. */
export type NewAssignment = Pick<AssignmentTable, 'deduction_id' | 'employer_id' | 'effective_on' | 'reason'>;

/**
 * Returns the employer to which a deduction is assigned on a day, or null. Of the assignments that count by then, the one
 * with the greatest position applies. `assignments`: in the order of their positions.
 */
export function assignedEmployer(
  assignments: readonly Pick<Assignment, 'employer_id' | 'effective_on'>[],
  day: string,
): string | null {
  // Nearly all deductions have none.
  if (assignments.length === 0) return null;
  return assignments.findLast(({ effective_on }) => effective_on <= day)?.employer_id ?? null;
}

/** Appends an assignment at the next position of the ledger, with a record at each of the employers that it concerns. */
export async function recordAssignment(
  trx: Trx,
  assignment: NewAssignment,
  { employee, employers }: { employee: string; employers: readonly string[] },
  acting: Acting,
): Promise<MadeAssignment> {
  const position = (await lockLedger(trx)) + 1;
  const { deduction_id, employer_id, effective_on, reason } = assignment;
  const content = { position, deduction_id, employer_id, effective_on, recorded_at: acting.now };
  const details = { effective_on, content_hash: contentHash(ASSIGNMENTS_CONTENT, [content]) };
  const action = { action: 'deduction.assign', resource: deduction_id, employee, details, reason } as const;
  const [record_id] = await recordAll(trx, forEmployers({ ...acting, ...action }, employers));
  const row: AssignmentTable = { ...content, reason, record_id: record_id as number };
  await trx.insertInto('deduction_assignments').values(row).execute();
  await moveLedger(trx, position);
  return { ...row, assigned_by: acting.actor };
}

/** Returns the assignments of some deductions, by deduction, in the order of their positions. */
export async function assignmentsOf(
  db: Db | Trx,
  deductionIds: readonly string[],
): Promise<Map<string, AssignmentTable[]>> {
  if (deductionIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('deduction_assignments')
    .selectAll()
    .where(isOneOf(db, 'deduction_id', deductionIds))
    .orderBy('position')
    .execute();
  return Map.groupBy(rows, ({ deduction_id }) => deduction_id);
}

/** Returns the assignments of a deduction with their makers, in the order of their positions. */
export async function madeAssignments(db: Db | Trx, deductionId: string): Promise<MadeAssignment[]> {
  const rows = (await assignmentsOf(db, [deductionId])).get(deductionId) ?? [];
  const recordIds = rows.map(({ record_id }) => record_id);
  const makers = await makersOf(db, recordIds);
  return rows.map((row) => ({ ...row, assigned_by: makerOf(makers, row.record_id).by }));
}

/** Reports whether a deduction was assigned after a position of the ledger. */
export async function isAnyAssignedAfter(db: Db | Trx, position: number): Promise<boolean> {
  const later = db.selectFrom('deduction_assignments').select('position').where('position', '>', position);
  return (await later.limit(1).executeTakeFirst()) !== undefined;
}

/** Returns an assignment as the API and the command line show it. Its position in the ledger is its id. */
export function viewAssignment({ record_id: _, ...assignment }: MadeAssignment) {
  return { id: String(assignment.position), ...assignment };
}

export const ASSIGNMENT_REASONS: ReasonColumn = {
  ...{ table: 'deduction_assignments', column: 'reason', actions: ['deduction.assign'] },
  by: { column: 'record_id', is: 'record_id' },
};

export const ASSIGNMENTS_CONTENT: Content<'deduction_assignments'> = {
  table: 'deduction_assignments',
  key: ['position'],
  changing: ['reason'],
  actions: ['deduction.assign'],
  isRemovable: false,
};
