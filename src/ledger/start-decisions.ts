/** Operators' decisions about moved starts of deductions. They have their own ledger positions. */
import { isOneOf } from '../database/bulk.ts';
import type { Db, StartDecisionTable, Trx } from '../database/tables.ts';
import { historyOf } from './history.ts';
import { lockLedger, moveLedger } from './position.ts';
import { timelineOf } from './state.ts';

export const START_DECISIONS = ['keep', 'drop'] as const;

type NewStartDecision = {
  deductionId: string;
  /** The number of the version whose start was moved. */
  version: number;
  decision: (typeof START_DECISIONS)[number];
  reason: string;
  /** The name of the token. */
  decidedBy: string;
};

export type Decided =
  | { outcome: 'decided'; row: StartDecisionTable }
  /** No such version. */
  | { outcome: 'unknown' }
  /** Nothing about the version needs a decision. */
  | { outcome: 'not-undecided' };

/** Records a decision. A later decision on the same version replaces an earlier one. */
export async function decideStart(trx: Trx, given: NewStartDecision, now: string): Promise<Decided> {
  const { deductionId, version, decision, reason, decidedBy } = given;
  const position = (await lockLedger(trx)) + 1;
  const versions = await historyOf(trx, [deductionId]);
  const moved = versions.find((one) => one.version === version);
  if (moved === undefined) return { outcome: 'unknown' };
  const { undecided } = timelineOf(versions, []);
  if (!undecided.some((one) => one.version === moved)) return { outcome: 'not-undecided' };
  const row: StartDecisionTable = {
    position,
    deduction_id: deductionId,
    version,
    version_position: moved.position,
    decision,
    reason,
    decided_by: decidedBy,
    recorded_at: now,
  };
  await trx.insertInto('start_decisions').values(row).execute();
  await moveLedger(trx, position);
  return { outcome: 'decided', row };
}

/** Returns the decisions on some deductions, by deduction, in the order of their positions. */
export async function startDecisionsOf(
  db: Db | Trx,
  deductionIds: readonly string[],
): Promise<Map<string, StartDecisionTable[]>> {
  return Map.groupBy(await decisionsOn(db, deductionIds), (row) => row.deduction_id);
}

/** Returns the decision in force on each of some versions, by the position of the version. */
export async function decisionsInForce(
  db: Db | Trx,
  versions: readonly { deduction_id: string }[],
): Promise<Map<number, StartDecisionTable>> {
  const rows = await decisionsOn(db, [...new Set(versions.map(({ deduction_id }) => deduction_id))]);
  return new Map(rows.map((row) => [row.version_position, row]));
}

async function decisionsOn(db: Db | Trx, deductionIds: readonly string[]): Promise<StartDecisionTable[]> {
  if (deductionIds.length === 0) return [];
  const rows = db
    .selectFrom('start_decisions')
    .selectAll()
    .where(isOneOf(db, 'deduction_id', deductionIds));
  return rows.orderBy('position').execute();
}
