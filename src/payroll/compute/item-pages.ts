/** Reads the open items of an employer as of a day, employee by employee. */
import type { Db, Trx } from '../../database/tables.ts';
import { timeZoneOf } from '../../database/time-zone.ts';
import { readPosition } from '../../ledger/position.ts';
import { lastDecision } from '../facts/decisions.ts';
import { lastOpening } from '../facts/opening-items.ts';
import { earlierRuns } from '../facts/owed.ts';
import type { Basis } from '../records/basis.ts';
import type { Run } from '../records/body.ts';
import { readCodes } from '../settings/codes.ts';
import { DEFAULTS } from '../settings/policy.ts';
import { computationOf } from './computation.ts';
import { readEmployees } from './employees.ts';
import { type Group, groupsOf } from './item-groups.ts';
import type { OpenItem } from './item-state.ts';
import { attendedRuns } from './items-in-run.ts';
import { openItems } from './open-items.ts';
import { transfersTo } from './transfers.ts';

type ItemsOfEmployee = {
  employeeId: string;
  items: OpenItem[];
  /** Returns the outstanding items, each with those that runs take or leave together with it. */
  groups: () => Group[];
};

/**
 * Yields the items of an employer's employees by what is known now, settled ones too, in the order of employee ids. `today`: the
 * day that decides what decisions count. `only`: these employees. `after`: employees with a greater id.
 */
export async function* openItemsOf(
  db: Db | Trx,
  employerId: string,
  today: string,
  { only = null, after = '' }: { only?: readonly string[] | null; after?: string } = {},
): AsyncGenerator<ItemsOfEmployee[]> {
  const computation = await computationOf(db, null, await basisOn(db, employerId, today), only);
  for await (const page of readEmployees(db, computation, { after })) {
    yield page.flatMap((employee) => {
      const items = openItems(computation, employee, attendedRuns(computation, employee, []));
      if (items.length === 0) return [];
      const groups = () => groupsOf(computation, employee, items);
      return [{ employeeId: employee.employeeId, items, groups }];
    });
  }
}

/** Returns the basis of a run that takes no regular amounts and pays today. */
async function basisOn(db: Db | Trx, employerId: string, today: string): Promise<Basis> {
  const run: Run = {
    employer_id: employerId,
    kind: 'off_cycle',
    pay_frequency: 'monthly',
    pay_group: null,
    period_start: today,
    period_end: today,
    pay_date: today,
    employee_ids: null,
    deductions: [],
    items: null,
    final_checks: [],
    ...DEFAULTS,
  };
  return {
    run,
    time_zone: timeZoneOf(db),
    position: await readPosition(db),
    calendar: null,
    schedules: [],
    transfers: await transfersTo(db, run),
    codes: await readCodes(db, employerId),
    overrides: [],
    decisions: await lastDecision(db, employerId),
    opening_items: await lastOpening(db, employerId),
    previous: null,
    earlier: await earlierRuns(db, run, null),
  };
}
