/** Tells which employers are ready for payroll, by the checks of the ledger. */
import { setTimeout } from 'node:timers/promises';
import { employersWithCensus } from '../census/staged.ts';
import { employersWithSyncs } from '../census/syncs.ts';
import type { Check, Found } from '../checks.ts';
import { FOUND_AT_MOST } from '../checks.ts';
import type { Db } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import type { LedgerQuestion } from '../ledger/checks.ts';
import { readPosition } from '../ledger/position.ts';
import { employersInRoster } from '../ledger/roster.ts';
import type { Computed, State } from '../notifications/computed.ts';
import { subjectOf } from '../notifications/types.ts';
import { LEDGER_CHECKS } from './report.ts';

/** The pause after a check: enough for several queries of other requests. */
const PAUSE_MS = 2;
/** The longest comparison, as of the list of payrolls. The next one continues with the next employer. */
const COMPARE_MS = 3_000;

type Failing = { check: Check<Db, LedgerQuestion>; found: readonly Found[] };

/**
 * Runs each check once for all employers: while none fails, every employer is ready. Only checks that fail are run for each
 * employer, and only after their findings, the ledger or the day changed.
 */
export function changedReadiness(
  question: () => Promise<LedgerQuestion>,
  elapsedMs: () => number,
): Computed<'readiness.changed'> {
  /** The state of the data that was compared completely. */
  let compared = '';
  /** The employer after which a comparison that took too long ended. */
  let last = '';

  async function* states(
    db: Db,
    now: Date,
    known: ReadonlyMap<string, { employer_id: string }>,
  ): AsyncGenerator<State<'readiness.changed'>> {
    const asked = await question();
    const position = await readPosition(db);
    const failing = await failingChecks(db, asked);
    const state = JSON.stringify([position, dayAt(db, now), failing.map(identityOf)]);
    if (state === compared && last === '') return;
    const until = elapsedMs() + COMPARE_MS;
    const told = [...known.values()].map(({ employer_id }) => employer_id);
    const employers = failing.length === 0 ? [] : await employersOf(db);
    for (const employer_id of [...new Set([...employers, ...told])].sort()) {
      if (employer_id <= last) continue;
      const failed_checks = await failedOf(db, failing, { ...asked, employerId: employer_id });
      const ready = failed_checks.length === 0;
      const changed = { employer_id, ready, failed_checks };
      if (!ready) yield { told: changed };
      else yield { ended: changed, subject: subjectOf('readiness.changed', changed) };
      if (elapsedMs() > until) {
        last = employer_id;
        return;
      }
    }
    last = '';
    // A check that returns its most findings may have others, which may have changed.
    compared = failing.some(({ found }) => found.length >= FOUND_AT_MOST) ? '' : state;
  }

  return { type: 'readiness.changed', states };
}

/** Returns the checks that fail for any employer. */
async function failingChecks(db: Db, asked: LedgerQuestion): Promise<Failing[]> {
  const failing: Failing[] = [];
  for (const check of LEDGER_CHECKS) {
    const found = (await check.find(db, asked)).filter(({ result }) => result === 'fail');
    if (found.length > 0) failing.push({ check, found });
    await setTimeout(PAUSE_MS);
  }
  return failing;
}

/** What findings are about: their texts also change with the time. */
function identityOf({ check, found }: Failing) {
  return [
    check.id,
    found.map(({ employer_id, employee_id, deduction_id, event_id, change_id, sync_id, ids }) => {
      return [employer_id, employee_id, deduction_id, event_id, change_id, sync_id, ids];
    }),
  ];
}

async function employersOf(db: Db): Promise<string[]> {
  const known = [employersInRoster(db, null), employersWithCensus(db, null), employersWithSyncs(db, null)];
  return (await Promise.all(known)).flatMap((employers) => [...employers]);
}

/** Returns the ids of the checks that fail for an employer. */
async function failedOf(db: Db, failing: readonly Failing[], asked: LedgerQuestion): Promise<string[]> {
  const failed: string[] = [];
  for (const { check } of failing) {
    const isFailed = check.isGeneral || (await check.find(db, asked)).some(({ result }) => result === 'fail');
    if (isFailed) failed.push(check.id);
    if (!check.isGeneral) await setTimeout(PAUSE_MS);
  }
  return failed;
}
