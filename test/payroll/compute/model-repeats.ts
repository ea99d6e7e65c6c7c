/** Counts the runs of a world that repeat a warning of the run before: what says nothing new hides what does. */
import type { Db } from '../../../src/database/tables.ts';
import { PAYROLL_CHECKS } from '../../../src/payroll/checks/list.ts';
import type { CheckReadiness } from '../../../src/payroll/lifecycle/finalize.ts';
import { readinessOf } from '../../../src/readiness/run-report.ts';
import { QUESTION, READY } from '../../support/payroll.ts';

/** They remind of money or people that wait for a person, and nobody in a world acts on time. */
const REMINDERS: ReadonlySet<string> = new Set([
  'missed-checks',
  'retro-pre-tax',
  'refund-waits',
  'employees-not-scheduled',
  'absent-from-census',
]);

/** A world uploads no census for a sync. */
const IGNORED: ReadonlySet<string> = new Set(['census-completed']);

const OF_RUNS: ReadonlySet<string> = new Set(
  PAYROLL_CHECKS.map(({ id }) => id).filter((id) => !REMINDERS.has(id) && !IGNORED.has(id)),
);

export class Repeats {
  runs = 0;
  repeating = 0;
  readonly #warned = new Map<string, ReadonlySet<string>>();

  /** Returns what counts the runs of a world before they become final. Failures are accepted, and so named once. */
  in(db: Db): CheckReadiness {
    return async (computation, summary) => {
      const { run } = computation;
      if (run.kind === 'off_cycle') return READY;
      const { open } = await readinessOf(db, computation, summary, QUESTION);
      const warned = new Set(
        open
          .filter(({ checkId, result }) => result === 'warn' && OF_RUNS.has(checkId))
          .map(({ checkId, employeeId, ids }) => JSON.stringify([checkId, employeeId, ids])),
      );
      const payees = JSON.stringify([run.employer_id, run.pay_frequency, run.pay_group]);
      this.runs += 1;
      const before = this.#warned.get(payees);
      if ([...warned].some((warning) => before?.has(warning))) this.repeating += 1;
      this.#warned.set(payees, warned);
      return READY;
    };
  }
}
