import type { EventState } from '../database/tables.ts';
import type { EventFilter } from '../inbox/events.ts';

/** The options that `events list` and `events reprocess` share. */
export type FilterOptions = { state?: EventState; type?: string; from?: string; until?: string };

export function filterOf({ state, type, from, until }: FilterOptions): EventFilter {
  return { state, eventType: type, from, until };
}
