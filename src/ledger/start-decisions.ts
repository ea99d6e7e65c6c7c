/** Operators' decisions about moved starts of deductions. They have their own ledger positions. */
import { utcDay } from '../contract/instant.ts';
import { isOneOf } from '../database/bulk.ts';
import type { Db, StartDecisionTable, Trx } from '../database/tables.ts';
import { type Acting, type Actor, forEmployers, recordAll } from '../security/audit.ts';
import type { ReasonColumn } from '../security/reasons.ts';
import { type Content, contentHash } from '../security/verify-contents.ts';
import { assignedEmployer, assignmentsOf } from './assignments.ts';
import { employersOn, employmentsOf } from './employment.ts';
import { historyOf } from './history.ts';
import { lockLedger, moveLedger } from './position.ts';
import { rosterOf } from './roster.ts';
import { timelineOf } from './state.ts';
import { type Viewer, visibleVersions } from './visibility.ts';

export const START_DECISIONS = ['keep', 'drop'] as const;

/** On the version whose start was moved. */
type NewStartDecision = Pick<StartDecisionTable, 'version' | 'decision' | 'reason'> & { deductionId: string };

/** A decision with who made it. */
export type DecidedStart = StartDecisionTable & { decided_by: Actor };

type Decided =
  | { outcome: 'decided'; decision: DecidedStart }
  | { outcome: 'unknown' }
  | { outcome: 'not-undecided' };

/** Records a decision. A later decision on the same version replaces an earlier one. `viewer`: a limited caller. */
export async function decideStart(
  trx: Trx,
  { deductionId, version, decision, reason }: NewStartDecision,
  acting: Acting,
  viewer: Viewer | null = null,
): Promise<Decided> {
  const position = (await lockLedger(trx)) + 1;
  const versions = await historyOf(trx, [deductionId]);
  const moved = versions.find((one) => one.version === version);
  if (moved === undefined) return { outcome: 'unknown' };
  if (viewer !== null && (await visibleVersions(trx, [moved], viewer)).length === 0)
    return { outcome: 'unknown' };
  const { undecided } = timelineOf(versions, []);
  if (!undecided.some((one) => one.version === moved)) return { outcome: 'not-undecided' };
  const version_position = moved.position;
  const decided = { deduction_id: deductionId, version, version_position, decision };
  const content = { position, ...decided, recorded_at: acting.now };
  const details = { version, decision, content_hash: contentHash(START_DECISIONS_CONTENT, [content]) };
  const { employee_id: employee } = moved;
  const day = utcDay(acting.now);
  const assigned = assignedEmployer((await assignmentsOf(trx, [deductionId])).get(deductionId) ?? [], day);
  const employments = employmentsOf((await rosterOf(trx, [employee])).get(employee) ?? []);
  const employers = assigned === null ? employersOn(employments, day) : [assigned];
  const action = {
    action: 'deduction.decide-start',
    resource: deductionId,
    employee,
    details,
    reason,
  } as const;
  const [record_id] = await recordAll(trx, forEmployers({ ...acting, ...action }, employers));
  const row: StartDecisionTable = { ...content, reason, record_id: record_id as number };
  await trx.insertInto('start_decisions').values(row).execute();
  await moveLedger(trx, position);
  return { outcome: 'decided', decision: { ...row, decided_by: acting.actor } };
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

export const START_DECISION_REASONS: ReasonColumn = {
  ...{ table: 'start_decisions', column: 'reason', actions: ['deduction.decide-start'] },
  by: { column: 'record_id', is: 'record_id' },
};

export const START_DECISIONS_CONTENT: Content<'start_decisions'> = {
  table: 'start_decisions',
  key: ['position'],
  columns: ['position', 'deduction_id', 'version', 'version_position', 'decision', 'recorded_at'],
  actions: ['deduction.decide-start'],
  isRemovable: false,
};
