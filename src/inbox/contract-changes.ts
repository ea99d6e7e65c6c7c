/** Records what events have that the contract does not know, by event type, with the first and the last event. */
import { sql } from 'kysely';
import type { Check, Found, Question } from '../checks.ts';
import { describeUnknown, shownType, type Unknown } from '../contract/unknown.ts';
import { isOneOf } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { Db, Trx } from '../database/tables.ts';
import { notify } from '../notifications/store.ts';

/** Rows in all: a sender that makes up names fills no more. */
const CHANGES_MAX = 100;

type Change = Unknown & { readonly event_type: string };

const keyOf = ({ event_type, field, kind }: Change): string => `${kind} ${event_type} ${field}`;

/** Collects the changes in the events of a batch, in order of receipt. */
export function createChanges() {
  const seen = new Map<string, Change & { first_event_id: string; last_event_id: string }>();
  return {
    note(eventId: string, eventType: string | null, unknown: readonly Unknown[]): void {
      for (const { field, kind } of unknown) {
        const change = { event_type: shownType(eventType ?? ''), field, kind };
        const first_event_id = seen.get(keyOf(change))?.first_event_id ?? eventId;
        seen.set(keyOf(change), { ...change, first_event_id, last_event_id: eventId });
      }
    },
    /** Stores them. The caller holds the lock of the ledger, so the limit is exact. */
    async record(trx: Trx, now: string): Promise<void> {
      if (seen.size === 0) return;
      const rows = await trx.selectFrom('contract_changes').select(['event_type', 'field', 'kind']).execute();
      const known = new Set(rows.map(keyOf));
      for (const [key, { first_event_id, last_event_id, ...change }] of seen) {
        const { event_type, field, kind } = change;
        if (known.has(key)) {
          const row = trx.updateTable('contract_changes').set({ last_event_id });
          const ofType = row.where('event_type', '=', event_type).where('kind', '=', kind);
          await ofType.where('field', '=', field).execute();
        } else if (known.size < CHANGES_MAX) {
          known.add(key);
          const row = { ...change, first_event_id, last_event_id };
          await trx.insertInto('contract_changes').values(row).execute();
          await notify(trx, 'contract.changed', { event_id: first_event_id, ...change }, now);
        }
      }
    },
  };
}

/** Returns those of these events that were the first with a change. */
export async function firstWithChange(db: Db | Trx, eventIds: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('contract_changes')
    .select('first_event_id')
    .where(isOneOf(db, 'first_event_id', eventIds))
    .execute();
  return new Set(rows.map(({ first_event_id }) => first_event_id));
}

type ChangeFound = Found & { change: Change; last: string };

export const CONTRACT_CHANGED: Check<Db, Question, ChangeFound> = {
  id: 'contract-changed',
  isGeneral: true,
  title: 'Events have what the contract does not know',
  // A new field takes nothing from payroll, and an event that cannot be applied has its own failure.
  severity: 'warn',
  async find(db) {
    const rows = await db
      .selectFrom('contract_changes')
      .innerJoin('inbox', 'inbox.event_id', 'contract_changes.first_event_id')
      .select(['contract_changes.event_type', 'field', 'kind', 'first_event_id', 'last_event_id'])
      .where('dismissed_at', 'is', null)
      .orderBy('contract_changes.event_type')
      .orderBy('field')
      .orderBy('kind')
      .execute();
    return rows.map(({ first_event_id: event_id, last_event_id: last, ...change }) => {
      return { change, last, event_id, result: 'warn' };
    });
  },
  text: ({ event_id, change, last }) => {
    const more = last === event_id ? '' : `, last in ${last}`;
    return `${event_id}: ${describeUnknown(change)} (${change.event_type}${more})`;
  },
  advice:
    'The benefits service sends what this release does not know, and does not use. Compare the event with the service’s documentation, check for an upgrade, and dismiss the event once you have read it.',
  passed: 'Events have nothing that the contract does not know.',
  fixed: { at: 'events', query: {}, docs: 'receiving-events.md#a-changed-contract' },
};

/** Checks that the events of each change exist. */
export async function verifyChanges(db: Db, { report }: Verifying): Promise<void> {
  for (const column of ['first_event_id', 'last_event_id'] as const) {
    const rows = await db
      .selectFrom('contract_changes')
      .leftJoin('inbox', 'inbox.event_id', `contract_changes.${column}`)
      .select(['contract_changes.event_type', 'field', 'kind'])
      .where(sql<boolean>`inbox.event_id is null`)
      .execute();
    for (const change of rows) report('contract_changes', keyOf(change), column, 'there is no such event');
  }
}
