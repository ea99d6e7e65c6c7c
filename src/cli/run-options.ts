/** The body of a run, by the options of a command or in a file. */
import { type RunBody, runOf, type StatedRun } from '../payroll/runs/body.ts';
import { WrongUsage } from './failure.ts';
import { readJsonFile } from './json-file.ts';
import { Refused } from './refused.ts';

/** Each option by its name, with the field of the run that it gives. */
const FIELDS = {
  employer: 'employer_id',
  frequency: 'pay_frequency',
  periodStart: 'period_start',
  periodEnd: 'period_end',
  payDate: 'pay_date',
  kind: 'kind',
  payGroup: 'pay_group',
  employee: 'employee_ids',
  deduction: 'deductions',
  finalCheck: 'final_checks',
  payDates: 'pay_dates',
  scheme: 'scheme',
  appliesOn: 'applies_on',
  remainder: 'remainder',
  extraPaycheck: 'extra_paycheck',
  adjustments: 'adjustments',
  arrears: 'arrears',
  policyReason: 'policy_reason',
} as const satisfies Record<string, keyof RunBody>;

export type RunOptions = { [Name in keyof typeof FIELDS]?: unknown } & { file?: string };

/**
 * The run that is asked for. `--employee` goes with a file too: it answers a call about a run that is there already.
 * Throws `Refused` with what is wrong, by field.
 */
export async function askedRun(options: RunOptions): Promise<StatedRun> {
  const asked = runOf(await bodyOf(options));
  if (!asked.ok) throw new Refused('the run', asked.problems);
  return asked.run;
}

async function bodyOf({ file, ...options }: RunOptions): Promise<unknown> {
  const given = Object.fromEntries(
    Object.entries(FIELDS)
      .map(([name, field]) => [field, options[name as keyof typeof FIELDS]])
      .filter(([, value]) => value !== undefined),
  );
  if (file === undefined) return given;
  if (Object.keys(given).some((field) => field !== FIELDS.employee)) {
    throw new WrongUsage(
      'a run is either in --file or in options: beside a file only --employee may be given',
    );
  }
  const body = await readJsonFile(file);
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body, ...given } : body;
}
