/** The data that the computation of a run reads, for about a hundred employees at a time. */
import { piecesOf } from '../../database/bulk.ts';
import { byBytes } from '../../database/engine.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { type RunVersion, versionsOfEmployees } from '../../ledger/history.ts';
import { employeesOf } from '../../ledger/roster.ts';
import { startDecisionsOf } from '../../ledger/start-decisions.ts';
import type { Run } from '../records/body.ts';
import { type History, historyAt, historyFrom } from './history.ts';

/** Measured: twice as many save no time, as more objects outlive the young generation; half cost more statements. */
const EMPLOYEES_AT_ONCE = 128;

/** Yields ids of employees: `only`, the employees that an off-cycle run names, or all that the employer ever had. */
export async function* candidates(
  db: Db | Trx,
  run: Run,
  after: string,
  only: readonly string[] | undefined,
): AsyncGenerator<string[]> {
  const named = only ?? (run.kind === 'off_cycle' ? run.employee_ids : null);
  if (named !== null) {
    const rest = [...named].sort(byBytes).filter((id) => byBytes(id, after) > 0);
    yield* piecesOf(rest, EMPLOYEES_AT_ONCE);
    return;
  }
  for (let last = after; ; ) {
    const ids = await employeesOf(db, run.employer_id, { after: last, limit: EMPLOYEES_AT_ONCE });
    if (ids.length > 0) yield ids;
    if (ids.length < EMPLOYEES_AT_ONCE) return;
    last = ids.at(-1) as string;
  }
}

/** Returns the histories of the deductions that ever named each employee, as known at a position. */
export async function historiesOf(
  db: Db | Trx,
  employees: readonly string[],
  position: number,
): Promise<Map<string, History[]>> {
  const byEmployee = await versionsOfEmployees(db, employees);
  // Only a deduction of several versions can have a start that was moved.
  const longer = [...byEmployee.values()].flat().filter((versions) => versions.length > 1);
  const decisions = await startDecisionsOf(db, [...new Set(longer.map(([one]) => one.deduction_id))]);
  const knownOf = (versions: readonly [RunVersion, ...RunVersion[]]) => {
    const [{ deduction_id }] = versions;
    return historyAt(historyFrom(versions, decisions.get(deduction_id) ?? []), position) ?? [];
  };
  return new Map([...byEmployee].map(([id, deductions]) => [id, deductions.flatMap(knownOf)]));
}

/** Pages read ahead while the current one is computed, so that PostgreSQL works at the same time. */
const PAGES_AHEAD = 2;

/** Reads items in order, and starts reading the next ones early. When the consumer stops, nothing stays in progress. */
export async function* readAhead<Item, Page>(
  items: AsyncIterable<Item>,
  read: (item: Item) => Promise<Page>,
): AsyncGenerator<Page> {
  const reading: Promise<Page>[] = [];
  try {
    for await (const item of items) {
      const page = read(item);
      // The error is thrown when the page is taken; this prevents an unhandled rejection before that.
      page.catch(() => {});
      reading.push(page);
      if (reading.length > PAGES_AHEAD) yield await (reading.shift() as Promise<Page>);
    }
    for (let page = reading.shift(); page !== undefined; page = reading.shift()) yield await page;
  } finally {
    await Promise.allSettled(reading);
  }
}
