/** Three sidecars on one PostgreSQL, and checks of the events that any of them acknowledged. */
import { sql } from 'kysely';
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { open } from '../database/scratch.ts';
import { eventually } from './eventually.ts';
import { type Event, type Load, redeliver } from './load.ts';
import { breaches } from './oracle.ts';
import { type Instance, type Stage, type StageOptions, setStage } from './stage.ts';
import { startWire, type Wire } from './wire.ts';

export type Three = {
  readonly stage: Stage;
  readonly all: readonly [Instance, Instance, Instance];
  /** The proxy between the third sidecar and the database. */
  readonly wire: Wire;
  /** A direct connection to the database. */
  readonly db: Db;
  readonly acknowledged: ReadonlyMap<string, Event>;
  /** Starts load on these sidecars. */
  load(series: string, on?: readonly Instance[], options?: { connections?: number; events?: number }): Load[];
  /**
   * Records acknowledged events, and delivers events without a known outcome to this sidecar until they are acknowledged.
   * Returns the latter.
   */
  settle(loads: readonly Load[], to: Instance): Promise<Event[]>;
  /** Returns the broken promises, once no event is pending. */
  judge(): Promise<string[]>;
};

/** Returns the name of the database sessions of the nth sidecar, from 0. */
export function nameOf(index: number): string {
  return `sidecar-${index}`;
}

/** Creates them. The test starts them. */
export async function setThree(t: Test, options: StageOptions = {}): Promise<Three> {
  const stage = await setStage(t, { ...options, start: false });
  const { databaseUrl } = stage;
  const wire = await startWire(t, databaseUrl);
  const named = (url: string, index: number) => ({
    DATABASE_URL: `${url}?application_name=${nameOf(index)}`,
  });
  Object.assign(stage.variables, named(databaseUrl, 0));
  const second = await stage.another(named(databaseUrl, 1));
  const third = await stage.another(named(wire.url, 2));
  const all = [stage, second, third] as const;
  const db = open(t, databaseUrl);
  const acknowledged = new Map<string, Event>();

  return {
    stage,
    all,
    wire,
    db,
    acknowledged,
    load: (series, on = all, options = {}) => on.map((one, index) => one.load(`${series}-${index}`, options)),
    async settle(loads, to) {
      const inDoubt = loads.flatMap((load) => [...load.inDoubt.values()]);
      for (const load of loads)
        for (const event of load.acknowledged.values()) acknowledged.set(event.id, event);
      const left = async () => (await redeliver(to.send, inDoubt, acknowledged)).length;
      await eventually('events in doubt are accepted', left, 0);
      return inDoubt;
    },
    async judge() {
      await nothingPending(db);
      return breaches({ databaseUrl, acknowledged: acknowledged.values() });
    },
  };
}

export function nothingPending(db: Db): Promise<unknown> {
  return eventually(
    'no event is pending',
    () => db.selectFrom('inbox').select('seq').where('state', '=', sql.lit('pending')).limit(1).execute(),
    { length: 0 },
  );
}

export async function deadlocks(db: Db): Promise<number> {
  const { rows } = await sql<{ deadlocks: number }>`
    select deadlocks from pg_stat_database where datname = current_database()`.execute(db);
  return rows[0]?.deadlocks as number;
}
