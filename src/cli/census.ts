/** The commands of censuses and their syncs. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { checkCensus, type Findings, viewFindings } from '../census/check.ts';
import { type Comparison, compareCensus } from '../census/diff.ts';
import { describeHold } from '../census/holds.ts';
import type { Persons } from '../census/persons.ts';
import type { CensusContent } from '../census/reading.ts';
import { mayFetch } from '../census/source-dir.ts';
import { listStagedCensuses } from '../census/staged.ts';
import { stageCensus } from '../census/staging.ts';
import { type CensusSync, findSync, listSyncs, readSyncResponse } from '../census/sync-list.ts';
import { dismissSync, NOT_RELEASED, releaseSync, requestSyncManually } from '../census/syncs.ts';
import { createWarnings, type Warnings } from '../census/warnings.ts';
import { ago, FOUND_AT_MOST } from '../checks.ts';
import { readCensus, readDataKeys } from '../config.ts';
import { describe } from '../contract/check.ts';
import { databaseNow, sharedClock } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { codeOf } from '../errors.ts';
import { ELEMENT_BYTES_MAX } from '../formats/bytes.ts';
import { activeTwice } from '../ledger/checks.ts';
import { employeesKnownAt } from '../ledger/roster.ts';
import { isKnownEmployer } from '../payroll/lifecycle/employers.ts';
import { record } from '../security/audit.ts';
import { createEncryptor } from '../security/encryption.ts';
import { assertKnownEmployer, employerId, several } from './arguments.ts';
import {
  actingIn,
  type Command,
  type Context,
  confirm,
  type DatabaseContext,
  todayIn,
  withDatabase,
} from './command.ts';
import { type CommandError, failed, unknownId, wrongUsage } from './failure.ts';
import {
  type Column,
  counted,
  type Output,
  printable,
  printFirst,
  printPairs,
  printResult,
  printTable,
  printWrapped,
} from './output.ts';

/** For examples. */
const SYNC_ID = '5d1f9c1e-4c07-4b1a-9a35-7f0e2f6c8b21';

const CENSUS_FILE = 'A .json file, or NAME.csv with NAME.organization.json next to it';

const SAME_PERSON = [
  '--same-person <id>',
  'An employee who is one person with the employee of this id in the census of another employer; repeatable, with --reason',
  several((text) => text),
] as const;

type PersonOptions = { samePerson?: string[]; reason?: string };

function personsOf({ samePerson = [], reason = '' }: PersonOptions): Persons {
  if (samePerson.length > 0 && reason.trim() === '') throw wrongUsage('--same-person needs a --reason');
  return { samePerson, reason };
}

export function addCensusCommands(program: Command): void {
  const census = program.subcommand('census', 'Validate, stage and upload employer censuses.');
  census
    .subcommand('validate', 'Check a census file against the contract, and store nothing.')
    .records('none')
    .examples('census validate census.json', 'census validate census.csv --employer maple-bakery')
    .argument('<file>', CENSUS_FILE)
    .option('--employer <id>', 'Also compare the census with the last upload of this employer', employerId)
    .option(...SAME_PERSON)
    .option('--reason <text>', 'Why they are one person')
    .json()
    .does(async (context, file: string, { employer, ...persons }: { employer?: string } & PersonOptions) => {
      // Without an employer it needs no configuration and no database.
      const { out } = context;
      const compared =
        employer === undefined ? null : await compare(context, employer, file, personsOf(persons));
      const report = compared ?? (await check(context, file));
      printResult(out, report, () => {
        printWarnings(out, report);
        if (!report.valid) return printProblems(out, report);
        out.print(`Valid: ${counted(report.employees, 'employee')}`);
        for (const line of compared === null ? [] : changesInWords(compared)) out.print(printable(line));
      });
      return report.valid ? 0 : 1;
    });
  census
    .subcommand('stage', 'Check a census file and stage it for the next upload.')
    .records('census.stage')
    .examples('census stage census.json --employer maple-bakery')
    .argument('<file>', CENSUS_FILE)
    .newEmployer()
    .option(...SAME_PERSON)
    .option('--reason <text>', 'Why they are one person; stored in the audit record')
    .json()
    .does(async (context, file: string, { employer, ...persons }: { employer: string } & PersonOptions) => {
      const { out, env, now } = context;
      const encryptor = createEncryptor(readDataKeys(env));
      const content = await openCensusFile(file);
      return withDatabase(context, async (db) => {
        const staging = { db, encryptor, sharedNow: sharedClock(now) };
        const staged = await stageCensus(staging, employer, content, {
          ...{ actor: context.actor, ...personsOf(persons) },
        });
        if (!staged.ok) {
          const findings = viewFindings(staged);
          printResult(out, findings, () => printProblems(out, findings));
          return 1;
        }
        const { censusId: id, employees } = staged;
        printResult(out, { id, employees }, `Staged ${counted(employees, 'employee')} of ${employer}`);
        await noteEmployedTwice(context, db, employer);
        return 0;
      });
    });
  census
    .subcommand('show', "Show an employer's staged census and latest syncs.")
    .records('none')
    .examples('census show --employer maple-bakery', 'census show --employer maple-bakery --response')
    .employer()
    .option(
      '--response',
      'Also show the response that rejected the latest upload. It may contain personal data, so the read is recorded',
    )
    .table()
    .doesOnDatabase(
      async (context, { employer, response: withResponse }: { employer: string; response?: true }) => {
        const { db, out, env } = context;
        const { maxAgeMs, overdueMs } = readCensus(env);
        const now = await databaseNow(db, context.now);
        const { censuses } = await listStagedCensuses(db, { employerId: employer }, { limit: 1 });
        const staged = censuses[0] ?? null;
        const { syncs } = await listSyncs(db, { employerId: employer }, { limit: 5 }, { now, overdueMs });
        const census = staged && {
          ...staged,
          fresh: now.getTime() - Date.parse(staged.staged_at) <= maxAgeMs,
        };
        const response = withResponse ? await responseOf(context, syncs[0]) : undefined;
        const result = { census, syncs, ...(response !== undefined && { response }) };
        printResult(out, result, () => {
          if (census === null) out.print('No census is staged.');
          else {
            printPairs(out, {
              ...census,
              last_upload: census.last_upload?.uploaded_at ?? 'none',
              fresh: census.fresh ? 'yes' : 'no: older than CENSUS_MAX_AGE',
            });
          }
          printSyncs(out, syncs);
          if (response !== undefined) printResponse(out, response);
        });
      },
    );
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
      const { db, out, env } = context;
      const { overdueMs } = readCensus(env);
      const now = await databaseNow(db, context.now);
      const sync = await findSync(db, syncId, { now, overdueMs });
      if (sync === null) throw unknownSync(syncId);
      await confirm(
        context,
        [`${syncId}: ${sync.employer_id}, ${stateOf(sync)}, requested ${sync.requested_at}.`],
        'Dismiss it? Readiness stops reporting it, and staging a census no longer requests it again.',
      );
      const dismissal = { reason, overdueBefore: ago(now, overdueMs), ...actingIn(context, now) };
      const outcome = await transact(db, (trx) => dismissSync(trx, syncId, dismissal));
      if (outcome === 'unknown') throw unknownSync(syncId);
      if (outcome === 'nothing to dismiss')
        throw failed(`${syncId} cannot be dismissed: it is ${sync.state}, and not overdue`);
      printResult(out, await findSync(db, syncId, { now, overdueMs }), `Dismissed ${syncId}`);
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
      const { db, out, env } = context;
      const { maxAgeMs, overdueMs } = readCensus(env);
      const now = await databaseNow(db, context.now);
      const sync = await findSync(db, syncId, { now, overdueMs });
      if (sync === null) throw unknownSync(syncId);
      const { employer_id, held_census_id, held_for } = sync;
      if (sync.state === 'held') {
        await confirm(
          context,
          [
            `${syncId}: ${employer_id}, ${stateOf(sync)}, requested ${sync.requested_at}.`,
            ...heldLines(held_for),
          ],
          'Release its census? It is uploaded as it is, and the service may treat missing employees as terminated.',
        );
      }
      const reviewed = held_census_id ?? undefined;
      const release = { reason, reviewed, freshSince: ago(now, maxAgeMs), ...actingIn(context, now) };
      const outcome = await transact(db, (trx) => releaseSync(trx, syncId, release));
      if (outcome === 'unknown') throw unknownSync(syncId);
      if (outcome !== 'released') throw failed(`${syncId} is not released. ${NOT_RELEASED[outcome]}`);
      printResult(
        out,
        await findSync(db, syncId, { now, overdueMs }),
        `Released the census of ${employer_id}`,
      );
    });
}

/** Opens the file of a census. The check reports what is wrong in its content. */
async function openCensusFile(path: string): Promise<CensusContent> {
  const [, stem, ending] = /^(.*)\.(json|csv)$/i.exec(path) ?? [];
  if (stem === undefined || ending === undefined) {
    throw wrongUsage('a census must be a .json or .csv file: its extension is its format');
  }
  if (!(await stat(path)).isFile()) throw failed(`${path} is not a file: use a .json or .csv file`);
  const content = createReadStream(path);
  if (ending.toLowerCase() === 'json') return { format: 'json', content };
  const organizationFrom = `${stem}.organization.json`;
  return { format: 'csv', content, organization: await readOrganization(organizationFrom), organizationFrom };
}

/** Returns null if there is no such file: the check then reports that the organization is required. */
async function readOrganization(path: string): Promise<Buffer | null> {
  try {
    const { size } = await stat(path);
    if (size > ELEMENT_BYTES_MAX)
      throw failed(`${path} is too large for one organization: check its contents`);
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function printProblems(out: Output, { employees, problem_count, problems }: Findings): void {
  printFirst(out, problems.map(describe), problem_count);
  const summary = `${counted(problem_count, 'problem')} in ${counted(employees, 'employee')}`;
  out.note(`${out.color('red', 'Rejected')}: ${summary}. Fix the file and try again.`);
}

function printWarnings(out: Output, { warning_count, warnings }: ReturnType<Warnings['view']>): void {
  if (warning_count === 0) return;
  printFirst(out, warnings.map(describe), warning_count);
  const summary = `${counted(warning_count, 'warning')}: the contract allows these values, and they are probably mistakes.`;
  out.note(`${out.color('yellow', 'Check')}: ${summary}`);
}

/** Changes of each kind that are printed; `--json` has more. */
const LISTED = 20;

/** Returns what a census would change: counts, ids and names of fields, no values. */
function changesInWords({ last_upload, changes }: Comparison): string[] {
  if (last_upload === null) return ['Nothing to compare with: no census of this employer has been uploaded.'];
  const upload = `the upload of ${last_upload.uploaded_at}`;
  if (changes === null) return [`Cannot compare with ${upload}: its hash key was deleted.`];
  const { added, changed, absent, unchanged, organization } = changes;
  const lines = [
    `Since ${upload}: ${added.count} added, ${changed.count} changed, ${absent.count} absent, ${unchanged} unchanged`,
  ];
  if (organization.length > 0) lines.push(`  organization: ${organization.join(', ')}`);
  const lists = {
    added: added.employee_ids,
    changed: changed.employees.map(({ employee_id, fields }) => `${employee_id}: ${fields.join(', ')}`),
    absent: absent.employee_ids,
  };
  for (const what of ['added', 'changed', 'absent'] as const) {
    lines.push(...lists[what].slice(0, LISTED).map((one) => `  ${what} ${one}`));
    const left = changes[what].count - LISTED;
    if (left > 0) lines.push(`  … and ${left} more ${what}`);
  }
  return lines;
}

/** Checks a census without a database. */
async function check(context: Context, file: string) {
  const warnings = createWarnings(todayIn(context));
  const report = await checkCensus(await openCensusFile(file), undefined, null, warnings.note);
  return { ...viewFindings(report), ...warnings.view() };
}

async function compare(
  context: Context,
  employer: string,
  file: string,
  persons: Persons,
): Promise<Comparison> {
  const encryptor = createEncryptor(readDataKeys(context.env));
  const content = await openCensusFile(file);
  return withDatabase(context, async (db) => {
    // A new employer is unknown too, so this is no failure.
    if (!(await isKnownEmployer(db, employer)))
      context.out.note(
        `Nothing is known of the employer ${employer} yet. Check --employer unless it is new.`,
      );
    return compareCensus({ db, encryptor }, employer, content, todayIn(context), persons);
  });
}

/** Detects a census under the wrong employer id: its employees already work for another employer. */
async function noteEmployedTwice(context: Context, db: Db, employer: string): Promise<void> {
  const twice = await activeTwice(db, todayIn(context), FOUND_AT_MOST);
  const { size } = await employeesKnownAt(db, employer, twice);
  if (size === 0) return;
  context.out.note(
    `${counted(size, 'employee')} also active with another employer, so no run takes their deductions until each is assigned to an employer. ` +
      'If they do not have two jobs, check the employer id and the file, then stage the right census for both employers.',
  );
}

/** Records the read before it opens anything. */
async function responseOf(context: DatabaseContext, sync: CensusSync | undefined) {
  if (sync === undefined) return null;
  const { db, env } = context;
  const encryptor = createEncryptor(readDataKeys(env));
  const read = { action: 'census-sync.read', resource: sync.id, employer: sync.employer_id } as const;
  await transact(db, (trx) => record(trx, actingIn(context), read));
  return readSyncResponse(db, encryptor, sync.id);
}

function printResponse(out: Output, response: string | null): void {
  out.print('');
  if (response === null) out.note('The benefits service did not reject the latest upload.');
  else if (response === '') out.note('The benefits service rejected the upload with an empty response.');
  else for (const line of response.split('\n')) out.print(printable(line));
}

function heldLines(holds: CensusSync['held_for']): string[] {
  return holds.flatMap((hold) => [
    `${describeHold(hold)}:`,
    ...hold.employee_ids.slice(0, LISTED).map((id) => `  ${id}`),
    ...(hold.count > LISTED ? [`  … and ${hold.count - LISTED} more`] : []),
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

function unknownSync(syncId: string): CommandError {
  return unknownId('census sync', syncId, 'census show');
}

function printSyncs(out: Output, syncs: readonly CensusSync[]): void {
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
