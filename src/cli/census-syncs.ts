/** The commands of census syncs. */
import { describeHold } from '../census/holds.ts';
import { ANOTHER_PERSON, NOT_RELEASED, releaseSync } from '../census/release.ts';
import { mayFetch } from '../census/source-dir.ts';
import { type CensusSync, findSync, readSyncResponse } from '../census/sync-list.ts';
import { dismissSync, requestSyncManually } from '../census/syncs.ts';
import { ago } from '../checks.ts';
import { readCensus, readDataKeys } from '../config.ts';
import { describe } from '../contract/check.ts';
import { databaseNow, sharedClock } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { record } from '../security/audit.ts';
import { createEncryptor } from '../security/encryption.ts';
import { assertKnownEmployer } from './arguments.ts';
import { actingIn, type Command, confirm, type DatabaseContext } from './command.ts';
import { type CommandError, failed, unknownId } from './failure.ts';
import { type Column, type Output, printable, printResult, printTable, printWrapped } from './output.ts';

/** For examples. */
const SYNC_ID = '5d1f9c1e-4c07-4b1a-9a35-7f0e2f6c8b21';

/** Employees of a hold that are printed; `--json` has more. */
const EMPLOYEES_LISTED = 20;

export function addSyncCommands(census: Command): void {
  census
    .subcommand('sync', "Upload an employer's census now.")
    .records('census-sync.request')
    .examples('census sync --employer maple-bakery')
    .newEmployer()
    .json()
    .doesOnDatabase(async (context, { employer }: { employer: string }) => {
      const { db, out, env } = context;
      const { overdueMs, source } = readCensus(env);
      const now = await databaseNow(db, context.now);
      if (!(await mayFetch(source, employer))) await assertKnownEmployer(db, employer);
      const request = { employerId: employer, ...actingIn(context, now) };
      const syncId = await transact(db, (trx) => requestSyncManually(trx, request));
      const sync = await findSync(db, syncId, { now, overdueMs });
      printResult(out, sync, syncId);
      const what =
        source.kind === 'push'
          ? 'uploads the census as soon as a fresh one is staged'
          : 'fetches the census from CENSUS_SOURCE and uploads it';
      out.note(`The sidecar ${what}. Follow it with "benefits-sidecar census show".`);
    });
  census
    .subcommand('dismiss', 'Mark a sync that is waiting, held, failed or overdue as reviewed.')
    .records('census-sync.dismiss')
    .examples(`census dismiss ${SYNC_ID} --reason "the employer left"`)
    .argument('<sync-id>', 'The id of the sync, which "census show" prints')
    .reason('Why; stored with the sync')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, syncId: string, { reason }: { reason: string }) => {
      const { db, out } = context;
      const { sync, at, overdueMs, find } = await knownSync(context, syncId);
      await confirm(
        context,
        [`${syncId}: ${sync.employer_id}, ${stateOf(sync)}, requested ${sync.requested_at}.`],
        'Dismiss it? Readiness stops reporting it, and staging a census no longer requests it again.',
      );
      const dismissal = { reason, overdueBefore: ago(at, overdueMs), ...actingIn(context, at) };
      const outcome = await transact(db, (trx) => dismissSync(trx, syncId, dismissal));
      if (outcome === 'unknown') throw unknownSync(syncId);
      if (outcome === 'nothing to dismiss')
        throw failed(`${syncId} cannot be dismissed: it is ${sync.state}, and not overdue`);
      printResult(out, await find(), `Dismissed ${syncId}`);
    });
  census
    .subcommand('release', 'Upload a held census as it is, for all syncs that are held because of it.')
    .records('census-sync.release')
    .examples(`census release ${SYNC_ID} --reason "the Dayton branch was sold"`)
    .argument('<sync-id>', 'The id of the sync, which "census show" prints')
    .reason('Why the census is right; stored in the audit record')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, syncId: string, { reason }: { reason: string }) => {
      const { db, out, env, now } = context;
      const { sync, at, maxAgeMs, find } = await knownSync(context, syncId);
      const { employer_id, held_census_id, held_for } = sync;
      if (sync.state === 'held') {
        await confirm(
          context,
          [
            `${syncId}: ${employer_id}, ${stateOf(sync)}, requested ${sync.requested_at}.`,
            ...heldLines(held_for),
          ],
          releaseQuestion(held_for),
        );
      }
      const reviewed = held_census_id ?? undefined;
      const release = { reason, reviewed, freshSince: ago(at, maxAgeMs), ...actingIn(context, at) };
      const parts = { db, openKeys: () => createEncryptor(readDataKeys(env)), sharedNow: sharedClock(now) };
      const released = await releaseSync(parts, syncId, release);
      if (released.outcome === 'unknown') throw unknownSync(syncId);
      if (released.outcome === 'another person')
        throw failed([ANOTHER_PERSON, ...released.problems.map(describe)].join('\n'));
      if (released.outcome !== 'released')
        throw failed(`${syncId} is not released. ${NOT_RELEASED[released.outcome]}`);
      printResult(out, await find(), `Released the census of ${employer_id}`);
    });
}

/** Returns the response that rejected the latest upload; null without one. Records the read before it opens anything. */
export async function responseOf(context: DatabaseContext, sync: CensusSync | undefined) {
  if (sync === undefined) return null;
  const { db, env } = context;
  const encryptor = createEncryptor(readDataKeys(env));
  const read = { action: 'census-sync.read', resource: sync.id, employer: sync.employer_id } as const;
  await transact(db, (trx) => record(trx, actingIn(context), read));
  return readSyncResponse(db, encryptor, sync.id);
}

export function printResponse(out: Output, response: string | null): void {
  out.print('');
  if (response === null) out.note('The benefits service did not reject the latest upload.');
  else if (response === '') out.note('The benefits service rejected the upload with an empty response.');
  else for (const line of response.split('\n')) out.print(printable(line));
}

function releaseQuestion(holds: CensusSync['held_for']): string {
  const causes = holds.map(({ cause }) => cause);
  const effects = [
    'It is uploaded as it is',
    ...(causes.includes('employees-missing')
      ? ['the service may treat missing employees as terminated']
      : []),
    ...(causes.includes('employees-elsewhere') ? [`these employees count as this employer's too`] : []),
  ];
  return `Release its census? ${effects.join(', and ')}.`;
}

function heldLines(holds: CensusSync['held_for']): string[] {
  return holds.flatMap((hold) => [
    `${describeHold(hold)}:`,
    ...hold.employee_ids.slice(0, EMPLOYEES_LISTED).map((id) => `  ${id}`),
    ...(hold.count > EMPLOYEES_LISTED ? [`  … and ${hold.count - EMPLOYEES_LISTED} more`] : []),
  ]);
}

const SYNC_COLUMNS: readonly Column<CensusSync>[] = [
  ['sync', (sync) => sync.id],
  ['requested', (sync) => sync.requested_at],
  ['state', stateOf],
  ['uploaded', (sync) => sync.uploaded_at, 1],
  ['completed', (sync) => sync.completed_at, 2],
];

function stateOf({ state, overdue }: CensusSync): string {
  return overdue ? `${state}, overdue` : state;
}

/** Returns a sync, with the times that decide whether it is fresh and overdue. */
async function knownSync({ db, env, now }: DatabaseContext, syncId: string) {
  const { maxAgeMs, overdueMs } = readCensus(env);
  const at = await databaseNow(db, now);
  const find = () => findSync(db, syncId, { now: at, overdueMs });
  const sync = await find();
  if (sync === null) throw unknownSync(syncId);
  return { sync, at, maxAgeMs, overdueMs, find };
}

function unknownSync(syncId: string): CommandError {
  return unknownId('census sync', syncId, 'census show');
}

export function printSyncs(out: Output, syncs: readonly CensusSync[]): void {
  const [newest] = syncs;
  if (newest === undefined) {
    out.note('No sync has been requested.');
    return;
  }
  out.print('');
  printTable(out, SYNC_COLUMNS, syncs);
  if (newest.reason) printWrapped(out, 'Reason of the newest sync: ', printable(newest.reason));
  for (const line of heldLines(newest.held_for)) out.print(printable(line));
  if (newest.dismissed_reason) printWrapped(out, 'Dismissed: ', printable(newest.dismissed_reason));
  // `--json` has all.
  for (const problem of newest.problems.slice(0, 20)) out.print(`  ${printable(describe(problem))}`);
}
