/** Opens the regular run of a pay date: the run that exists, or a new one with the dates of the pay schedule. */
import { createHash } from 'node:crypto';
import type { PayFrequency } from '../../contract/employee.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import type { Acting } from '../../security/audit.ts';
import { nearestDates } from '../calculation/pay-dates.ts';
import { runRefused } from '../compute/calendar.ts';
import { beginComputation } from '../compute/computation.ts';
import { type RequestedRun, RUN_ID_MAX, runOf } from '../records/body.ts';
import { findRun, isOfAnotherEmployer, putRun, regularRunOn, type StoredRun } from '../records/runs.ts';
import { lockPayroll } from '../settings/lock.ts';
import { acrossYears, readSchedules } from '../settings/schedules.ts';

/** A payroll: what one pay schedule pays on one date. */
export type Payroll = {
  readonly employer_id: string;
  readonly pay_frequency: PayFrequency;
  readonly pay_group: string | null;
  readonly pay_date: string;
};

type Opened = { outcome: 'found' | 'created'; stored: StoredRun };

/**
 * Returns the finalized or open regular run of a payroll, whatever its id, or creates one. Of callers at the same time one
 * creates the run, and the others get it. Throws RUN_REFUSED, also for a date that is not in the pay schedule.
 */
export async function openOnPayDate(db: Db, payroll: Payroll, acting: Acting): Promise<Opened> {
  const known = await runOfPayroll(db, payroll);
  if (known !== null) return { outcome: 'found', stored: known };
  const run = await scheduledRun(db, payroll);
  // Names what makes the run impossible, such as a year without pay dates, before anything is stored.
  await beginComputation(db, null, run);
  return transact(db, async (trx): Promise<Opened> => {
    await lockPayroll(trx);
    const winner = await runOfPayroll(trx, payroll);
    if (winner !== null) return { outcome: 'found', stored: winner };
    const runId = await freeId(trx, payroll);
    await putRun(trx, runId, run, acting);
    return { outcome: 'created', stored: (await findRun(trx, runId)) as StoredRun };
  });
}

async function runOfPayroll(db: Db | Trx, payroll: Payroll): Promise<StoredRun | null> {
  return (await regularRunOn(db, payroll, 'finalized')) ?? (await regularRunOn(db, payroll, 'open'));
}

/** Returns the run of a payroll with the pay period of its schedule. Throws RUN_REFUSED. */
export async function scheduledRun(db: Db, payroll: Payroll): Promise<RequestedRun> {
  const { employer_id, pay_frequency, pay_group, pay_date } = payroll;
  const schedules = acrossYears(await readSchedules(db, employer_id));
  const schedule = schedules.find(
    (candidate) => candidate.pay_frequency === pay_frequency && candidate.pay_group === pay_group,
  );
  if (schedule === undefined) {
    const rule = `must have a pay schedule: employer ${employer_id} has none for this frequency and pay group`;
    throw runRefused({ path: 'pay_frequency', rule });
  }
  const dates = schedule.pay_dates.find((date) => date.pay_date === pay_date);
  if (dates === undefined) {
    const listed = schedule.pay_dates.map((date) => date.pay_date);
    const rule = `must be a date of the pay schedule, such as ${nearestDates(listed, pay_date).join(' or ')}`;
    throw runRefused({ path: 'pay_date', rule });
  }
  const { period_start, period_end } = dates;
  return runOf({
    ...{ employer_id, pay_frequency, pay_date, period_start, period_end },
    ...(pay_group !== null && { pay_group }),
  });
}

/** Characters of a hash that tells two payrolls with the same readable id apart. */
const HASH_CHARACTERS = 8;

/**
 * Returns an unused id such as `acme-biweekly-2026-07-17`. It has a hash if another payroll could have the same text, and
 * a number from 2 on after a void.
 */
async function freeId(trx: Trx, payroll: Payroll): Promise<string> {
  const { employer_id, pay_frequency, pay_group, pay_date } = payroll;
  const name = [employer_id, pay_frequency, pay_group].filter((part) => part !== null).join('-');
  const readable = name.replace(/[^A-Za-z0-9._-]+/g, '-');
  const key = JSON.stringify([employer_id, pay_frequency, pay_group]);
  const hash = createHash('sha256').update(key).digest('hex').slice(0, HASH_CHARACTERS);
  // Leaves space for a number after it.
  const cut = readable.slice(0, RUN_ID_MAX - `-${hash}-${pay_date}-999`.length);
  const hashed = `${cut}-${hash}-${pay_date}`;
  const plain = `${name}-${pay_date}`;
  const first = await findRun(trx, plain);
  const isOfPayroll =
    first === null ||
    (first.employer_id === employer_id &&
      first.pay_frequency === pay_frequency &&
      first.pay_group === pay_group);
  const base = cut === name && isOfPayroll ? plain : hashed;
  for (let number = 1; ; number += 1) {
    const runId = number === 1 ? base : `${base}-${number}`;
    const isTaken =
      (await findRun(trx, runId)) !== null || (await isOfAnotherEmployer(trx, runId, employer_id));
    if (!isTaken) return runId;
  }
}
