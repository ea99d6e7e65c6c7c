/** Which thread does what, by engine. */
import { type Engine, engineOfUrl } from '../database/engine.ts';

export type Placement = {
  /** Whether the public listener has a thread of its own. Otherwise it is on the main one, which stores. */
  receivesApart: boolean;
  /** Where the apply loop runs. */
  applies: 'main' | 'private';
};

/**
 * SQLite works on the thread that asks it: receiving goes on beside it, on another, and the loop is where there are no
 * queries. PostgreSQL works elsewhere: what stores has time for deliveries too, and the private side for the loop.
 */
const PLACEMENTS: Readonly<Record<Engine, Placement>> = {
  sqlite: { receivesApart: true, applies: 'main' },
  postgres: { receivesApart: false, applies: 'private' },
};

export function placementOf(databaseUrl: string): Placement {
  return PLACEMENTS[engineOfUrl(databaseUrl)];
}
