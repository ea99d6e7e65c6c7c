/** Finds the versions of deductions that runs and open items of employers name, for callers limited to these employers. */
import type { Db } from '../../database/tables.ts';
import { isAppError } from '../../errors.ts';
import { employeesKnownAt } from '../../ledger/roster.ts';
import { versionsIn } from '../../ledger/visibility.ts';
import { isNothing } from '../calculation/items.ts';
import type { Line } from '../calculation/line.ts';
import { resolveBasis } from '../compute/basis.ts';
import { computationOf } from '../compute/computation.ts';
import { openItemsOf } from '../compute/item-pages.ts';
import { computedPages } from '../lifecycle/line-pages.ts';
import { versionsInLines } from '../records/frozen-lines.ts';
import { bodyOf, openRunsOf, type StoredRun } from '../records/runs.ts';

/** Returns the keys of the versions that lines of runs, open ones too, or open items of employers name for these employees. */
export async function namedVersions(
  db: Db,
  employees: readonly string[],
  employers: readonly string[],
  today: string,
): Promise<Set<string>> {
  const named = await versionsInLines(db, employees, employers);
  for (const employerId of employers) {
    const known = [...(await employeesKnownAt(db, employerId, employees))];
    if (known.length === 0) continue;
    const lines = await itemLines(db, employerId, known, today);
    for (const stored of await openRunsOf(db, employerId))
      lines.push(...(await openLines(db, stored, known)));
    for (const key of versionsIn(lines)) named.add(key);
  }
  return named;
}

async function itemLines(
  db: Db,
  employerId: string,
  only: readonly string[],
  today: string,
): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const page of openItemsOf(db, employerId, today, { only })) {
    const items = page.flatMap((employee) => employee.items);
    lines.push(...items.filter(({ outstanding }) => !isNothing(outstanding)).map(({ line }) => line));
  }
  return lines;
}

/** Returns the lines of employees in an open run. A run that cannot be computed has none. */
async function openLines(db: Db, stored: StoredRun, only: readonly string[]): Promise<Line[]> {
  const lines: Line[] = [];
  try {
    const basis = await resolveBasis(db, stored.run_id, bodyOf(stored));
    const computation = await computationOf(db, stored.run_id, basis, only);
    for await (const page of computedPages(db, computation))
      lines.push(...page.flatMap((each) => each.lines));
  } catch (error) {
    if (!isAppError(error, 'RUN_REFUSED')) throw error;
  }
  return lines;
}
