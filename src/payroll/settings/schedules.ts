/** What an employer's payroll says of itself: its pay dates and its codes. Put as a whole, read as a whole. */
import type { PayFrequency } from '../../contract/employee.ts';
import type { Db, Trx } from '../../database/tables.ts';
import type { PayrollCode } from './codes.ts';
import { changePayroll } from './lock.ts';

export type PayDate = { pay_date: string; period_start: string; period_end: string };

/** The pay dates of one frequency and pay group, in order, of any years. */
export type Schedule = {
  pay_frequency: PayFrequency;
  pay_group: string | null;
  pay_dates: readonly PayDate[];
};

/** Empty when none was put. */
export async function readSchedules(db: Db | Trx, employerId: string): Promise<Schedule[]> {
  const row = await db
    .selectFrom('pay_schedules')
    .select('schedules')
    .where('employer_id', '=', employerId)
    .executeTakeFirst();
  return row === undefined ? [] : (JSON.parse(row.schedules) as Schedule[]);
}

/** Replaces them. The caller has checked them. */
export async function putSchedules(
  trx: Trx,
  employerId: string,
  schedules: readonly Schedule[],
  now: string,
): Promise<void> {
  await changePayroll(trx);
  const row = { schedules: JSON.stringify(schedules), updated_at: now };
  await trx
    .insertInto('pay_schedules')
    .values({ employer_id: employerId, ...row })
    .onConflict((conflict) => conflict.column('employer_id').doUpdateSet(row))
    .execute();
}

/** Empty when none was put. */
export async function readCodes(db: Db | Trx, employerId: string): Promise<PayrollCode[]> {
  const row = await db
    .selectFrom('payroll_codes')
    .select('codes')
    .where('employer_id', '=', employerId)
    .executeTakeFirst();
  return row === undefined ? [] : (JSON.parse(row.codes) as PayrollCode[]);
}

/** Replaces them. The caller has checked them. */
export async function putCodes(
  trx: Trx,
  employerId: string,
  codes: readonly PayrollCode[],
  now: string,
): Promise<void> {
  await changePayroll(trx);
  const row = { codes: JSON.stringify(codes), updated_at: now };
  await trx
    .insertInto('payroll_codes')
    .values({ employer_id: employerId, ...row })
    .onConflict((conflict) => conflict.column('employer_id').doUpdateSet(row))
    .execute();
}

/** Reports whether an employer has pay schedules, payroll codes or a payroll policy. */
export async function hasSettings(db: Db | Trx, employerId: string): Promise<boolean> {
  for (const table of ['pay_schedules', 'payroll_codes', 'payroll_policies'] as const) {
    const row = await db
      .selectFrom(table)
      .select('employer_id')
      .where('employer_id', '=', employerId)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}
