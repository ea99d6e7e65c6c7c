/** Computes a run from the ledger, some employees at a time, in the order of their ids. */
import type { Db, Trx } from '../../database/tables.ts';
import { byText, LINE_KINDS, type Line } from '../calculation/line.ts';
import { compareReplaced, continuingLines, stoppedLines } from './change.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { type Reading, readEmployees } from './employees.ts';
import { type Begun, takeItemsOf, unitsInRun } from './items-in-run.ts';
import { regularLines } from './regular-lines.ts';
import type { EmployeeLines, Taking } from './taking.ts';
import { inTurns } from './turns.ts';

/** Yields all employees of a computation, so that those outside the run are accounted for too. */
export async function* computeRun(
  db: Db | Trx,
  computation: Computation,
  reading: Reading = {},
): AsyncGenerator<EmployeeLines[]> {
  for await (const page of readEmployees(db, computation, reading)) {
    const begun: Begun[] = [];
    for await (const employees of inTurns(page)) {
      for (const employee of employees) {
        const regular = linesOfPaycheck(computation, employee);
        begun.push({ employee, regular, units: unitsInRun(computation, employee, regular) });
      }
    }
    const takings = await takeItemsOf(db, computation, begun);
    yield begun.map(({ employee, regular }, index): EmployeeLines => {
      const taking = takings[index] as Taking;
      return { employee, lines: [...regular, ...taking.lines].sort(byPlace), taking };
    });
    // Reading is synchronous on SQLite, so pages that are computed quickly would follow one another without a turn.
    await new Promise(setImmediate);
  }
}

function linesOfPaycheck(computation: Computation, employee: RunEmployee): Line[] {
  const before = continuingLines(employee.inPrevious.lines);
  const lines = regularLines(computation, employee, before);
  for (const { account } of lines) before.delete(account.deduction_id);
  // Most employees keep their deductions.
  if (before.size === 0) return lines;
  compareReplaced(computation, employee, lines, before);
  return [...lines, ...stoppedLines(computation, employee, lines, before)];
}

/** By kind, line of coverage, deduction, and the earlier run and open item that the line settles. */
function byPlace(line: Line, other: Line): number {
  const [account, otherAccount] = [line.account, other.account];
  return (
    LINE_KINDS.indexOf(line.kind) - LINE_KINDS.indexOf(other.kind) ||
    byText(account.line_of_coverage, otherAccount.line_of_coverage) ||
    byText(account.deduction_id, otherAccount.deduction_id) ||
    byText(line.settles?.adjustment_for ?? '', other.settles?.adjustment_for ?? '') ||
    byText(line.settles?.item_id ?? '', other.settles?.item_id ?? '')
  );
}
