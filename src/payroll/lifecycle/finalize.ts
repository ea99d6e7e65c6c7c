/** Freezes a run: its lines, options, pay dates, roster rows, rules and the ledger's position. */
import { isDeepStrictEqual } from 'node:util';
import type { Failure, ReadinessReport } from '../../checks.ts';
import type { Clock } from '../../clock.ts';
import { isUnavailable } from '../../database/errors.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { RULES_VERSION } from '../calculation/amounts.ts';
import { type Basis, columnsOfBasis, type FrozenOutcome, hashOf, resolveBasis } from '../compute/basis.ts';
import type { Summary } from '../compute/summary.ts';
import {
  abandonFreeze,
  beginFreeze,
  countFrozen,
  endFreeze,
  removeAbandoned,
  renewFreeze,
} from '../records/freezes.ts';
import { insertLines } from '../records/frozen-lines.ts';
import { insertInputs } from '../records/inputs.ts';
import { bodyOf, finalizedRegularRuns, findRun, type StoredRun, setFinalized } from '../records/runs.ts';
import { insertSettlements, settlementsOf } from '../records/settlements.ts';
import { changePayroll } from '../settings/lock.ts';
import { type Acceptance, acceptanceRows, hashOfAcceptances, recordAcceptances } from './acceptances.ts';
import { summarize } from './results.ts';

export type Finalizing = {
  /** The ETag of the lines or of the readiness report that was reviewed; null: not checked. */
  ifMatch: string | null;
  /** Identifies the request, so that a repeat returns the run; null without one. */
  idempotencyKey?: string | null;
  accept: Acceptance | null;
  clock: Clock;
};

export type CheckReadiness = (basis: Basis, summary: Summary) => Promise<ReadinessReport>;

export type Finalized =
  | { outcome: 'finalized'; stored: StoredRun }
  /** An earlier request with the same ETag or idempotency key finalized the run. */
  | { outcome: 'repeated'; stored: StoredRun }
  | { outcome: 'not-ready'; report: ReadinessReport }
  /** The failures differ from the report whose ETag was sent. */
  | { outcome: 'failures-changed'; report: ReadinessReport }
  | { outcome: 'unknown' | 'not-open' | 'stale' | 'changed' }
  /** Another finalized regular run of the employer, frequency and pay group has the pay date. */
  | { outcome: 'date-taken'; by: string };

/**
 * Finalizes an open run. Its lines are written first, about a hundred employees per transaction; then one small
 * transaction makes the run final, unless the employer's payroll changed in the meantime. Throws RUN_REFUSED, and ABANDONED if a
 * clean-up removed the lines.
 */
export async function finalizeRun(
  db: Db,
  runId: string,
  finalizing: Finalizing,
  checkReadiness: CheckReadiness,
): Promise<Finalized> {
  await removeAbandoned(db, finalizing.clock);
  const found = await findOpen(db, runId, finalizing);
  if (found.outcome !== 'open') return found;
  const basis = await resolveBasis(db, runId, bodyOf(found.stored));
  const freezeId = await beginFreeze(db, finalizing.clock);
  let refused: Finalized | null;
  try {
    refused = await freeze(db, { runId, basis, freezeId }, finalizing, checkReadiness);
    if (refused !== null) await abandonFreeze(db, freezeId);
  } catch (error) {
    // This error matters more. If the database is unavailable, a later finalize removes the lines.
    if (!isUnavailable(error)) await abandonFreeze(db, freezeId).catch(() => {});
    throw error;
  }
  return refused ?? { outcome: 'finalized', stored: (await findRun(db, runId)) as StoredRun };
}

/** Returns the run if it is open and its pay date is free; otherwise why it cannot be finalized. */
async function findOpen(
  db: Db | Trx,
  runId: string,
  finalizing: Finalizing,
): Promise<{ outcome: 'open'; stored: StoredRun } | Finalized> {
  const stored = await findRun(db, runId);
  if (stored === null) return { outcome: 'unknown' };
  if (stored.state !== 'open') return notOpen(stored, finalizing);
  if (stored.kind === 'off_cycle') return { outcome: 'open', stored };
  // A run without a pay group conflicts with every group.
  const other = await finalizedRegularRuns(db, stored)
    .select('run_id')
    .where('pay_date', '=', stored.pay_date)
    .executeTakeFirst();
  return other === undefined ? { outcome: 'open', stored } : { outcome: 'date-taken', by: other.run_id };
}

type Freeze = { runId: string; basis: Basis; freezeId: string };

/** Writes the lines and makes the run final. Returns null, or why the lines must be removed again. */
async function freeze(
  db: Db,
  freezing: Freeze,
  finalizing: Finalizing,
  checkReadiness: CheckReadiness,
): Promise<Finalized | null> {
  const { basis, freezeId } = freezing;
  const { ifMatch, accept, clock } = finalizing;
  await transact(db, async (trx) => {
    await renewFreeze(trx, freezeId, clock);
    await insertInputs(trx, freezeId, basis.earlier);
  });
  let rows = basis.earlier.length;
  const summary = await summarize(db, basis, async (page, texts) => {
    const written = page.flatMap(({ employeeId, membership, lines }, index) => {
      const position = membership.isIn ? membership.employment.position : null;
      const isWritten = membership.isIn || lines.length > 0;
      return isWritten ? [[freezeId, employeeId, position, texts[index]]] : [];
    });
    const settlements = page.flatMap(({ lines }) => settlementsOf(freezeId, lines));
    await transact(db, async (trx) => {
      await renewFreeze(trx, freezeId, clock);
      await insertLines(trx, written);
      await insertSettlements(trx, settlements);
    });
    rows += written.length + settlements.length;
  });
  const isStale = ifMatch !== null && linesEtagOf(ifMatch) !== summary.etag;
  if (isStale && accept === null) return { outcome: 'stale' };
  const report = await checkReadiness(basis, summary);
  // With `accept` only the ETag of the readiness report helps: the ETag of the lines would be refused again.
  if (isStale) return { outcome: 'failures-changed', report };
  if (!report.ready) {
    if (report.failures.some(({ checkId }) => accept?.checks.includes(checkId) !== true))
      return { outcome: 'not-ready', report };
    if (ifMatch !== report.etag) return { outcome: 'failures-changed', report };
  }
  const basisColumns = columnsOfBasis(basis);
  const computed = { ...freezing, basisColumns, rows, summary, failures: report.failures };
  return transact(db, (trx) => flip(trx, computed, finalizing));
}

/** A finalized run is returned to a caller that repeats the request that finalized it. */
function notOpen(stored: StoredRun, { ifMatch, idempotencyKey }: Finalizing): Finalized {
  if (stored.state !== 'finalized') return { outcome: 'not-open' };
  const isSameKey = idempotencyKey != null && stored.finalize_key_hash === hashOf(idempotencyKey);
  if (isSameKey || linesEtagOf(ifMatch) === stored.etag) return { outcome: 'repeated', stored };
  return { outcome: ifMatch === null ? 'not-open' : 'stale' };
}

/** The ETag of a readiness report begins with the ETag of the lines. */
function linesEtagOf(etag: string | null): string | null {
  return etag?.split('.')[0] ?? null;
}

type Computed = Freeze & {
  basisColumns: ReturnType<typeof columnsOfBasis>;
  rows: number;
  summary: Summary;
  failures: readonly Failure[];
};

/** Makes the run final. Returns null, or why not: another caller finalized or removed it, or changed its inputs. */
async function flip(
  trx: Trx,
  { runId, basis, basisColumns, freezeId, rows, summary, failures }: Computed,
  finalizing: Finalizing,
): Promise<Finalized | null> {
  const { accept, idempotencyKey, clock } = finalizing;
  const now = clock().toISOString();
  await changePayroll(trx);
  await renewFreeze(trx, freezeId, clock);
  const found = await findOpen(trx, runId, finalizing);
  if (found.outcome !== 'open') return found;
  const today = await resolveBasis(trx, runId, bodyOf(found.stored));
  // Newer ledger positions do not matter, because the lines are computed at the frozen position.
  if (!isDeepStrictEqual({ ...today, position: basis.position }, basis)) return { outcome: 'changed' };
  // Nothing removes rows of a freeze that is being written, so this finds only what was done by hand.
  if ((await countFrozen(trx, freezeId)) !== rows) return { outcome: 'changed' };
  const { totals, etag } = summary;
  const ids = { runId, employerId: basis.run.employer_id };
  const acceptances = accept === null ? [] : acceptanceRows(ids, failures, accept, now);
  const accepted = new Set(failures.map(({ checkId }) => checkId));
  const outcome = JSON.stringify({
    ...summary.outcome,
    accepted_checks: [...accepted],
    acceptances_hash: hashOfAcceptances(acceptances),
  } satisfies FrozenOutcome);
  await setFinalized(trx, runId, {
    finalized_at: now,
    freeze_id: freezeId,
    position: basis.position,
    rules_version: RULES_VERSION,
    finalize_key_hash: idempotencyKey == null ? null : hashOf(idempotencyKey),
    etag,
    ...basisColumns,
    outcome,
    outcome_hash: hashOf(outcome),
    totals: JSON.stringify(totals),
    // A run that was ready needs no reason.
    accept_reason: failures.length > 0 ? (accept?.reason ?? null) : null,
  });
  await endFreeze(trx, freezeId);
  await recordAcceptances(trx, acceptances);
  return null;
}
