/** The employees of a final run, compared with the run that it was compared with when it was finalized. */
import type { Db } from '../../database/tables.ts';
import type { Line } from '../calculation/line.ts';
import { type EmployeeRow, employeeRow } from '../compute/employee-rows.ts';
import { readFrozenLines, storedLines } from '../records/frozen-lines.ts';
import { findRun, type StoredRun } from '../records/runs.ts';

type InRun = { isIn: boolean; lines: readonly Line[] };
const ABSENT: InRun = { isIn: false, lines: [] };

/** Returns the employees of a final run by id. */
export async function finalEmployees(db: Db, stored: StoredRun): Promise<EmployeeRow[]> {
  const previous = stored.previous_run_id === null ? null : await findRun(db, stored.previous_run_id);
  const current = await employeesOf(db, stored.freeze_id as string);
  const before = previous === null ? null : await employeesOf(db, previous.freeze_id as string);
  const ids = [...new Set([...current.keys(), ...(before?.keys() ?? [])])].sort();
  return ids.map((id) =>
    employeeRow(id, current.get(id) ?? ABSENT, before === null ? null : (before.get(id) ?? ABSENT)),
  );
}

async function employeesOf(db: Db, freezeId: string): Promise<Map<string, InRun>> {
  const employees = new Map<string, InRun>();
  for await (const page of readFrozenLines(db, freezeId, '', storedLines)) {
    for (const { employeeId, rosterPosition, lines } of page)
      employees.set(employeeId, { isIn: rosterPosition !== null, lines });
  }
  return employees;
}
