/** Tells that an open run may have changed since its readiness was read. It computes nothing. */
import { setTimeout } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { closed } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { hasFactsAfter } from '../../ledger/changed-since.ts';
import { readPosition } from '../../ledger/position.ts';
import { forget, knownBy, noteRead, readKnown } from '../../notifications/known.ts';
import { isTold, notify } from '../../notifications/store.ts';
import { runSubject } from '../../notifications/types.ts';
import { readHead } from '../../security/audit-chain.ts';
import { isChangeRecordedAfter } from '../../security/audit-list.ts';
import { readDataState } from '../records/computations.ts';
import { notifiedRun, type StoredRun } from '../records/runs.ts';

/** What was read of a run: everything up to this position of the ledger and this audit record. */
const Read = closed({
  run_id: Type.String(),
  employer_id: Type.String(),
  pay_date: Type.String(),
  position: Type.Integer(),
  record: Type.Integer(),
});
type Read = Static<typeof Read>;

/** The pause after a run: enough for several queries of other requests. */
const PAUSE_MS = 2;

const parseRead = jsonColumn('notification_known', 'data', Read);

/** Returns what a readiness read from now on contains, or null if nobody is told of outdated runs. */
export async function beginRead(db: Db, run: StoredRun): Promise<Read | null> {
  if (!(await isTold(db, 'run.outdated'))) return null;
  const { record_id: record } = await readHead(db);
  return { ...notifiedRun(run), position: await readPosition(db), record };
}

/** Stores that the readiness of a run was read. A page that refreshes stores nothing while nothing changes. */
export async function noteReadinessRead(db: Db, read: Read): Promise<void> {
  const subject = runSubject(read.run_id);
  const known = await readKnown(db, 'run.outdated', subject);
  if (known !== null && !(await isOutdated(db, parseRead(known, subject)))) return;
  await transact(db, (trx) => noteRead(trx, 'run.outdated', subject, JSON.stringify(read)));
}

/** Returns a function that tells which runs are outdated. It looks at a run again only after payroll data or the ledger changed. */
export function createOutdatedRuns(db: Db): (now: Date) => Promise<void> {
  /** By subject, what was read and the state of the data at which it was not outdated. */
  const looked = new Map<string, string>();
  return async (now) => {
    const state = JSON.stringify(await readDataState(db));
    const reads = await knownBy(db, 'run.outdated');
    for (const subject of looked.keys()) if (!reads.has(subject)) looked.delete(subject);
    for (const [subject, text] of reads) {
      const at = text + state;
      if (looked.get(subject) === at) continue;
      const read = parseRead(text, subject);
      if (await isOutdated(db, read)) {
        await transact(db, async (trx) => {
          if ((await readKnown(trx, 'run.outdated', subject)) !== text) return;
          if (await forget(trx, subject, 'run.outdated'))
            await notify(trx, 'run.outdated', notifiedRun(read), now.toISOString());
        });
      }
      looked.set(subject, at);
      await setTimeout(PAUSE_MS);
    }
  };
}

async function isOutdated(db: Db, { employer_id, position, record }: Read): Promise<boolean> {
  return (
    (await hasFactsAfter(db, employer_id, position)) ||
    (await isChangeRecordedAfter(db, employer_id, record, 'run.taken'))
  );
}
