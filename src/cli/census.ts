/** The commands of censuses and their syncs. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { checkCensus, type Findings, viewFindings } from '../census/check.ts';
import { type Comparison, compareCensus } from '../census/diff.ts';
import type { Persons } from '../census/persons.ts';
import type { CensusContent } from '../census/reading.ts';
import { listStagedCensuses } from '../census/staged.ts';
import { stageCensus } from '../census/staging.ts';
import { listSyncs } from '../census/sync-list.ts';
import { createWarnings, type Warnings } from '../census/warnings.ts';
import { FOUND_AT_MOST } from '../checks.ts';
import { readCensus, readDataKeys } from '../config.ts';
import { describe } from '../contract/check.ts';
import { databaseNow, sharedClock } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { codeOf } from '../errors.ts';
import { ELEMENT_BYTES_MAX } from '../formats/bytes.ts';
import { activeTwice } from '../ledger/checks.ts';
import { employeesKnownAt } from '../ledger/roster.ts';
import { isKnownEmployer } from '../payroll/lifecycle/employers.ts';
import { createEncryptor } from '../security/encryption.ts';
import { employerId, several } from './arguments.ts';
import { addSyncCommands, printResponse, printSyncs, responseOf } from './census-syncs.ts';
import { type Command, type Context, todayIn, withDatabase } from './command.ts';
import { failed, wrongUsage } from './failure.ts';
import { counted, type Output, printable, printFirst, printPairs, printResult } from './output.ts';

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
  addSyncCommands(census);
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
