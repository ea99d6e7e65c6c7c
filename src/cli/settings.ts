/** The settings of an employer: pay schedules, the payroll policy and payroll codes. */
import type { Command } from 'commander';
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
import { putSchedules, readSchedules, type Schedule, schedulesOf } from '../payroll/settings/schedules.ts';
import { employerId, employerOption, jsonOption, readJsonFile } from './arguments.ts';
import { type Act, type Context, withDatabase } from './context.ts';
import { inputRefused } from './failure.ts';
import { type Output, printTable } from './output.ts';

type Setting<Body, Stored> = {
  readonly name: string;
  readonly description: string;
  readonly put: string;
  readonly show: string;
  /** Throws INPUT_REFUSED. */
  parse(body: unknown): Body;
  write(trx: Trx, employerId: string, body: Body, now: string): Promise<void>;
  read(db: Db, employerId: string): Promise<Stored>;
  /** The value that `--json` prints. */
  json(stored: Stored): object;
  print(out: Output, stored: Stored): void;
};

type Options = { employer: string; json?: true };

export function addScheduleCommands(program: Command, act: Act): void {
  addSetting(program, act, SCHEDULE);
}

export function addPolicyCommands(program: Command, act: Act): void {
  addSetting(program, act, POLICY);
}

export function addCodeCommands(program: Command, act: Act): void {
  addSetting(program, act, CODES);
}

function addSetting<Body, Stored>(program: Command, act: Act, setting: Setting<Body, Stored>): void {
  const noun = program.command(setting.name).description(setting.description);
  noun
    .command('put')
    .description(setting.put)
    .argument('<file>', 'JSON, as the API takes it')
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(
      act(async (context: Context, file: string, options: Options) => {
        const id = employerId(options.employer);
        const body = setting.parse(await readJsonFile(file));
        return withDatabase(context, async (db) => {
          await transact(db, (trx) => setting.write(trx, id, body, context.now().toISOString()));
          return show(context, db, setting, id, options);
        });
      }),
    );
  noun
    .command('show')
    .description(setting.show)
    .addOption(employerOption())
    .addOption(jsonOption())
    .action(
      act(async (context: Context, options: Options) => {
        const id = employerId(options.employer);
        return withDatabase(context, (db) => show(context, db, setting, id, options));
      }),
    );
}

async function show<Stored>(
  { out }: Context,
  db: Db,
  setting: Pick<Setting<never, Stored>, 'read' | 'json' | 'print'>,
  id: string,
  { json }: Options,
): Promise<number> {
  const stored = await setting.read(db, id);
  if (json) out.json(setting.json(stored));
  else setting.print(out, stored);
  return 0;
}

const SCHEDULE: Setting<Schedule[], Schedule[]> = {
  name: 'schedule',
  description: "an employer's pay dates",
  put: 'replace them',
  show: 'as they were put',
  parse(body) {
    const parsed = schedulesOf(body);
    if (!parsed.ok) throw inputRefused('the pay schedule', parsed.problems);
    return parsed.schedules;
  },
  write: putSchedules,
  read: readSchedules,
  json: (schedules) => ({ schedules }),
  print(out, schedules) {
    if (schedules.length === 0) return out.note('no pay schedule');
    printTable(
      out,
      ['pay frequency', 'pay group', 'pay date', 'period from', 'to'],
      schedules.flatMap(({ pay_frequency, pay_group, pay_dates }) =>
        pay_dates.map((date) => [
          pay_frequency,
          pay_group,
          date.pay_date,
          date.period_start,
          date.period_end,
        ]),
      ),
    );
  },
};

const POLICY: Setting<Policy, PolicyVersion[]> = {
  name: 'policy',
  description: "an employer's payroll policy: the options of its runs",
  put: 'add a version',
  show: 'all versions, the newest effective_from first',
  parse(body) {
    const parsed = policyOf(body);
    if (!parsed.ok) throw inputRefused('the payroll policy', parsed.problems);
    return parsed.policy;
  },
  write: (trx, id, policy, now) => putPolicy(trx, id, policy, { now, by: null }),
  read: readPolicies,
  json: (versions) => ({ versions }),
  print(out, versions) {
    if (versions.length === 0) return out.note('no payroll policy: runs use the defaults');
    printTable(
      out,
      ['from', 'scheme', 'remainder', 'extra paycheck', 'applies on', 'adjustments', 'arrears', 'set', 'by'],
      versions.map((one) => [
        one.effective_from,
        one.scheme,
        one.remainder,
        one.extra_paycheck,
        one.applies_on,
        one.adjustments,
        one.arrears,
        one.created_at,
        one.created_by ?? 'command line',
      ]),
    );
  },
};

const CODES: Setting<PayrollCode[], PayrollCode[]> = {
  name: 'codes',
  description: "payroll's own codes for an employer's deductions",
  put: 'replace them',
  show: 'as they were put',
  parse(body) {
    const parsed = codesOf(body);
    if (!parsed.ok) throw inputRefused('the list of payroll codes', parsed.problems);
    return parsed.codes;
  },
  write: putCodes,
  read: readCodes,
  json: (codes) => ({ codes }),
  print(out, codes) {
    if (codes.length === 0) return out.note('no payroll codes');
    printTable(
      out,
      ['line of coverage', 'taxability', 'side', 'code', 'treatment'],
      codes.map((one) => [one.line_of_coverage, one.taxability ?? 'any', one.side, one.code, one.treatment]),
    );
  },
};
