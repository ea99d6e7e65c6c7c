/** Reads the open items of an employer as of a day, employee by employee. */
import type { Db, Trx } from '../../database/tables.ts';
import { readPayees } from './employees.ts';
import { type Group, groupsOf } from './item-groups.ts';
import type { OpenItem } from './item-state.ts';
import { attendedRuns } from './missed-checks.ts';
import { openItems } from './open-items.ts';
import { payoutOn } from './payout.ts';

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
  const payout = await payoutOn(db, employerId, today, only);
  for await (const page of readPayees(db, payout, after)) {
    yield page.flatMap((employee) => {
      const items = openItems(payout, employee, attendedRuns(payout, employee));
      if (items.length === 0) return [];
      const groups = () => groupsOf(payout, employee, items);
      return [{ employeeId: employee.employeeId, items, groups }];
    });
  }
}
