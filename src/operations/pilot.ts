/** The start and the end of a pilot, in which nothing is sent to the benefits service. */
import { employersWithCensus } from '../census/staged.ts';
import { dismissUnsent, employersWithSyncs, requestSyncManually } from '../census/syncs.ts';
import { type Config, requiredApiKey } from '../config.ts';
import { isOneOf } from '../database/bulk.ts';
import { byBytes, lockNames, type SharedNow } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { configError } from '../environment.ts';
import { conflict } from '../errors.ts';
import { transactOnLedger } from '../ledger/position.ts';
import { endPilot, isSendingOff, type Pilot, pilotChanges, readPilot, startPilot } from '../outbox/pilot.ts';
import { employerSubject, subjectName } from '../outbox/queue.ts';
import { type Actor, forEmployers, recordAll, recordsOf, SYSTEM } from '../security/audit.ts';

/**
 * Returns whether sending is off, after starting the pilot that `SENDING=off` requests. Throws CONFIG if the database cannot
 * have one, or if sending is on and there is no API key.
 */
export async function adoptSending(
  db: Db,
  { sending, benefits }: Pick<Config, 'sending' | 'benefits'>,
  sharedNow: SharedNow,
): Promise<boolean> {
  const pilot = (await readPilot(db)) ?? (sending === 'off' ? await start(db, sharedNow) : null);
  if (pilot?.ended_at === null) return true;
  if (sending === 'off') {
    const ended = pilot?.ended_at.slice(0, 10);
    throw configError(
      'SENDING',
      `is off, but the pilot of this database ended on ${ended}, and a database has only one: unset it`,
    );
  }
  requiredApiKey(benefits);
  return false;
}

/** Starts the pilot, unless another sidecar has started one since, and returns it. */
function start(db: Db, sharedNow: SharedNow): Promise<Pilot> {
  return transactOnLedger(db, async (trx) => {
    const stored = await readPilot(trx);
    if (stored !== null) return stored;
    const acting = { actor: SYSTEM, now: (await sharedNow(trx)).toISOString() };
    if (!(await startPilot(trx, acting))) {
      throw configError(
        'SENDING',
        'is off, but requests of this database were delivered to the benefits service, or may have been: unset it, or start the pilot with a new database',
      );
    }
    await dismissUnsent(trx, acting.now);
    return { started_at: acting.now, ended_at: null };
  });
}

export type PilotChange = Awaited<ReturnType<typeof pilotChanges>>[number];

/** The changes that are not sent after the pilot, and the employers whose censuses are requested at its end. */
export type PilotEnd = { readonly changes: readonly PilotChange[]; readonly employers: readonly string[] };

/** Returns what the end of the pilot would do. Throws CONFLICT if no pilot is in progress. */
export async function planEndOfPilot(on: Db | Trx): Promise<PilotEnd> {
  if (!(await isSendingOff(on))) throw conflict('Sending is on.');
  const changes = await pilotChanges(on);
  const ids = changes.map(({ request_id }) => request_id);
  const reports = await recordsOf(on, 'change.report')
    .where(isOneOf(on, 'resource_id', ids))
    .execute();
  const employers = new Set([
    ...(await employersWithCensus(on, null)),
    ...(await employersWithSyncs(on, null)),
    ...reports.map(({ employer_id }) => employer_id),
  ]);
  return { changes, employers: [...employers].sort(byBytes) };
}

/** Ends the pilot and requests the censuses. Throws CONFLICT if the plan is no longer `planned`. */
export async function turnSendingOn(
  db: Db,
  planned: PilotEnd,
  { actor, sharedNow }: { actor: Actor; sharedNow: SharedNow },
): Promise<void> {
  await transactOnLedger(db, async (trx) => {
    const plan = await planEndOfPilot(trx);
    if (JSON.stringify(plan) !== JSON.stringify(planned))
      throw conflict('Changes were reported, or employers added, since they were listed. Try again.');
    const { changes, employers } = plan;
    await lockNames(
      trx,
      employers.map((id) => subjectName(employerSubject(id))),
    );
    const acting = { actor, now: (await sharedNow(trx)).toISOString() };
    await endPilot(trx, acting.now);
    await dismissUnsent(trx, acting.now);
    const details = { changes: changes.length, censuses: employers.length };
    const ended = { ...acting, action: 'sending.on', resource: null, details } as const;
    await recordAll(trx, forEmployers(ended, employers));
    for (const employerId of employers) await requestSyncManually(trx, { employerId, ...acting });
  });
}
