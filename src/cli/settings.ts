/** The settings of an employer: pay schedules, the payroll policy and payroll codes. */
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { codesOf, type PayrollCode, putCodes, readCodes } from '../payroll/settings/codes.ts';
import {
  type Policy,
  type PolicyVersion,
  policyOf,
  putPolicy,
  readPolicies,
} from '../payroll/settings/policy.ts';
import {
  type PayDate,
  putSchedules,
  readSchedules,
  type Schedule,
  schedulesOf,
} from '../payroll/settings/schedules.ts';
import { readJsonFile } from './arguments.ts';
import type { Command } from './command.ts';
import { type Context, type DatabaseContext, withDatabase } from './context.ts';
import { inputRefused } from './failure.ts';
import { type Column, type Output, printResult, printTable } from './output.ts';

type Setting<Body, Stored, Row> = {
  readonly name: string;
  readonly description: string;
  readonly put: string;
  readonly show: string;
  /** The name of the file in the examples. */
  readonly file: string;
  /** Throws `Refused`. */
  parse(body: unknown): Body;
  write(trx: Trx, employerId: string, body: Body, now: string): Promise<void>;
  read(db: Db, employerId: string): Promise<Stored>;
  /** The value that `--json` prints. */
  json(stored: Stored): object;
  rows(stored: Stored): readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Printed if there are no rows. */
  readonly none: string;
};

type Options = { employer: string };

export function addScheduleCommands(program: Command): void {
  addSetting(program, SCHEDULE);
}

export function addPolicyCommands(program: Command): void {
  addSetting(program, POLICY);
}

export function addCodeCommands(program: Command): void {
  addSetting(program, CODES);
}

function addSetting<Body, Stored, Row>(program: Command, setting: Setting<Body, Stored, Row>): void {
  const noun = program.command(setting.name).description(setting.description);
  noun
    .command('put')
    .description(setting.put)
    .examples(`${setting.name} put ${setting.file} --employer maple-bakery`)
    .argument('<file>', 'A .json file with the request body of the API')
    .employer()
    .table()
    .does(async (context: Context, file: string, { employer }: Options) => {
      const body = setting.parse(await readJsonFile(file));
      await withDatabase(context, async (db) => {
        await transact(db, (trx) => setting.write(trx, employer, body, context.now().toISOString()));
        await show(context.out, db, setting, employer);
      });
    });
  noun
    .command('show')
    .description(setting.show)
    .examples(`${setting.name} show --employer maple-bakery`)
    .employer()
    .table()
    .doesOnDatabase(({ db, out }: DatabaseContext, { employer }: Options) =>
      show(out, db, setting, employer),
    );
}

async function show<Stored, Row>(
  out: Output,
  db: Db,
  setting: Pick<Setting<never, Stored, Row>, 'read' | 'json' | 'rows' | 'columns' | 'none'>,
  employer: string,
): Promise<void> {
  const stored = await setting.read(db, employer);
  const rows = setting.rows(stored);
  printResult(out, setting.json(stored), () => {
    if (rows.length === 0) out.note(setting.none);
    else printTable(out, setting.columns, rows);
  });
}

const SCHEDULE: Setting<Schedule[], Schedule[], Omit<Schedule, 'pay_dates'> & PayDate> = {
  name: 'schedule',
  description: "Manage an employer's pay dates.",
  put: 'Replace the pay dates of an employer.',
  show: 'Show the pay dates of an employer.',
  file: 'pay-dates.json',
  parse(body) {
    const parsed = schedulesOf(body);
    if (!parsed.ok) throw inputRefused('the pay schedule', parsed.problems);
    return parsed.schedules;
  },
  write: putSchedules,
  read: readSchedules,
  json: (schedules) => ({ schedules }),
  rows: (schedules) =>
    schedules.flatMap(({ pay_dates, ...schedule }) => pay_dates.map((date) => ({ ...schedule, ...date }))),
  columns: [
    ['pay frequency', (row) => row.pay_frequency],
    ['pay group', (row) => row.pay_group],
    ['pay date', (row) => row.pay_date],
    ['period start', (row) => row.period_start],
    ['period end', (row) => row.period_end],
  ],
  none: 'This employer has no pay schedule.',
};

const POLICY: Setting<Policy, PolicyVersion[], PolicyVersion> = {
  name: 'policy',
  description: "Manage an employer's payroll policy: the options of its runs.",
  put: "Add a version to an employer's payroll policy.",
  show: "Show all versions of an employer's payroll policy, newest first.",
  file: 'policy.json',
  parse(body) {
    const parsed = policyOf(body);
    if (!parsed.ok) throw inputRefused('the payroll policy', parsed.problems);
    return parsed.policy;
  },
  write: (trx, id, policy, now) => putPolicy(trx, id, policy, { now, by: null }),
  read: readPolicies,
  json: (versions) => ({ versions }),
  rows: (versions) => versions,
  columns: [
    ['from', (version) => version.effective_from],
    ['scheme', (version) => version.scheme],
    ['remainder', (version) => version.remainder],
    ['extra paycheck', (version) => version.extra_paycheck, 2],
    ['applies on', (version) => version.applies_on, 1],
    ['adjustments', (version) => version.adjustments],
    ['arrears', (version) => version.arrears],
    ['created', (version) => version.created_at, 4],
    ['created by', (version) => version.created_by ?? 'command line', 3],
  ],
  none: 'This employer has no payroll policy: its runs use the defaults.',
};

const CODES: Setting<PayrollCode[], PayrollCode[], PayrollCode> = {
  name: 'codes',
  description: "Manage the payroll codes of an employer's deductions.",
  put: 'Replace the payroll codes of an employer.',
  show: 'Show the payroll codes of an employer.',
  file: 'codes.json',
  parse(body) {
    const parsed = codesOf(body);
    if (!parsed.ok) throw inputRefused('the list of payroll codes', parsed.problems);
    return parsed.codes;
  },
  write: putCodes,
  read: readCodes,
  json: (codes) => ({ codes }),
  rows: (codes) => codes,
  columns: [
    ['line of coverage', (code) => code.line_of_coverage],
    ['taxability', (code) => code.taxability ?? 'any'],
    ['side', (code) => code.side],
    ['code', (code) => code.code],
    ['treatment', (code) => code.treatment, 1],
  ],
  none: 'This employer has no payroll codes.',
};
