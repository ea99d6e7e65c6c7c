/** An apply loop with its own database, and helpers that read its results. */
import type { Test } from 'tap';
import type { Difference } from '../../src/database/difference.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { type Applied, type ApplyLoop, createApplyLoop, type Effects } from '../../src/inbox/apply.ts';
import { newestSeq, storeArrivals } from '../../src/inbox/inbox.ts';
import { verifyEventsWithoutVersion } from '../../src/inbox/verify-inbox.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { differencesOf } from '../support/differences.ts';
import { type Commits, countedCommits } from './commits.ts';

export const NOW = new Date('2026-03-01T12:00:00.000Z');

export type Body = [eventId: string, body: string | Buffer];

export type Applying = {
  db: Db;
  commits: Commits;
  loop: ApplyLoop;
  /** The results that the loop's `run` reported, in order. */
  applied: Applied[];
  fatal: unknown[];
  logged: string[];
  store(...bodies: Body[]): Promise<void>;
  /** `event id: state`, followed by the reason if there is one, in order of receipt. */
  states(): Promise<string[]>;
  /** The problems that `verify` finds with the events. */
  differences(): Promise<Difference[]>;
  /** The event ids of the ledger in order of position; throws when positions have a gap. */
  ledger(): Promise<string[]>;
};

export async function startApplying(
  t: Test,
  options: { effects?: Partial<Effects>; onLog?: (message: string) => void; onApplied?: () => void } = {},
): Promise<Applying> {
  const commits = await countedCommits(t);
  const { db } = commits;
  const applied: Applied[] = [];
  const fatal: unknown[] = [];
  const logged: string[] = [];
  const write = (fields: object, message: string) => {
    logged.push(`${message} ${JSON.stringify(fields)}`);
    options.onLog?.(message);
  };
  const log: Log = { debug: write, info: write, warn: write, error: write, fatal: write };
  const loop = createApplyLoop({
    db,
    sharedNow: async () => NOW,
    log,
    effects: { requestSync: async () => {}, completeSyncs: async () => 0, ...options.effects },
    onApplied: (one) => {
      applied.push(one);
      options.onApplied?.();
    },
    onFatal: (error) => fatal.push(error),
  });
  return {
    db,
    commits,
    loop,
    applied,
    fatal,
    logged,
    store: async (...bodies) => {
      const arrivals = bodies.map(([eventId, body]) => ({ eventId, body: Buffer.from(body as string) }));
      await transact(db, (trx) => storeArrivals(trx, arrivals, NOW.toISOString()));
    },
    states: () => statesOf(db),
    differences: async () => {
      const newest = await newestSeq(db);
      const named = await differencesOf((on) => verifyEventsWithoutVersion(db, newest, on));
      // The effects are stubs, so no sync was requested.
      return named.filter(({ table }) => table === 'inbox');
    },
    ledger: () => ledgerOf(db),
  };
}

async function statesOf(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('inbox').selectAll().orderBy('seq').execute();
  return rows.map(
    ({ event_id, state, reason }) => `${event_id}: ${state}${reason === null ? '' : ` ${reason}`}`,
  );
}

async function ledgerOf(db: Db): Promise<string[]> {
  const versions = await db
    .selectFrom('deduction_versions')
    .select(['position', 'event_id'])
    .orderBy('position')
    .execute();
  const { position } = await db.selectFrom('ledger_head').selectAll().executeTakeFirstOrThrow();
  if (position !== versions.length || versions.some((version, index) => version.position !== index + 1))
    throw new Error('positions are not contiguous');
  return versions.map((version) => version.event_id);
}

/** An effect that writes a row in its transaction, so that a rollback removes it. */
export async function leaveTrace(trx: Trx, employerId: string): Promise<void> {
  await trx
    .insertInto('refused_signatures')
    .values({ minute: employerId, cause: 'trace', refused_count: 1 })
    .execute();
}

/** The committed rows of the effect. */
export async function traces(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('refused_signatures').select('minute').orderBy('minute').execute();
  return rows.map((row) => row.minute);
}
