/** Overrides single amounts of an open run, removes overrides, and deletes the run with them. */
import type { Static } from 'typebox';
import { component, nullable, text } from '../../contract/fields.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { notFound, refused } from '../../errors.ts';
import { censusHas, nearIds } from '../../ledger/near-ids.ts';
import { type Viewer, visibleVersions } from '../../ledger/visibility.ts';
import { amountOf, type Cents } from '../../money.ts';
import { type Acting, Actor } from '../../security/audit.ts';
import { amountField } from '../calculation/line.ts';
import { resolveBasis } from '../compute/basis.ts';
import { computationOf } from '../compute/computation.ts';
import { readEmployees } from '../compute/employees.ts';
import { checkAmounts } from '../compute/shares.ts';
import {
  type MadeOverride,
  madeOverrides,
  type NewOverride,
  removeOverride,
  removeOverridesOf,
  setOverride,
} from '../facts/overrides.ts';
import { bodyOf, deleteRun, openRun, type StoredRun, stateOf } from '../records/runs.ts';
import { lockPayroll } from '../settings/lock.ts';
import { removeAcceptances } from './acceptances.ts';

export const PayrollRunOverride = component(
  'PayrollRunOverride',
  {
    employee_id: text('The employee.'),
    deduction_id: text('The deduction.'),
    member_amount: amountField('The amount to deduct from the paycheck.'),
    employer_amount: amountField('The employer amount for the paycheck.'),
    regular_member_amount: nullable(
      amountField('The amount without the override when it was set. Null without a line.'),
    ),
    regular_employer_amount: nullable(
      amountField('The employer amount without the override when it was set. Null without a line.'),
    ),
    reason: text('Why the amounts differ.'),
    created_at: text('The time the override was set.'),
    created_by: Actor,
  },
  'Amounts that a person set for one deduction of one paycheck.',
);
export type PayrollRunOverride = Static<typeof PayrollRunOverride>;

export function viewOverride({ record_id: _, ...override }: MadeOverride): PayrollRunOverride {
  return override;
}

/** Returns the overrides of a run, by employee and deduction. */
export async function shownOverrides(db: Db, runId: string): Promise<PayrollRunOverride[]> {
  return (await madeOverrides(db, runId)).map(viewOverride);
}

/** A deduction of an employee in a run. */
type OverriddenDeduction = { runId: string; employeeId: string; deductionId: string };

export type Overriding = { member: Cents; employer: Cents; reason: string };

type SetOverride = { outcome: 'created' | 'replaced' | 'same'; override: MadeOverride; employerId: string };

/**
 * Sets the amounts of a deduction in an open run instead of the regular ones. The same amounts with the same reason change
 * nothing. `viewer`: a limited caller, who may not bring another employer's deduction into the run. Throws NOT_FOUND, CONFLICT or
 * OVERRIDE_REFUSED, and RUN_REFUSED if the run cannot be computed.
 */
export async function overrideAmounts(
  db: Db,
  overridden: OverriddenDeduction,
  { member, employer, reason }: Overriding,
  acting: Acting,
  viewer: Viewer | null = null,
): Promise<SetOverride> {
  const { runId, employeeId, deductionId } = overridden;
  const stored = await openRun(db, runId);
  const regular = await regularAmounts(db, stored, overridden, viewer);
  const override: NewOverride = {
    employee_id: employeeId,
    deduction_id: deductionId,
    member_amount: amountOf(member),
    employer_amount: amountOf(employer),
    regular_member_amount: regular.member,
    regular_employer_amount: regular.employer,
    reason,
  };
  const employerId = stored.employer_id;
  return transact(db, async (trx): Promise<SetOverride> => {
    await lockPayroll(trx);
    await openRun(trx, runId);
    const known = (await madeOverrides(trx, runId)).find(
      ({ employee_id, deduction_id }) => employee_id === employeeId && deduction_id === deductionId,
    );
    if (known !== undefined && isSame(known, override))
      return { outcome: 'same', override: known, employerId };
    const made = await setOverride(trx, { runId, employerId }, override, acting);
    return { outcome: known === undefined ? 'created' : 'replaced', override: made, employerId };
  });
}

function isSame(known: NewOverride, override: NewOverride): boolean {
  return (Object.keys(override) as (keyof NewOverride)[]).every((field) => known[field] === override[field]);
}

/** Returns the amounts that the run takes without an override; null without a line. Throws OVERRIDE_REFUSED. */
async function regularAmounts(
  db: Db,
  stored: StoredRun,
  { employeeId, deductionId }: OverriddenDeduction,
  viewer: Viewer | null,
): Promise<{ member: string | null; employer: string | null }> {
  const basis = await resolveBasis(db, stored.run_id, bodyOf(stored));
  const computation = await computationOf(db, stored.run_id, basis, [employeeId]);
  const wrong = (path: string, rule: string) => refused('OVERRIDE_REFUSED', [{ path, rule }]);
  for await (const [employee] of readEmployees(db, computation)) {
    if (employee === undefined || !employee.membership.isIn) break;
    const history = employee.histories.find((candidate) => candidate.deductionId === deductionId);
    const regular = history && checkAmounts(computation, computation, employee, history, employee);
    const named = { deduction_id: deductionId, employee_id: employeeId };
    const isHidden = !regular && viewer !== null && (await visibleVersions(db, [named], viewer)).length === 0;
    if (history === undefined || isHidden) throw wrong('deduction_id', 'must be a deduction of the employee');
    if (!regular) return { member: null, employer: null };
    return { member: amountOf(regular.member_amount), employer: amountOf(regular.employer_amount) };
  }
  const near = await nearIds(db, [employeeId], [stored.employer_id]);
  throw wrong('employee_id', `must be an employee in the run${censusHas(near.get(employeeId))}`);
}

/** Removes an override from an open run, which then takes the regular amounts. Throws NOT_FOUND or CONFLICT. */
export function dropOverride(
  db: Db,
  { runId, employeeId, deductionId }: OverriddenDeduction,
  acting: Acting,
): Promise<void> {
  return transact(db, async (trx) => {
    await lockPayroll(trx);
    const run = await openRun(trx, runId);
    const override = { employee_id: employeeId, deduction_id: deductionId };
    const isRemoved = await removeOverride(trx, { runId, employerId: run.employer_id }, override, acting);
    if (!isRemoved) throw notFound('override of this deduction in the run');
  });
}

/** Deletes an open run with its overrides and accepted findings. Throws NOT_FOUND or CONFLICT. */
export async function deleteOpenRun(trx: Trx, runId: string, acting: Acting): Promise<void> {
  await lockPayroll(trx);
  if ((await stateOf(trx, runId)) === 'open') {
    await removeOverridesOf(trx, runId);
    await removeAcceptances(trx, runId);
  }
  await deleteRun(trx, runId, acting);
}
