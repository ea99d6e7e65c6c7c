/** The commands of deductions. */
import { type Command, Option } from 'commander';
import { LINES_OF_COVERAGE } from '../contract/deduction.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { AppError } from '../errors.ts';
import { deductionCursor, viewDeduction, viewStartDecision, viewVersion } from '../ledger/deduction-view.ts';
import { type DeductionState, listDeductions, type VersionState, versionsOf } from '../ledger/deductions.ts';
import { decideStart } from '../ledger/start-decisions.ts';
import {
  cursorOption,
  day,
  instant,
  jsonOption,
  limitOption,
  reasonOf,
  truth,
  wholeNumber,
} from './arguments.ts';
import { type Act, type Context, withDatabase } from './context.ts';
import { type Cell, notePage, printable, printTable } from './output.ts';

export function addDeductionCommands(program: Command, act: Act): void {
  const deductions = program.command('deductions').description('the ledger of deductions');
  deductions
    .command('list')
    .description('by employee; the latest states, or those of a day')
    .option('--employer <id>', 'of the employees of this employer')
    .option('--employee <id>', 'of this employee')
    .option('--matched <true|false>', 'whose employee is in the roster, or is not', truth)
    .option('--on <day>', 'in effect on this day', day)
    .option('--known-at <instant>', 'from what was known at this time', instant)
    .option('--line-of-coverage <line>', 'of this line, such as medical')
    .addOption(new Option('--taxability <taxability>', 'of this one').choices(['pre_tax', 'post_tax']))
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(jsonOption())
    .action(act(deductionsList));
  deductions
    .command('versions')
    .description('every state that a deduction was ever in, oldest first')
    .argument('<deduction-id>')
    .addOption(jsonOption())
    .action(act(deductionsVersions));
  deductions
    .command('decide')
    .description('decide whether a version whose start was moved before it began applies')
    .argument('<deduction-id>')
    .requiredOption(
      '--version <number>',
      'the version, as readiness names it (required)',
      wholeNumber(1, 1e9),
    )
    .addOption(
      new Option('--decision <decision>', 'keep: it applies until the next one starts; drop: it never did')
        .choices(['keep', 'drop'])
        .makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'the reason, which is kept (required)')
    .addOption(jsonOption())
    .action(act(deductionsDecide));
}

type ListOptions = {
  employer?: string;
  employee?: string;
  matched?: boolean;
  on?: string;
  knownAt?: string;
  lineOfCoverage?: string;
  taxability?: string;
  limit: number;
  cursor?: string;
  json?: true;
};

async function deductionsList(context: Context, options: ListOptions): Promise<number> {
  const { out, now } = context;
  const { employer, employee, matched, on, knownAt, lineOfCoverage, taxability, limit, json } = options;
  if (lineOfCoverage !== undefined && !(LINES_OF_COVERAGE as readonly string[]).includes(lineOfCoverage)) {
    throw new AppError('WRONG_USAGE', `--line-of-coverage must be one of ${LINES_OF_COVERAGE.join(', ')}`);
  }
  const after = deductionCursor.decode(options.cursor);
  const filter = {
    employerId: employer,
    employeeId: employee,
    matched,
    on,
    knownAt,
    lineOfCoverage,
    taxability,
  };
  return withDatabase(context, async (db) => {
    const today = now().toISOString().slice(0, 10);
    const { deductions, next } = await listDeductions(db, filter, { after, limit }, today);
    const page = deductionCursor.page(deductions.map(viewDeduction), next);
    if (json) out.json(page);
    else {
      if (deductions.length > 0) printTable(out, HEAD, deductions.map(rowOf));
      else out.note(next === null ? 'no such deductions' : 'none yet among those looked at');
      notePage(out, page.next_cursor);
    }
    return 0;
  });
}

const HEAD = [
  ...['employer', 'employee', 'deduction', 'line of coverage', 'employee pays', 'employer pays'],
  ...['period', 'taxability', 'from', 'to'],
];

function rowOf({ version, employerId, matched }: DeductionState): Cell[] {
  return [
    employerId ?? (matched ? 'several' : 'unmatched'),
    version.employee_id,
    version.deduction_id,
    version.line_of_coverage,
    version.member_contribution,
    version.employer_contribution,
    version.period,
    version.taxability,
    version.starts_on,
    version.ends_on,
  ];
}

/** Versions read together; most deductions have far fewer. */
const VERSIONS_AT_ONCE = 1_000;

function deductionsVersions(
  context: Context,
  deductionId: string,
  { json }: { json?: true },
): Promise<number> {
  const { out, now } = context;
  return withDatabase(context, async (db) => {
    const states = await allVersionsOf(db, deductionId, now().toISOString().slice(0, 10));
    if (states.length === 0) {
      throw new AppError(
        'COMMAND_FAILED',
        `there is no deduction ${printable(deductionId)}: "benefits-sidecar deductions list" shows those there are`,
      );
    }
    if (json) out.json({ data: states.map(viewVersion), has_more: false, next_cursor: null });
    else {
      printTable(
        out,
        [
          'version',
          'event time',
          'decided by',
          'employee pays',
          'employer pays',
          'from',
          'to',
          'late',
          'start decision',
          'event',
        ],
        states.map(({ version, startDecision }) => [
          version.version,
          version.event_time,
          version.ordered_by,
          version.member_contribution,
          version.employer_contribution,
          version.starts_on,
          version.ends_on,
          version.late === 1 ? 'late' : '',
          startDecision === null ? '' : `${startDecision.decision}: ${startDecision.reason}`,
          version.event_id,
        ]),
      );
    }
    return 0;
  });
}

async function allVersionsOf(db: Db, deductionId: string, today: string): Promise<VersionState[]> {
  const all: VersionState[] = [];
  let after: number | null | undefined;
  while (after !== null) {
    const { versions, next } = await versionsOf(db, deductionId, { after, limit: VERSIONS_AT_ONCE }, today);
    all.push(...versions);
    after = next;
  }
  return all;
}

type DecideOptions = { version: number; decision: 'keep' | 'drop'; reason: string; json?: true };

/** Records whether a version whose start was moved before it began applies. */
async function deductionsDecide(
  context: Context,
  deductionId: string,
  { version, decision, reason, json }: DecideOptions,
): Promise<number> {
  const { out, now } = context;
  const given = { deductionId, version, decision, reason: reasonOf(reason), decidedBy: 'command line' };
  return withDatabase(context, async (db) => {
    const decided = await transact(db, (trx) => decideStart(trx, given, now().toISOString()));
    if (decided.outcome === 'unknown')
      throw new AppError('COMMAND_FAILED', `${printable(deductionId)} has no version ${version}`);
    if (decided.outcome === 'not-undecided')
      throw new AppError(
        'COMMAND_FAILED',
        `version ${version} of ${printable(deductionId)} needs no decision`,
      );
    if (json) out.json(viewStartDecision(decided.row));
    else out.print(`${decision}: version ${version} of ${printable(deductionId)}`);
    return 0;
  });
}
