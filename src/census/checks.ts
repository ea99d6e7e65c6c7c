/** The readiness checks of census syncs. */
import { sql } from 'kysely';
import { ago, type Check, type EmployerQuestion, FOUND_AT_MOST, fail } from '../checks.ts';
import type { Db } from '../database/tables.ts';

/** Payrolls run at least once a month, so an older census lacks the hires of the last pay period. */
const CENSUS_OLD_DAYS = 31;

const DAY_MS = 86_400_000;

export const CENSUS_SYNCS: Check<Db> = {
  id: 'census-syncs',
  ask: async (db, { now, employerId, overdueMs }) => {
    const due = ago(now, overdueMs);
    let query = db
      .selectFrom('census_syncs')
      .select(['employer_id', 'state', 'requested_at'])
      .where('state', '<>', sql.lit('completed'))
      .where('state', '<>', sql.lit('dismissed'))
      .where((where) =>
        where.or([where('state', 'in', ['waiting', 'failed']), where('requested_at', '<', due)]),
      );
    if (employerId !== undefined) query = query.where('employer_id', '=', employerId);
    const syncs = await query.orderBy('requested_at').limit(FOUND_AT_MOST).execute();
    return syncs.map(({ employer_id, state, requested_at }) => {
      const shown = state === 'waiting' || state === 'failed' ? state : 'overdue';
      return fail(`${employer_id}: ${shown}, requested ${requested_at}`);
    });
  },
  advice:
    'Waiting: stage a fresh census. Failed: correct the rows that are named. If none is, read the response of the service. Overdue: ask the service whether it completed the sync.',
  passed: 'No census sync is waiting, failed or overdue.',
};

export const CENSUS_COMPLETED: Check<Db, EmployerQuestion> = {
  id: 'census-completed',
  ask: async (db, { now, employerId }) => {
    const { newest } = await db
      .selectFrom('census_syncs')
      .select(({ fn }) => fn.max('completed_at').as('newest'))
      .where('employer_id', '=', employerId)
      .where('completed_at', 'is not', null)
      .executeTakeFirstOrThrow();
    if (newest === null) return [fail(`${employerId}: never`)];
    if (newest >= ago(now, CENSUS_OLD_DAYS * DAY_MS)) return [];
    return [{ example: `${employerId}: last on ${newest}`, result: 'warn' }];
  },
  advice: 'The benefits service may have outdated employees. Stage a census of this employer and sync it.',
  passed: `The benefits service accepted a census of this employer within the last ${CENSUS_OLD_DAYS} days.`,
};
