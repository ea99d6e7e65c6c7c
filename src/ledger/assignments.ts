/** Assignments of deductions to one of the employers of their employee. They have their own ledger positions. */
import { isOneOf } from '../database/bulk.ts';
import type { AssignmentTable, Db, Trx } from '../database/tables.ts';
import type { Acting, Actor } from '../security/audit.ts';
import { type Fact, insertFacts, withMakers } from '../security/facts.ts';
import { lockLedger, moveLedger } from './position.ts';

export const ASSIGNMENT: Fact<'deduction_assignments'> = {
  table: 'deduction_assignments',
  actions: ['deduction.assign'],
  subject: { resource: 'deduction_id' },
  hasReason: true,
};

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
  const { reason, ...content } = assignment;
  const [row] = await insertFacts(
    trx,
    ASSIGNMENT,
    [{ position, ...content, recorded_at: acting.now }],
    acting,
    { ...{ employee, employers, reason }, details: { effective_on: assignment.effective_on } },
  );
  await moveLedger(trx, position);
  return { ...(row as AssignmentTable), assigned_by: acting.actor };
}

/** Returns the assignments of some deductions, by deduction, in the order of their positions. */
export async function assignmentsOf(
  db: Db | Trx,
  deductionIds: readonly string[],
): Promise<Map<string, AssignmentTable[]>> {
  if (deductionIds.length === 0) return new Map();
  const rows = await storedAssignments(db, deductionIds).execute();
  return Map.groupBy(rows, ({ deduction_id }) => deduction_id);
}

function storedAssignments(db: Db | Trx, deductionIds: readonly string[]) {
  return db
    .selectFrom('deduction_assignments')
    .selectAll('deduction_assignments')
    .where(isOneOf(db, 'deduction_id', deductionIds))
    .orderBy('position');
}

/** Returns the assignments of a deduction with their makers, in the order of their positions. */
export async function madeAssignments(db: Db | Trx, deductionId: string): Promise<MadeAssignment[]> {
  const rows = await withMakers(storedAssignments(db, [deductionId]));
  return rows.map(({ made, ...row }) => ({ ...row, assigned_by: made.by }));
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
