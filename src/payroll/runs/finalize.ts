/** Freezes a run: its lines, options, pay dates, roster rows, rules and the ledger's position. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Failure, ReadinessReport } from '../../checks.ts';
import { insertMany } from '../../database/bulk.ts';
import { isUnavailable } from '../../database/errors.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { RULES_VERSION } from '../calculation/amounts.ts';
import { changePayroll } from '../settings/lock.ts';
import { type Acceptance, recordAcceptances } from './acceptances.ts';
import { type Basis, type Frozen, resolveBasis } from './basis.ts';
import { bodyOf, finalizedRegularRuns, findRun, hashOf, type StoredRun, summarize } from './store.ts';
import type { Summary } from './summary.ts';

export type Finalizing = {
  /** The ETag of the lines or of the readiness report that was reviewed; null: not checked. */
  ifMatch: string | null;
  /** Identifies the request, so that a repeat returns the run; null without one. */
  idempotencyKey?: string | null;
  accept: Acceptance | null;
  now: string;
};

export type CheckReadiness = (basis: Basis, summary: Summary) => Promise<ReadinessReport>;

export type Finalized =
  | { outcome: 'finalized'; stored: StoredRun }
  /** An earlier request with the same ETag or idempotency key finalized the run. */
  | { outcome: 'repeated'; stored: StoredRun }
  | { outcome: 'not-ready'; report: ReadinessReport }
  /** Failures are accepted that are not those of the report whose ETag was sent. */
  | { outcome: 'failures-changed'; report: ReadinessReport }
  | { outcome: 'unknown' | 'not-open' | 'stale' | 'changed' }
  /** Another finalized regular run of the employer, frequency and pay group has the pay date. */
  | { outcome: 'date-taken'; by: string };

/** A freeze takes seconds. Lines of one that began earlier than this were left by a process that died. */
const LEFT_BEHIND_MS = 60 * 60 * 1000;

/**
 * Finalizes an open run. Its lines are written first, about a hundred employees per transaction; then one small
 * transaction makes the run final, unless the employer's payroll changed in the meantime. Throws RUN_REFUSED.
 */
export async function finalizeRun(
  db: Db,
  runId: string,
  finalizing: Finalizing,
  checkReadiness: CheckReadiness,
): Promise<Finalized> {
  await dropLeftBehind(db, finalizing.now);
  const found = await findOpen(db, runId, finalizing);
  if (found.outcome !== 'open') return found;
  const basis = await resolveBasis(db, runId, bodyOf(found.stored));
  const freezeId = randomUUID();
  let refused: Finalized | null;
  try {
    refused = await freeze(db, { runId, basis, freezeId }, finalizing, checkReadiness);
    if (refused !== null) await dropLines(db, freezeId);
  } catch (error) {
    // If the response to the commit was lost, the run may be final. Lines of no run are removed later.
    if (!isUnavailable(error)) await dropLines(db, freezeId).catch(() => {});
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
  const { ifMatch, accept, now } = finalizing;
  const begun = { freeze_id: freezeId, started_at: now };
  await transact(db, (trx) => trx.insertInto('run_freezes').values(begun).execute());
  let rows = 0;
  const summary = await summarize(db, basis, async (page, texts) => {
    const written = page.flatMap(({ employeeId, membership, lines }, index) => {
      const position = membership.isIn ? membership.employment.position : null;
      const isWritten = membership.isIn || lines.length > 0;
      return isWritten ? [[freezeId, employeeId, position, texts[index]]] : [];
    });
    const columns = ['freeze_id', 'employee_id', 'roster_position', 'lines'] as const;
    await transact(db, (trx) => insertMany(trx, 'run_employees', columns, written));
    rows += written.length;
  });
  const isStale = ifMatch !== null && linesEtagOf(ifMatch) !== summary.etag;
  if (isStale && accept === null) return { outcome: 'stale' };
  const report = await checkReadiness(basis, summary);
  // With `accept` only the ETag of the readiness report helps: that of the lines would be refused again.
  if (isStale) return { outcome: 'failures-changed', report };
  if (!report.ready) {
    if (report.failures.some(({ checkId }) => accept?.checks.includes(checkId) !== true))
      return { outcome: 'not-ready', report };
    if (ifMatch !== report.etag) return { outcome: 'failures-changed', report };
  }
  const computed = { ...freezing, rows, summary, failures: report.failures };
  return transact(db, (trx) => flip(trx, computed, finalizing));
}

/** A finalized run is returned to a caller that repeats the request that finalized it. */
function notOpen(stored: StoredRun, { ifMatch, idempotencyKey }: Finalizing): Finalized {
  if (stored.state !== 'finalized') return { outcome: 'not-open' };
  const isSameKey = idempotencyKey != null && stored.finalize_key_hash === hashOf(idempotencyKey);
  if (isSameKey || linesEtagOf(ifMatch) === stored.etag) return { outcome: 'repeated', stored };
  return { outcome: ifMatch === null ? 'not-open' : 'stale' };
}

/** The ETag of a readiness report begins with that of the lines. */
function linesEtagOf(etag: string | null): string | null {
  return etag?.split('.')[0] ?? null;
}

type Computed = Freeze & { rows: number; summary: Summary; failures: readonly Failure[] };

/** Makes the run final. Returns null, or why not: another caller finalized or removed it, or changed its inputs. */
async function flip(
  trx: Trx,
  { runId, basis, freezeId, rows, summary, failures }: Computed,
  finalizing: Finalizing,
): Promise<Finalized | null> {
  const { accept, idempotencyKey, now } = finalizing;
  await changePayroll(trx);
  const found = await findOpen(trx, runId, finalizing);
  if (found.outcome !== 'open') return found;
  const today = await resolveBasis(trx, runId, bodyOf(found.stored));
  // Newer ledger positions do not matter, because the lines are those of the frozen position.
  if (!isDeepStrictEqual({ ...today, position: basis.position }, basis)) return { outcome: 'changed' };
  // Another process may have removed the lines of a freeze that took too long, as if it were abandoned.
  const { count } = await trx
    .selectFrom('run_employees')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('freeze_id', '=', freezeId)
    .executeTakeFirstOrThrow();
  if (Number(count) !== rows) return { outcome: 'changed' };
  const { totals, etag, outcome } = summary;
  const accepted = new Set(failures.map(({ checkId }) => checkId));
  const snapshot = JSON.stringify({ basis, ...outcome, accepted_checks: [...accepted] } satisfies Frozen);
  await trx
    .updateTable('payroll_runs')
    .set({
      state: 'finalized',
      finalized_at: now,
      freeze_id: freezeId,
      position: basis.position,
      rules_version: RULES_VERSION,
      finalize_key_hash: idempotencyKey == null ? null : hashOf(idempotencyKey),
      etag,
      snapshot,
      snapshot_hash: hashOf(snapshot),
      totals: JSON.stringify(totals),
      // A run that was ready needs no reason.
      accept_reason: failures.length > 0 ? (accept?.reason ?? null) : null,
    })
    .where('run_id', '=', runId)
    .execute();
  await trx.deleteFrom('run_freezes').where('freeze_id', '=', freezeId).execute();
  if (accept !== null)
    await recordAcceptances(trx, { runId, employerId: basis.run.employer_id }, failures, accept, now);
  return null;
}

async function dropLeftBehind(db: Db, now: string): Promise<void> {
  const before = new Date(Date.parse(now) - LEFT_BEHIND_MS).toISOString();
  const left = await db
    .selectFrom('run_freezes')
    .select('freeze_id')
    .where('started_at', '<', before)
    .execute();
  for (const { freeze_id } of left) await dropLines(db, freeze_id);
}

/** Removes the lines of an abandoned freeze, in steps that hold the write lock briefly. */
async function dropLines(db: Db, freezeId: string): Promise<void> {
  for (let removed = ROWS_AT_ONCE; removed === ROWS_AT_ONCE; ) {
    removed = await transact(db, async (trx) => {
      const rows = trx
        .selectFrom('run_employees')
        .select('employee_id')
        .where('freeze_id', '=', freezeId)
        .orderBy('employee_id')
        .limit(ROWS_AT_ONCE);
      const { numDeletedRows } = await trx
        .deleteFrom('run_employees')
        .where('freeze_id', '=', freezeId)
        .where('employee_id', 'in', rows)
        .executeTakeFirst();
      if (numDeletedRows < ROWS_AT_ONCE) {
        await trx.deleteFrom('run_freezes').where('freeze_id', '=', freezeId).execute();
      }
      return Number(numDeletedRows);
    });
  }
}

const ROWS_AT_ONCE = 500;
