/** The commands of payroll runs. This file creates and previews them. */
import { Option } from 'commander';
import { AppError, isAppError, type Problem } from '../../errors.ts';
import { beginRun, PREVIEWED_LINES, previewWithLines } from '../../payroll/lifecycle/begin.ts';
import { viewPreview, viewStoredRun } from '../../payroll/lifecycle/run-view.ts';
import { type RequestedRun, RUN_ID_PATTERN, type RunBody, runOf } from '../../payroll/records/body.ts';
import { readJsonFile } from '../arguments.ts';
import { actingIn, type Command, withDatabase } from '../command.ts';
import { failed, inputRefused, wrongUsage } from '../failure.ts';
import { printResult } from '../output.ts';
import { addFinalizeCommands } from './finalize.ts';
import { addOverrideCommands } from './overrides.ts';
import { addPayrollFileCommands } from './payroll-files.ts';
import { printLines } from './print-lines.ts';
import { printRun } from './print-run.ts';
import { addShowCommands } from './show.ts';

export function addRunCommands(program: Command): void {
  const run = program.subcommand('run', 'Compute, review and finalize payroll runs.');
  const create = run
    .subcommand('create', 'Create a run and show its totals. The same run again changes nothing.')
    .records('run.create')
    .examples(`run create mb-2026-07 ${EXAMPLE}`, 'run create mb-2026-07 run.json')
    .argument('<run-id>', 'An id of your choice: 1 to 128 of A-Z a-z 0-9 . _ -');
  withRunOptions(create).does(
    async (context, runId: string, file: string | undefined, options: RunOptions) => {
      const { out } = context;
      if (!new RegExp(RUN_ID_PATTERN).test(runId)) {
        throw wrongUsage(
          'the id of a run must be 1 to 128 of A-Z a-z 0-9 . _ -, and not only one or two dots',
        );
      }
      const requested = await requestedRun(file, options);
      await withDatabase(context, async (db) => {
        const begun = await computed(requested, () => beginRun(db, runId, requested.run, actingIn(context)));
        if (begun.outcome === 'different') {
          throw failed(
            `another run has the id ${runId}: use another id, or delete that run with "benefits-sidecar run delete" while it is open`,
          );
        }
        if (begun.outcome === 'of-another-employer') {
          throw failed(
            `the id ${runId} belongs to another employer, even if its run was deleted: use another id`,
          );
        }
        if (begun.outcome === 'date-open') {
          throw failed(
            `the run ${begun.by} is already open for this pay date, frequency and pay group: use it, or delete it with "benefits-sidecar run delete"`,
          );
        }
        const shown = await viewStoredRun(db, begun.view, begun.stored);
        printResult(out, shown, () => printRun(out, shown));
        if (begun.outcome === 'same') out.note('This run exists already. Nothing changed.');
      });
    },
  );
  const preview = run
    .subcommand('preview', 'Show the totals of a run without storing it.')
    .records('none')
    .examples(`run preview ${EXAMPLE}`, 'run preview run.json --employee maple-bakery-001');
  withRunOptions(preview).does(async (context, file: string | undefined, options: RunOptions) => {
    const { out } = context;
    const requested = await requestedRun(file, options);
    const { run } = requested;
    await withDatabase(context, async (db) => {
      const { view, lines } = await computed(requested, () => previewWithLines(db, run));
      const shown = await viewPreview(db, view, lines, { unapplied: 'amounts', viewer: null });
      printResult(out, shown, () => {
        printRun(out, shown);
        if (lines === null)
          return out.note('Add --employee to see the lines of employees, with explanations.');
        out.print('');
        printLines(out, shown.lines ?? []);
        if (lines.length === PREVIEWED_LINES) out.note(`Only the first ${PREVIEWED_LINES} lines are shown.`);
      });
    });
  });
  addShowCommands(run);
  addOverrideCommands(run);
  addFinalizeCommands(run);
  addPayrollFileCommands(run);
}

const EXAMPLE =
  '--employer maple-bakery --frequency monthly --period-start 2026-07-01 --period-end 2026-07-31 --pay-date 2026-07-31';

/** The option that sets each field of a run. The values are checked with the body. */
const RUN_OPTIONS: readonly (readonly [field: keyof RunBody, flags: string, description: string])[] = [
  ['employer_id', '--employer <id>', 'The employer (required without a file)'],
  [
    'pay_frequency',
    '--frequency <frequency>',
    'weekly, biweekly, semimonthly or monthly (required without a file)',
  ],
  ['period_start', '--period-start <date>', 'The first day of the pay period (required without a file)'],
  ['period_end', '--period-end <date>', 'The last day of the pay period (required without a file)'],
  ['pay_date', '--pay-date <date>', 'The date employees are paid (required without a file)'],
  ['kind', '--kind <kind>', 'regular or off_cycle (default: regular)'],
  ['pay_group', '--pay-group <group>', 'Only employees of this pay group (default: all)'],
  ['employee_ids', '--employee <id...>', 'Only these employees (default: all)'],
  ['deductions', '--deduction <id...>', 'The deductions that an off-cycle run takes'],
  [
    'final_checks',
    '--final-check <id...>',
    'Terminated employees who get a final paycheck, which takes the rest of the month of the termination',
  ],
  ['items', '--item <id...>', 'The open items that an off-cycle run takes (default: all of its employees)'],
];

function withRunOptions(command: Command): Command {
  command.argument('[file]', 'A .json file with the request body of the API, instead of options');
  for (const [, flags, description] of RUN_OPTIONS) command.option(flags, description);
  return command.table();
}

type RunOptions = Readonly<Record<string, unknown>>;

/** The run of a command. Its problems name options unless a file has the field. */
type Requested = { run: RequestedRun; inOptions: (problems: readonly Problem[]) => Problem[] };

/** `--employee` may be combined with a file, to preview single employees of a run. */
async function requestedRun(file: string | undefined, options: RunOptions): Promise<Requested> {
  const values = RUN_OPTIONS.map(([field, flags]) => [field, options[new Option(flags).attributeName()]]);
  const given = Object.fromEntries(values.filter(([, value]) => value !== undefined));
  if (file !== undefined && Object.keys(given).some((field) => field !== 'employee_ids')) {
    throw wrongUsage('describe a run by a file or by options: with a file, only --employee is allowed');
  }
  const isOption = (field: string): boolean => file === undefined || field in given;
  const inOptions = (problems: readonly Problem[]): Problem[] =>
    problems.map((problem) => (isOption(fieldOf(problem)) ? asOption(problem) : problem));
  const parsed = runOf(file === undefined ? given : await bodyIn(file, given));
  if (parsed.ok) return { run: parsed.run, inOptions };
  const problems = inOptions(parsed.problems);
  if (parsed.problems.some((problem) => isOption(fieldOf(problem))))
    throw wrongUsage('options are missing or wrong', problems);
  throw inputRefused('the run', { problems });
}

async function bodyIn(file: string, given: object): Promise<unknown> {
  const body = await readJsonFile(file);
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body, ...given } : body;
}

/** Returns `pay_dates` of the path `pay_dates[3]`. */
function fieldOf({ path }: Problem): string {
  return path.replace(/\[.*$/s, '');
}

/** The option of each field, such as `--pay-date`. */
const FLAGS: ReadonlyMap<string, string> = new Map(
  RUN_OPTIONS.map(([field, flags]) => [field, flags.split(' ')[0] as string]),
);
/** A field in the text of a rule. Fields that are words of English, and values in parentheses, are none. */
const FIELD_IN_RULE = /(?<![(\w])[a-z]+_[a-z]+(?!\w)/g;

/** Names the option of a problem's field, and of fields in its rule. */
function asOption(problem: Problem): Problem {
  const { path, rule } = problem;
  const field = fieldOf(problem);
  const isListOfValues = rule.startsWith('must be one of');
  return {
    path: `${FLAGS.get(field) ?? field}${path.slice(field.length)}`,
    rule: isListOfValues ? rule : rule.replace(FIELD_IN_RULE, (name) => FLAGS.get(name) ?? name),
  };
}

/** Computes a run. A refusal of it names options. */
async function computed<R>({ inOptions }: Requested, compute: () => Promise<R>): Promise<R> {
  try {
    return await compute();
  } catch (error) {
    if (!isAppError(error, 'RUN_REFUSED')) throw error;
    throw new AppError('RUN_REFUSED', error.message, { problems: inOptions(error.problems), cause: error });
  }
}
