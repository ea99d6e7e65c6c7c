/** The summary of a run: totals, ETag, comparison with the previous run, and what its checks found. */
import { createHash } from 'node:crypto';
import type { Db } from '../../database/tables.ts';
import type { FoundInRun } from '../checks/check.ts';
import { createFinders } from '../checks/list.ts';
import { createComparison } from '../compute/comparison.ts';
import type { Computation } from '../compute/computation.ts';
import { computeRun } from '../compute/compute.ts';
import type { Reading } from '../compute/employees.ts';
import { assignedIn, stateFor } from '../compute/history.ts';
import { createNotInRun } from '../compute/not-in-run.ts';
import { createOpenItemSums } from '../compute/open-item-sums.ts';
import type { EmployeeLines } from '../compute/taking.ts';
import { LineTotals } from '../compute/totals.ts';
import { inTurns } from '../compute/turns.ts';
import { linesToStore } from '../records/frozen-lines.ts';
import type { RunOutcome } from '../records/outcome.ts';
import type { Totals } from '../records/totals.ts';

export type Summary = {
  totals: Totals;
  /** A SHA-256 of all lines. It changes with nothing else. */
  etag: string;
  outcome: RunOutcome;
  /** What the checks found in the employees. */
  found: FoundInRun;
};

/** A computed run. */
export type ComputedRun = { computation: Computation; summary: Summary };

/** Receives each computed page, the lines of its employees as JSON, and the computation. */
export type OnPage = (
  page: readonly EmployeeLines[],
  texts: readonly string[],
  computation: Computation,
) => void | Promise<void>;

/** Computes all lines of a run and returns their summary. */
export async function summarize(
  db: Db,
  computation: Computation,
  onPage: OnPage = () => {},
  reading: Reading = {},
): Promise<Summary> {
  const summary = createSummary(computation);
  for await (const page of computeRun(db, computation, reading)) {
    const texts: string[] = [];
    for await (const employees of inTurns(page))
      for (const computed of employees) texts.push(summary.add(computed));
    await onPage(page, texts, computation);
  }
  return summary.summary();
}

/** Adds up the employees of an employer, in the order of their ids. */
export function createSummary(computation: Computation) {
  const { run, previous } = computation;
  const hash = createHash('sha256');
  const totals = new LineTotals();
  const comparing = previous === null ? null : createComparison(previous.runId);
  const finders = createFinders(computation);
  const notInRun = createNotInRun(computation);
  const openItems = createOpenItemSums();
  let employees = 0;

  return {
    /** Adds an employee, and returns the lines as JSON. */
    add(computed: EmployeeLines): string {
      const { employee, lines } = computed;
      const inEffect = employee.histories.filter((history) => {
        if (stateFor(history, employee.employeeId, computation.day) === null) return false;
        const assigned = assignedIn(history, run);
        return assigned === null || assigned === run.employer_id;
      });
      if (employee.membership.isIn) employees += 1;
      if (inEffect.length > 0) notInRun.add(employee);
      finders.add(
        computed,
        inEffect.map(({ deductionId }) => deductionId),
      );
      comparing?.add(computed);
      openItems.add(computed.taking);
      const text = linesToStore(lines);
      if (lines.length === 0) return text;
      hash.update(text).update('\n');
      totals.add(lines);
      return text;
    },
    summary(): Summary {
      return {
        totals: totals.totals(),
        etag: hash.digest('hex'),
        outcome: {
          employees,
          comparison: comparing?.comparison(totals) ?? null,
          ...notInRun.outcome(),
          open_items: openItems.sums(),
        },
        found: finders.found(),
      };
    },
  };
}
