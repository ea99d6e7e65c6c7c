/** Finds the record since which the amount due for an earlier run is what it is. Pure. */
import type { Account, Because } from '../calculation/line.ts';
import { type History, historyAt } from './history.ts';
import type { EarlierRun, Payee } from './payout.ts';
import type { Job } from './population.ts';
import type { CheckAmounts } from './shares.ts';

type KnownRecord = Because & { position: number };

/**
 * Returns the record since which a run's due amount of a deduction under an account is what it is today. A resend changes
 * no amount, so it is never that record. `wasIn`: the run had the employee, so reports about the employment decide nothing.
 * `amountsOf` returns the due amounts of the deduction as known earlier.
 */
export function becauseOf(
  earlier: EarlierRun,
  employee: Payee,
  history: History,
  wasIn: boolean,
  account: Account,
  amountsOf: (known: History, job: Job) => CheckAmounts | null,
): Because {
  const { runId, voidedAt } = earlier;
  if (voidedAt !== null && earlier.isVoided) return { kind: 'void', id: runId, received_at: voidedAt };
  const records = recordsOf(employee, history, wasIn).sort((one, other) => other.position - one.position);
  const dueAt = (position: number): string => {
    const known = historyAt(history, position);
    const job = employee.jobAt(earlier, wasIn ? earlier.position : position);
    const isDue = wasIn || job.belongs;
    const amounts = known === null || !isDue ? null : amountsOf(known, job);
    if (amounts === null) return '';
    const { state, member_amount, employer_amount } = amounts;
    const isOfAccount =
      state.line_of_coverage === account.line_of_coverage && state.taxability === account.taxability;
    return isOfAccount ? `${member_amount} ${employer_amount}` : '';
  };
  const due = dueAt(Number.POSITIVE_INFINITY);
  const changed = records.find(({ position }) => dueAt(position - 1) !== due) ?? records.at(-1);
  const { kind, id, received_at } = changed as KnownRecord;
  return { kind, id, received_at };
}

function recordsOf({ employments }: Payee, history: History, wasIn: boolean): KnownRecord[] {
  const { versions, assignments, successors } = history;
  const records = [...versions, ...successors.flat()].map(
    ({ position, event_id, recorded_at }): KnownRecord => ({
      position,
      ...{ kind: 'event', id: event_id, received_at: recorded_at },
    }),
  );
  for (const { position, recorded_at } of assignments)
    records.push({ position, kind: 'decision', id: String(position), received_at: recorded_at });
  if (wasIn) return records;
  for (const { position, source_id, recorded_at } of employments.flatMap(({ reports }) => reports))
    records.push({ position, kind: 'roster', id: source_id, received_at: recorded_at });
  return records;
}
