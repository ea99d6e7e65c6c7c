/** The inputs of a run's computation, as a final run keeps them for verification and for later runs. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Selectable } from 'kysely';
import Type, { type Static } from 'typebox';
import { closed, nullable } from '../../contract/fields.ts';
import { isOneOf } from '../../database/bulk.ts';
import type { Db, PayrollRunTable, Trx } from '../../database/tables.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { Calendar } from '../calculation/calendar.ts';
import { PayrollCode } from '../settings/codes.ts';
import { Schedule } from '../settings/schedules.ts';
import { Run } from './body.ts';
import { type Input, inputsOf } from './inputs.ts';

/** Amounts that a person set for one deduction of one employee. `regular_…`: without the override; null without a line. */
export const Override = closed({
  employee_id: Type.String(),
  deduction_id: Type.String(),
  member_amount: Type.String(),
  employer_amount: Type.String(),
  regular_member_amount: nullable(Type.String()),
  regular_employer_amount: nullable(Type.String()),
  record_id: Type.Integer(),
});
export type Override = Static<typeof Override>;

/** An employee who left another employer. `until`: the last pay date there; null if it is unknown. */
const Transfer = closed({
  employee_id: Type.String(),
  left_on: Type.String(),
  until: nullable(Type.String()),
});
export type Transfer = Static<typeof Transfer>;

/** The part of a basis that is stored as JSON. An earlier run is computed again from it alone. */
export const StoredBasis = closed({
  run: Run,
  /** The time zone of the dates of receipt in its explanations. */
  time_zone: Type.String(),
  /** The ledger's position. Later positions are not part of the run. */
  position: Type.Integer(),
  /** The pay dates of the year with their shares; null without a list. */
  calendar: nullable(Calendar),
  /** The employer's pay schedules in the year or, without any, in the last earlier year that has some. */
  schedules: Type.Array(closed(Type.Pick(Schedule, ['pay_frequency', 'pay_group']).properties)),
  transfers: Type.Array(Transfer),
  codes: Type.Array(PayrollCode),
  /** The number of the newest decision on open items, and the place of the newest opening item. */
  decisions: Type.Integer(),
  opening_items: Type.Integer(),
  /** By employee and deduction. */
  overrides: Type.Array(Override),
});
export type StoredBasis = Static<typeof StoredBasis>;

/** The inputs of a run's computation. */
export type Basis = StoredBasis & {
  /** The previous finalized regular run, which changes are compared with. */
  previous: string | null;
  /** The earlier runs whose differences and arrears this run collects, with their reports of amounts taken. */
  earlier: Input[];
};

/** Reports whether two bases differ at most by the ledger's position. */
export function isSameBasis(basis: Basis, other: Basis): boolean {
  return isDeepStrictEqual({ ...other, position: basis.position }, basis);
}

type Stored = Pick<Selectable<PayrollRunTable>, 'run_id' | 'basis'>;

const readBasis = jsonColumn('payroll_runs', 'basis', StoredBasis);

export function storedBasisOf({ run_id, basis }: Stored): StoredBasis {
  return readBasis(basis, run_id);
}

/** Returns the complete basis of a finalized or voided run. */
export async function frozenBasisOf(
  db: Db,
  stored: Stored & Pick<Selectable<PayrollRunTable>, 'freeze_id' | 'previous_run_id'>,
): Promise<Basis> {
  return {
    ...storedBasisOf(stored),
    previous: stored.previous_run_id,
    earlier: await inputsOf(db, stored.freeze_id as string),
  };
}

/** Returns the freezes and stored bases of finalized and voided runs, by run. */
export async function basesOf(
  db: Db | Trx,
  runIds: readonly string[],
): Promise<
  Map<string, { freezeId: string; basis: StoredBasis; finalizedAt: string; voidedAt: string | null }>
> {
  if (runIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('payroll_runs')
    .select(['run_id', 'freeze_id', 'basis', 'finalized_at', 'voided_at'])
    .where(isOneOf(db, 'run_id', runIds))
    .where('state', '<>', 'open')
    .execute();
  return new Map(
    rows.map((row) => [
      row.run_id,
      {
        freezeId: row.freeze_id as string,
        basis: storedBasisOf(row),
        finalizedAt: row.finalized_at as string,
        voidedAt: row.voided_at,
      },
    ]),
  );
}

/** Returns the columns in which a final run keeps its basis, apart from its inputs. */
export function columnsOfBasis(basis: Basis) {
  const { previous, earlier: _, ...stored } = basis;
  return { previous_run_id: previous, basis: JSON.stringify(stored), basis_hash: hashOfBasis(basis) };
}

/** Returns the SHA-256 of a basis. */
export function hashOfBasis(basis: Basis): string {
  return hashOf(JSON.stringify(basis));
}

/** Returns the SHA-256 of a text, as stored with runs. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
