/** The table of overrides: amounts that people set for single deductions of open runs. */
import type { Db, Tables, Trx } from '../../database/tables.ts';
import { type Acting, type Actor, record } from '../../security/audit.ts';
import { type Fact, insertFacts, withMakers } from '../../security/facts.ts';
import type { Override } from '../records/basis.ts';

export const OVERRIDE: Fact<'run_overrides'> = {
  table: 'run_overrides',
  actions: ['run.override'],
  subject: { resource: 'run_id', employee: 'employee_id' },
  hasReason: true,
  removedBy: { row: 'run.remove-override', all: 'run.delete' },
};

/** The amounts of an override, and the regular ones that it replaces. */
export type NewOverride = Omit<Override, 'record_id'> & { reason: string };

type RunOfOverride = { runId: string; employerId: string };
type OverrideKey = Pick<Override, 'employee_id' | 'deduction_id'>;

/** An override with its reason, and the person or program that set it. */
export type MadeOverride = Override & { reason: string; created_by: Actor; created_at: string };

const COLUMNS = [
  'employee_id',
  'deduction_id',
  'member_amount',
  'employer_amount',
  'regular_member_amount',
  'regular_employer_amount',
  'record_id',
] as const satisfies readonly (keyof Tables['run_overrides'])[];

/** Returns the overrides of a run without their reasons, by employee and deduction. */
export function overridesOf(db: Db | Trx, runId: string): Promise<Override[]> {
  return ofRun(db, runId).select(COLUMNS).execute();
}

function ofRun(db: Db | Trx, runId: string) {
  return db
    .selectFrom('run_overrides')
    .where('run_id', '=', runId)
    .orderBy('employee_id')
    .orderBy('deduction_id');
}

/** Returns the overrides of a run with their reasons and makers, by employee and deduction. */
export async function madeOverrides(db: Db | Trx, runId: string): Promise<MadeOverride[]> {
  const overrides = await withMakers(ofRun(db, runId).select(COLUMNS).select('reason'));
  return overrides.map(({ made, ...override }) => ({
    ...override,
    created_by: made.by,
    created_at: made.at,
  }));
}

/** Sets an override, or replaces the override of the deduction. The caller holds the payroll lock, and the run is open. */
export async function setOverride(
  trx: Trx,
  { runId, employerId }: RunOfOverride,
  override: NewOverride,
  acting: Acting,
): Promise<MadeOverride> {
  await dropOverride(trx, runId, override);
  const { reason, ...content } = override;
  const made = { employer: employerId, details: { deduction_id: override.deduction_id }, reason };
  const [row] = await insertFacts(trx, OVERRIDE, [{ run_id: runId, ...content }], acting, made);
  const { run_id: _, ...stored } = row as Tables['run_overrides'];
  return { ...stored, created_by: acting.actor, created_at: acting.now };
}

/** Removes an override of an open run. Returns false without one. */
export async function removeOverride(
  trx: Trx,
  { runId, employerId }: RunOfOverride,
  { employee_id, deduction_id }: OverrideKey,
  acting: Acting,
): Promise<boolean> {
  if (!(await dropOverride(trx, runId, { employee_id, deduction_id }))) return false;
  const details = { deduction_id };
  const made = {
    action: 'run.remove-override',
    resource: runId,
    employer: employerId,
    employee: employee_id,
    details,
  } as const;
  await record(trx, acting, made);
  return true;
}

async function dropOverride(
  trx: Trx,
  runId: string,
  { employee_id, deduction_id }: OverrideKey,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('run_overrides')
    .where('run_id', '=', runId)
    .where('employee_id', '=', employee_id)
    .where('deduction_id', '=', deduction_id)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** Removes all overrides of an open run that is being deleted. */
export async function removeOverridesOf(trx: Trx, runId: string): Promise<void> {
  await trx.deleteFrom('run_overrides').where('run_id', '=', runId).execute();
}
