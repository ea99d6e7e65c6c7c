/** Reports that an open run may have changed since its readiness was read. It computes no line. */
import { setTimeout } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { closed } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { isAppError } from '../../errors.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { employeesWithFacts, employersWithFacts, hasFacts } from '../../ledger/changed-since.ts';
import { readPosition } from '../../ledger/position.ts';
import { forget, knownBy, noteRead, readKnown } from '../../notifications/known.ts';
import { isTold, lockSubjects, notify } from '../../notifications/store.ts';
import { runSubject } from '../../notifications/types.ts';
import { readHead } from '../../security/audit-chain.ts';
import {
  employersRecordedAfter,
  isChangeRecordedAfter,
  resourcesRecordedAfter,
} from '../../security/audit-list.ts';
import { createMembers } from '../compute/members.ts';
import { employeesReported } from '../facts/taken-lines.ts';
import { findRun, notifiedRun, type StoredRun } from '../records/runs.ts';

/** Everything up to a position of the ledger and an audit record. */
const STATE = { position: Type.Integer(), record: Type.Integer() };
const DataState = closed(STATE);
type DataState = Static<typeof DataState>;

/** What the first read of a run contained and, if changes followed, the last one. Changes after the first are not reported yet. */
const Read = closed({
  ...{ run_id: Type.String(), employer_id: Type.String(), pay_date: Type.String() },
  ...STATE,
  last: Type.Optional(DataState),
});
type Read = Static<typeof Read>;

async function readState(db: Db): Promise<DataState> {
  return { position: await readPosition(db), record: (await readHead(db)).record_id };
}

/** The pause after a run: enough for several queries of other requests. */
const PAUSE_MS = 2;

const parseRead = jsonColumn('notification_known', 'data', Read);

/** Returns what a readiness read from now on contains, or null if nobody is told of outdated runs. */
export async function beginRead(db: Db, run: StoredRun): Promise<Read | null> {
  if (!(await isTold(db, 'run.outdated'))) return null;
  return { ...notifiedRun(run), ...(await readState(db)) };
}

/** Stores that the readiness of a run was read. A page that refreshes stores nothing while nothing changes. */
export async function noteReadinessRead(db: Db, read: Read): Promise<void> {
  const subject = runSubject(read.run_id);
  const known = await readKnown(db, 'run.outdated', subject);
  if (known !== null && !(await addsTo(db, parseRead(known, subject), read))) return;
  await transact(db, async (trx) => {
    await lockSubjects(trx, [subject]);
    const known = await readKnown(trx, 'run.outdated', subject);
    const both = known === null ? read : bothOf(parseRead(known, subject), read);
    await noteRead(trx, 'run.outdated', subject, JSON.stringify(both));
  });
}

/** Reports whether a read contains less than the first known one, or follows changes since the last known one. */
async function addsTo(db: Db, known: Read, read: Read): Promise<boolean> {
  if (read.position < known.position || read.record < known.record) return true;
  return hasChanged(db, { ...known, ...known.last }, read.position);
}

/** Keeps the first read until the changes after it are reported, so that no later read hides them. */
function bothOf(known: Read, read: Read): Read {
  const last = known.last ?? known;
  const at = (pick: typeof Math.min, other: DataState): DataState => ({
    position: pick(other.position, read.position),
    record: pick(other.record, read.record),
  });
  return { ...read, ...at(Math.min, known), last: at(Math.max, last) };
}

/** Returns a function that reports which runs are outdated. It looks at a run only once, and again after facts of its employer. */
export function createOutdatedRuns(db: Db): (now: Date) => Promise<void> {
  /** What was read of the runs that were looked at, by subject, and up to where. */
  let looked: { at: DataState; reads: ReadonlyMap<string, string> } | null = null;
  return async (now) => {
    const reads = await knownBy(db, 'run.outdated');
    if (reads.size === 0) {
      looked = null;
      return;
    }
    const at = await readState(db);
    const changed = looked === null ? new Set<string>() : await employersChangedAfter(db, looked.at, at);
    for (const [subject, text] of reads) {
      const read = parseRead(text, subject);
      const before = looked?.reads.get(subject) === text ? looked.at : null;
      if (before !== null && !changed.has(read.employer_id)) continue;
      if (await isOutdated(db, read, before ?? read, at)) {
        const { last, ...rest } = read;
        // The report covers the changes up to the last read. Later ones need another report.
        const next = last !== undefined && !(await isOutdated(db, rest, last, at)) ? last : null;
        await transact(db, async (trx) => {
          await lockSubjects(trx, [subject]);
          // The run was read again, or another sidecar reported it.
          if ((await readKnown(trx, 'run.outdated', subject)) !== text) return;
          if (next === null) await forget(trx, subject, 'run.outdated');
          else await noteRead(trx, 'run.outdated', subject, JSON.stringify({ ...rest, ...next }));
          await notify(trx, 'run.outdated', notifiedRun(read), now.toISOString());
        });
      }
      await setTimeout(PAUSE_MS);
    }
    looked = { at, reads };
  };
}

async function employersChangedAfter(db: Db, from: DataState, to: DataState): Promise<Set<string>> {
  const facts = await employersWithFacts(db, { after: from.position, upTo: to.position });
  const reports = from.record === to.record ? [] : await employersRecordedAfter(db, from.record, 'run.taken');
  return new Set([...facts, ...reports]);
}

/** Reports whether facts or reports from one state to another concern an employee of a run that is still open. */
async function isOutdated(db: Db, read: Read, from: DataState, to: DataState): Promise<boolean> {
  const { run_id, employer_id, position } = read;
  if (!(await hasChanged(db, { ...read, ...from }, to.position))) return false;
  const stored = await findRun(db, run_id);
  if (stored?.state !== 'open') return false;
  try {
    const areIn = await createMembers(db, stored, position);
    const range = { after: from.position, upTo: to.position };
    for await (const ids of employeesWithFacts(db, employer_id, range)) if (await areIn(ids)) return true;
    for (const taken of await resourcesRecordedAfter(db, employer_id, from.record, 'run.taken'))
      for await (const ids of employeesReported(db, taken)) if (await areIn(ids)) return true;
    return false;
  } catch (error) {
    // The settings no longer have its pay date: it changes in any case.
    if (isAppError(error, 'RUN_REFUSED')) return true;
    throw error;
  }
}

/**
 * Reports whether a fact of the employer arrived between a read and a position, or a report of amounts taken after the read. It is
 * cheaper than `isOutdated`.
 */
async function hasChanged(db: Db, { employer_id, position, record }: Read, upTo: number): Promise<boolean> {
  return (
    (await hasFacts(db, employer_id, { after: position, upTo })) ||
    (await isChangeRecordedAfter(db, employer_id, record, 'run.taken'))
  );
}
