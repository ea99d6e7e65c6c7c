import { userInfo } from 'node:os';
import { currentCensus } from '../census/staged.ts';
import { type CensusSync, listSyncs, readSyncAnswer } from '../census/sync-list.ts';
import { viewSync } from '../census/view.ts';
import { readCensus, readDataKeys } from '../config.ts';
import { describe } from '../contract/check.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { employerSubject } from '../outbox/queue.ts';
import { createEncryptor } from '../security/encryption.ts';
import { recordPiiRead } from '../security/pii-reads.ts';
import type { Caller } from '../security/tokens.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { type Output, printable } from './output.ts';
import { printPairs, printTable } from './table.ts';

/** Enough to see how the last rounds went. */
const SYNCS_SHOWN = 5;
/** Of the newest sync, for people; `--json` has all that are kept. */
const PROBLEMS_SHOWN = 20;

/**
 * Shows what is staged for an employer and how its latest syncs went. The census itself stays encrypted. With `answer` it
 * also shows the response that failed the newest sync, which may hold personal data.
 */
export function censusShow(
  context: Context,
  { employer, answer: isAnswerAsked, json }: { employer: string; answer?: true; json?: true },
): Promise<number> {
  const { out, env } = context;
  const { maxAgeMs, overdueMs } = readCensus(env);
  return withDatabase(context, async (db) => {
    const now = context.now();
    const staged = await currentCensus(db, employer);
    const page = { limit: SYNCS_SHOWN };
    const { syncs } = await listSyncs(db, { employerId: employer }, page, { now, overdueMs });
    const fresh = staged !== null && now.getTime() - Date.parse(staged.stagedAt) <= maxAgeMs;
    const census = staged && {
      census_id: staged.censusId,
      employer_id: staged.employerId,
      staged_at: staged.stagedAt,
      employees: staged.employees,
      fresh,
    };
    const answer = isAnswerAsked ? await answerOf(context, db, syncs[0]) : undefined;
    if (json) {
      out.json({ census, syncs: syncs.map(viewSync), ...(answer !== undefined && { answer }) });
    } else {
      if (census === null) out.print('no census is staged');
      else printPairs(out, { ...census, fresh: fresh ? 'yes' : 'no: older than CENSUS_MAX_AGE' });
      printSyncs(out, syncs);
      if (answer !== undefined) printAnswer(out, answer);
    }
    return 0;
  });
}

/** Records the read before it opens anything. */
async function answerOf({ env, now }: Context, db: Db, sync: CensusSync | undefined): Promise<string | null> {
  if (sync === undefined) return null;
  const encryptor = createEncryptor(readDataKeys(env));
  const read = {
    caller: commandCaller(),
    what: 'census',
    whatId: sync.sync_id,
    subject: employerSubject(sync.employer_id),
    now: now().toISOString(),
  } as const;
  await transact(db, (trx) => recordPiiRead(trx, read));
  return readSyncAnswer(db, encryptor, sync.sync_id);
}

/** A command has no token: the audit log names the user of the system instead. */
function commandCaller(): Caller {
  let name: string;
  try {
    name = userInfo().username;
  } catch {
    name = `uid ${process.getuid?.()}`;
  }
  return { tokenId: 'command', name, scopes: [] };
}

function printAnswer(out: Output, answer: string | null): void {
  out.print('');
  if (answer === null) out.note('the service rejected no upload of the latest sync');
  else if (answer === '') out.note('the service rejected the upload with a response that has no body');
  else for (const line of answer.split('\n')) out.print(printable(line));
}

function printSyncs(out: Output, syncs: readonly CensusSync[]): void {
  if (syncs.length === 0) {
    out.note('no sync was requested yet');
    return;
  }
  out.print('');
  printTable(
    out,
    ['requested', 'state', 'uploaded', 'completed', 'reason'],
    syncs.map((sync) => [
      sync.requested_at,
      sync.overdue ? `${sync.state}, overdue` : sync.state,
      sync.uploaded_at,
      sync.completed_at,
      sync.reason,
    ]),
  );
  for (const problem of (syncs[0]?.problems ?? []).slice(0, PROBLEMS_SHOWN)) {
    out.print(`  ${printable(describe(problem))}`);
  }
}
