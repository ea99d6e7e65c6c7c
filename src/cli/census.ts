/** The commands of censuses and their syncs. */
import { readFile } from 'node:fs/promises';
import type { BodyOf, ResultOf } from '../api/operation.ts';
import { getCensusSync, listCensusSyncs } from '../api/operations/census-syncs.ts';
import { putCensus, validateCensus } from '../api/operations/census-uploads.ts';
import { eraseCensus, listCensuses } from '../api/operations/censuses.ts';
import { listPaySchedules } from '../api/operations/payroll-settings.ts';
import { checkCensus, viewFindings } from '../census/check.ts';
import { createWarnings } from '../census/warnings.ts';
import { describe } from '../contract/check.ts';
import { codeOf } from '../errors.ts';
import { ELEMENT_BYTES_MAX } from '../formats/bytes.ts';
import { sizeOfFile, streamOf } from './arguments.ts';
import { addSyncCommands, printResponse, printSyncs, SYNC_COLUMNS } from './census-syncs.ts';
import { type Command, type Context, confirm, todayIn } from './command.ts';
import { failed, wrongUsage } from './failure.ts';
import { addConvertCommand, printRepairs } from './file-formats.ts';
import { addOperation } from './operation-command.ts';
import { counted, type Output, printable, printFirst, printPairs, printResult } from './output.ts';

type Report = ResultOf<typeof validateCensus>;

/** Of a command with a census file. */
const CENSUS_FILE = {
  flags: { same_person: '--same-person <id>' },
  help: {
    same_person:
      'An ID that names the same person in the census of another employer; repeatable, with --reason',
  },
  more: (command: Command) =>
    command.argument(
      '<file>',
      'A .json file, or NAME.csv or NAME.xlsx with NAME.organization.json next to it',
    ),
};

export function addCensusCommands(program: Command): void {
  const census = program.subcommand('census', 'Validate, stage and upload employer censuses.');
  addOperation(census, 'validate', validateCensus, {
    ...CENSUS_FILE,
    description: 'Check a census file against the contract, and store nothing.',
    examples: ['census.json', 'census.csv --employer maple-bakery'],
    help: {
      ...CENSUS_FILE.help,
      employer_id: 'Also compare the census with the last upload of this employer',
    },
    personalData: 'Also name the changed fields, which is recorded as a read of personal data',
    offline: async (context, { employer, file }: FileOptions) =>
      employer === undefined ? check(context, file) : null,
    without: ['personal_data'],
    async input(_context, named, { file, personalData = false }: FileOptions) {
      const query = { ...named.query, personal_data: personalData };
      return { ...named, query, body: await openCensusFile(file) };
    },
    print: printReport,
    exitCode: ({ valid }) => (valid ? 0 : 1),
  });
  addOperation(census, 'stage', putCensus, {
    ...CENSUS_FILE,
    description: 'Check a census file and stage it for the next upload.',
    examples: ['census.json --employer maple-bakery'],
    input: async (_context, named, { file }: FileOptions) => ({ ...named, body: await openCensusFile(file) }),
    print(out, { employees, with_two_employers: twice, repairs }, { employer }) {
      printRepairs(out, repairs);
      out.print(`Staged ${counted(employees, 'employee')} of ${employer}`);
      if (twice !== null && twice > 0)
        out.note(
          `${counted(twice, 'employee')} also active with another employer, so no run takes their deductions until each is assigned to an employer. ` +
            'If they do not have two jobs, check the employer ID and the file, then stage the right census for both employers.',
        );
    },
  });
  addOperation(census, 'show', listCensusSyncs, {
    description: "Show an employer's staged census and latest syncs.",
    examples: ['--employer maple-bakery', '--employer maple-bakery --response'],
    without: ['employer_id', 'state', 'overdue', 'cursor', 'limit'],
    flags: { personal_data: '--response' },
    personalData:
      'Also show the response that rejected the latest upload. It may contain personal data, so the read is recorded',
    columns: SYNC_COLUMNS,
    more: (command) => command.employer(),
    async input({ perform, out }, _named, { employer, response: isAsked }: ShowOptions) {
      const query = { employer_id: employer };
      const [census = null] = (await perform(listCensuses, { query })).data;
      const { data: syncs } = await perform(listCensusSyncs, { query: { ...query, limit: 5 } });
      // These lists begin with an employer's first census, so an unknown one is an empty list.
      if (census === null && syncs.length === 0)
        await perform(listPaySchedules, { params: { employer_id: employer } });
      const [newest] = syncs;
      const asked = isAsked === true && newest !== undefined;
      const read = asked && { params: { sync_id: newest.id }, query: { response: true } };
      const response = read ? ((await perform(getCensusSync, read)).response ?? null) : null;
      printResult(out, { census, syncs, ...(isAsked && { response }) }, () => {
        if (census === null) out.print('No census is staged.');
        else {
          printPairs(out, {
            ...census,
            last_upload: census.last_upload?.uploaded_at ?? 'none',
            fresh: census.fresh ? 'yes' : 'no: older than CENSUS_MAX_AGE',
          });
        }
        printSyncs(out, syncs);
        if (isAsked) printResponse(out, response);
      });
      return null;
    },
  });
  addOperation(census, 'erase', eraseCensus, {
    description: 'Erase the census of an employer without active employees.',
    examples: ['--employer maple-bakery --reason "the employer left in July"'],
    isOfPersonalData: true,
    more: (command) => command.confirmed(),
    async input(context, named) {
      const effect =
        'Its census cannot be uploaded or compared anymore, and its unfinished syncs are dismissed.';
      await confirm(context, [effect], 'Erase the census? It cannot be undone.');
      return named;
    },
    print(out, { censuses, syncs }) {
      out.print(`Erased ${counted(censuses, 'census', 'censuses')}, dismissed ${counted(syncs, 'sync')}`);
      out.note('Backups keep it: delete old ones.');
    },
  });
  addConvertCommand(census);
  addSyncCommands(census);
}

type FileOptions = { readonly file: string; readonly employer?: string; readonly personalData?: boolean };
type ShowOptions = { readonly employer: string; readonly response?: true };

/** Opens the file of a census. The check reports what is wrong in its content. */
async function openCensusFile(path: string): Promise<BodyOf<typeof putCensus>> {
  const [, stem, ending] = /^(.*)\.(json|csv|tsv|txt|xls[xmb]?|ods)$/i.exec(path) ?? [];
  if (stem === undefined || ending === undefined) {
    throw wrongUsage('a census must be a .json, .csv or .xlsx file');
  }
  const content = await streamOf(path);
  if (ending.toLowerCase() === 'json') return { format: 'json', content };
  const organizationFrom = `${stem}.organization.json`;
  const organization = await readOrganization(organizationFrom);
  return { format: 'csv', content, organization, organizationFrom };
}

/** Returns null if there is none: the file format of the employer may have it. */
async function readOrganization(path: string): Promise<Buffer | null> {
  const size = await sizeOfFile(path).catch((error) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  if (size === null) return null;
  if (size > ELEMENT_BYTES_MAX) throw failed(`${path} is too large for one organization: check its contents`);
  return readFile(path);
}

/** Prints a report of a census. A census that was checked without a database has no changes. */
function printReport(out: Output, report: Partial<Report> & Checked): void {
  const { valid, employees, problem_count, problems, warning_count, warnings, repairs = null } = report;
  printRepairs(out, repairs);
  if (warning_count > 0) {
    printFirst(out, warnings.map(describe), warning_count);
    const summary = `${counted(warning_count, 'warning')}: the contract allows these values, and they are probably mistakes.`;
    out.note(`${out.color('yellow', 'Check')}: ${summary}`);
  }
  if (valid) {
    out.print(`Valid: ${counted(employees, 'employee')}`);
    for (const line of changesInWords(report)) out.print(printable(line));
    return;
  }
  printFirst(out, problems.map(describe), problem_count);
  const summary = `${counted(problem_count, 'problem')} in ${counted(employees, 'employee')}`;
  out.note(`${out.color('red', 'Rejected')}: ${summary}. Fix the file and try again.`);
}

/** Changes of each kind that are printed; `--json` has more. */
const LISTED = 20;

/** Returns what a census would change: counts, ids and names of fields, no values. */
function changesInWords({ last_upload, changes }: Partial<Report>): string[] {
  if (last_upload === undefined) return [];
  if (last_upload === null) return ['Nothing to compare with: no census of this employer has been uploaded.'];
  const upload = `the upload of ${last_upload.uploaded_at}`;
  if (changes == null) return [`Cannot compare with ${upload}: its hash key was deleted.`];
  const { added, changed, absent, unchanged, organization } = changes;
  const fields = changed?.employees.map(
    (employee) => `${employee.employee_id}: ${employee.fields.join(', ')}`,
  );
  const lists = [
    { what: 'added', count: added.count, lines: added.employee_ids },
    ...(changed === null ? [] : [{ what: 'changed', count: changed.count, lines: fields ?? [] }]),
    { what: 'absent', count: absent.count, lines: absent.employee_ids },
  ];
  const counts = lists.map(({ what, count }) => `${count} ${what}`);
  if (unchanged !== null) counts.push(`${unchanged} unchanged`);
  return [
    `Since ${upload}: ${counts.join(', ')}`,
    ...(organization === null || organization.length === 0
      ? []
      : [`  organization: ${organization.join(', ')}`]),
    ...lists.flatMap(({ what, count, lines }) => [
      ...lines.slice(0, LISTED).map((line) => `  ${what} ${line}`),
      ...(count > LISTED ? [`  … and ${count - LISTED} more ${what}`] : []),
    ]),
    ...(changed === null ? ['Only IDs were compared: --personal-data also names changed fields.'] : []),
  ];
}

/** Checks a census without a database. */
async function check(context: Context, file: string): Promise<Checked> {
  const warnings = createWarnings(todayIn(context));
  const report = await checkCensus(await openCensusFile(file), undefined, null, warnings.note);
  return { ...viewFindings(report), ...warnings.view() };
}

type Checked = Omit<Report, 'last_upload' | 'changes' | 'repairs'>;
