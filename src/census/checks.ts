/** The readiness checks of census syncs. */
import { type Selectable, sql } from 'kysely';
import {
  ago,
  type Check,
  type EmployerQuestion,
  FOUND_AT_MOST,
  type Found,
  type Question,
} from '../checks.ts';
import type { CensusSyncTable, Db } from '../database/tables.ts';
import { isSendingOff } from '../outbox/pilot.ts';
import { adviceOn, type CensusHold, describeHold } from './holds.ts';
import { currentCensus } from './staged.ts';
import { heldCensuses } from './sync-list.ts';

/** Payrolls run at least once a month, so an older census lacks the hires of the last pay period. */
const CENSUS_OLD_DAYS = 31;

const DAY_MS = 86_400_000;

type Stalled = Pick<Selectable<CensusSyncTable>, 'state' | 'problem_count'>;

/** Returns what to do about a sync that waits, failed or is overdue. */
function adviceFor({ state, problem_count }: Stalled): string {
  if (state === 'waiting') return 'Waiting: stage a fresh census.';
  if (state === 'held') return 'Held: check the census, then release it or stage another one.';
  if (state === 'failed') {
    return problem_count > 0
      ? 'Failed: correct the rows that the sync names, and stage the census again.'
      : 'Failed: read the reason of the sync and the response of the service, correct the census, and stage it again.';
  }
  if (state === 'uploaded') return 'Overdue since its upload: ask the service whether it completed the sync.';
  return 'Overdue before its upload: the reason of the sync shows what delays it.';
}

/** `requested`: when the sync was requested. */
type SyncFound = Found & { shown: string; requested: string };

export const CENSUS_SYNCS: Check<Db, Question, SyncFound> = {
  id: 'census-syncs',
  title: 'A census upload is due',
  severity: 'fail',
  async find(db, { now, employerId, overdueMs }) {
    const due = ago(now, overdueMs);
    let query = db
      .selectFrom('census_syncs')
      .select(['sync_id', 'employer_id', 'state', 'requested_at', 'problem_count'])
      .where('state', '<>', sql.lit('completed'))
      .where('state', 'not in', ['dismissed', 'held'])
      .where((where) =>
        where.or([where('state', 'in', ['waiting', 'failed']), where('requested_at', '<', due)]),
      );
    if (employerId !== undefined) query = query.where('employer_id', '=', employerId);
    const syncs = await query.orderBy('requested_at').limit(FOUND_AT_MOST).execute();
    return syncs.map((sync) => {
      const { sync_id, employer_id, state, requested_at: requested } = sync;
      const shown = state === 'waiting' || state === 'failed' ? state : 'overdue';
      return { sync_id, employer_id, shown, requested, advice: adviceFor(sync), result: 'fail' };
    });
  },
  text: ({ employer_id, shown, requested }) => `${employer_id}: ${shown}, requested ${requested}`,
  advice: 'Resolve each sync, or dismiss one that needs no upload anymore.',
  passed: 'No census sync is waiting, failed or overdue.',
  fixed: { at: 'census', query: {}, command: 'census show --employer ID', docs: 'census.md#follow-a-sync' },
};

/** Employees that the finding of one employer names. The sync lists more. */
const NAMED = 50;

export const CENSUS_HELD: Check<Db, Question, Found & { hold: CensusHold }> = {
  id: 'census-held',
  title: 'A census is held',
  severity: 'fail',
  async find(db, { employerId }) {
    const held = await heldCensuses(db, employerId);
    return held.flatMap(({ sync_id, employer_id, held_for }) =>
      held_for.map((hold) => {
        const employee_ids = hold.employee_ids.slice(0, NAMED);
        const advice = `Held: ${adviceOn([hold])}.`;
        return { sync_id, employer_id, employee_ids, hold, advice, result: 'fail' };
      }),
    );
  },
  text({ employer_id, employee_ids = [], hold }) {
    const rest = hold.count - employee_ids.length;
    const named = [...employee_ids, ...(rest > 0 ? [`and ${rest} more`] : [])];
    return `${employer_id}: ${describeHold(hold)}: ${named.join(', ')}`;
  },
  advice:
    'The service may treat employees whom a census lacks as terminated, and employees whom it lists as working for its employer. Check the census.',
  passed: 'No census is held.',
  fixed: {
    at: 'census',
    query: { state: 'held' },
    command: 'census show --employer ID',
    docs: 'census.md#a-held-census',
  },
};

/** Returns what completes a census of the employer: the newest sync that is not completed, or a new one. */
async function adviceToComplete(db: Db, employerId: string): Promise<string> {
  const sync = await db
    .selectFrom('census_syncs')
    .select(['state', 'problem_count'])
    .where('employer_id', '=', employerId)
    .where('state', '<>', sql.lit('completed'))
    .where('state', '<>', sql.lit('dismissed'))
    .orderBy('requested_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (sync?.state === 'requested')
    return 'A sync is under way: wait until its census is uploaded and completed.';
  if (sync?.state === 'uploaded') return 'A census is uploaded: wait until the service completes its sync.';
  if (sync !== undefined) return adviceFor(sync);
  const staged = await currentCensus(db, employerId);
  return staged === null
    ? 'Stage a census of this employer and sync it.'
    : 'A census of this employer is staged: sync it.';
}

/** `processed`: when the service completed the newest census. */
type Unprocessed = Found & { processed: string | null };

export const CENSUS_COMPLETED: Check<Db, EmployerQuestion, Unprocessed> = {
  id: 'census-completed',
  title: 'The service has not processed a census recently',
  severity: `fail when never; warn when longer than ${CENSUS_OLD_DAYS} days ago, or while sending is off`,
  async find(db, { now, employerId }) {
    const { newest } = await db
      .selectFrom('census_syncs')
      .select(({ fn }) => fn.max('completed_at').as('newest'))
      .where('employer_id', '=', employerId)
      .where('completed_at', 'is not', null)
      .executeTakeFirstOrThrow();
    if (newest !== null && newest >= ago(now, CENSUS_OLD_DAYS * DAY_MS)) return [];
    const finding = { employer_id: employerId, processed: newest };
    if (await isSendingOff(db)) return [{ ...finding, advice: 'Sending is off.', result: 'warn' }];
    const advice = await adviceToComplete(db, employerId);
    return [{ ...finding, advice, result: newest === null ? 'fail' : 'warn' }];
  },
  text: ({ employer_id, processed }) =>
    `${employer_id}: ${processed === null ? 'no census was processed yet' : `last processed ${processed}`}`,
  advice: 'The benefits service may have outdated employees.',
  passed: `The benefits service accepted a census of this employer within the last ${CENSUS_OLD_DAYS} days.`,
  fixed: { at: 'census', query: {}, docs: 'census.md' },
};
