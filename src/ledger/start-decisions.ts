/** Operators' decisions about moved starts of deductions. They have their own ledger positions. */
import { isOneOf } from '../database/bulk.ts';
import type { Db, StartDecisionTable, Trx } from '../database/tables.ts';
import { historyOf } from './history.ts';
import { lockLedger, moveLedger } from './position.ts';
import { timelineOf } from './state.ts';

export const START_DECISIONS = ['keep', 'drop'] as const;

/** On the version whose start was moved. `decidedBy` is the name of a token. */
type NewStartDecision = Pick<StartDecisionTable, 'version' | 'decision' | 'reason'> & {
  deductionId: string;
  decidedBy: string;
};

type Decided =
  | { outcome: 'decided'; row: StartDecisionTable }
  | { outcome: 'unknown' }
  | { outcome: 'not-undecided' };

/** Records a decision. A later decision on the same version replaces an earlier one. */
export async function decideStart(trx: Trx, decision: NewStartDecision, now: string): Promise<Decided> {
  const { deductionId, decidedBy, version } = decision;
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
    decision: decision.decision,
    reason: decision.reason,
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
  if (deductionIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('start_decisions')
    .selectAll()
    .where(isOneOf(db, 'deduction_id', deductionIds))
    .orderBy('position')
    .execute();
  return Map.groupBy(rows, ({ deduction_id }) => deduction_id);
}
