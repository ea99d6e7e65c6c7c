/** Events as the sidecar itself receives them: stored, then applied by the real loop. */
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { createApplyLoop } from '../../src/inbox/apply.ts';
import { storeArrivals } from '../../src/inbox/inbox.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { deduction } from '../contract/samples.ts';

export type Delivery = { eventId: string; body: Buffer };

export function eventOf(eventId: string, eventType: string, data: object, createdAt?: string): Delivery {
  const envelope = {
    id: `env_${eventId}`,
    event_type: eventType,
    data,
    ...(createdAt && { created_at: createdAt }),
  };
  return { eventId, body: Buffer.from(JSON.stringify(envelope)) };
}

/** A deduction event: the sample with the given fields. */
export function deductionOf(eventId: string, fields: object, createdAt = '2026-01-10T00:00:00Z'): Delivery {
  return eventOf(eventId, 'employee.deduction-updated', { ...deduction, ...fields }, createdAt);
}

export async function receive(db: Db, deliveries: readonly Delivery[], at = '2026-01-15T00:00:00.000Z') {
  await transact(db, (trx) => storeArrivals(trx, deliveries, at));
}

/** Applies until nothing is pending. */
export async function apply(db: Db, at = '2026-01-15T00:00:00.000Z'): Promise<void> {
  const loop = createApplyLoop({
    db,
    sharedNow: async () => new Date(at),
    log: silentLog,
    onApplied: () => {},
    onFatal: (error) => {
      throw error;
    },
  });
  for (;;) {
    const { applied, ignored, quarantined } = await loop.runOnce();
    if (applied + ignored + quarantined === 0) return;
  }
}

export async function deliver(db: Db, deliveries: readonly Delivery[], at?: string): Promise<void> {
  await receive(db, deliveries, at);
  await apply(db, at);
}

/** Stores an event that meets the contract and could not be applied. */
export async function quarantine(db: Db, delivery: Delivery, at?: string): Promise<void> {
  await receive(db, [delivery], at);
  const reason = 'applying it failed (internal error): reprocess it after an upgrade, or dismiss it';
  await transact(db, (trx) =>
    trx
      .updateTable('inbox')
      .set({
        state: 'quarantined',
        event_type: 'employee.deduction-updated',
        reason,
        finished_at: at ?? '2026-01-15T00:00:00.000Z',
      })
      .where('event_id', '=', delivery.eventId)
      .execute(),
  );
}
