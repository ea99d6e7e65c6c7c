import Type, { type Static } from 'typebox';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import { closed, component, day, identifier, nullable, oneOfDescribed } from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { TREATMENTS } from '../../payroll/calculation/line.ts';
import { APPLIES_ON, EXTRA_PAYCHECKS, REMAINDERS, SCHEMES } from '../../payroll/calculation/plan.ts';
import { codesOf, putCodes, readCodes, SIDES } from '../../payroll/settings/codes.ts';
import { COLLECTIONS, policyOf, putPolicy, readPolicies } from '../../payroll/settings/policy.ts';
import { putSchedules, readSchedules, schedulesOf } from '../../payroll/settings/schedules.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { broken } from '../problem.ts';
import { taggedOperation } from '../route-table.ts';
import { type Api, ownInstant } from '../schemas.ts';
import { exceptBody } from '../validation.ts';
import { EmployerId } from './censuses.ts';

export { CODES_MAX } from '../../payroll/settings/codes.ts';
export { DATES_MAX } from '../../payroll/settings/schedules.ts';

const operation = taggedOperation('Payroll settings');

/** The limit covers the largest payrolls; a date with its period takes about 90 bytes. */
const SETTINGS_BYTES_MAX = 8 * 1024 * 1024;

const PaySchedules = component(
  'PaySchedules',
  {
    schedules: Type.Array(
      closed({
        pay_frequency: oneOfDescribed(PAY_FREQUENCIES, 'The pay frequency of the runs.'),
        pay_group: Type.Optional(
          nullable({
            ...identifier,
            description: 'The pay group of the runs. Null: runs without a pay group.',
          }),
        ),
        pay_dates: Type.Array(
          closed({
            pay_date: { ...day, description: 'The date employees are paid.' },
            period_start: { ...day, description: 'The first day of the pay period.' },
            period_end: { ...day, description: 'The last day of the pay period.' },
          }),
          { description: 'In order. Each year with a pay date must have all of them.' },
        ),
      }),
      { description: 'One schedule per frequency and pay group. Empty if there is none.' },
    ),
  },
  "An employer's pay schedules. Runs must use their pay dates.",
);
type PaySchedules = Static<typeof PaySchedules>;

const PayrollCodes = component(
  'PayrollCodes',
  {
    codes: Type.Array(
      closed({
        line_of_coverage: oneOfDescribed(LINES_OF_COVERAGE, 'The line of coverage.'),
        taxability: Type.Optional(
          nullable(oneOfDescribed(TAXABILITIES, 'The taxability. Null: lines without a code of their own.')),
        ),
        side: oneOfDescribed(SIDES, 'The contribution: employee or employer.'),
        code: Type.String({ description: 'The payroll code.' }),
        treatment: Type.Optional(
          nullable(oneOfDescribed(TREATMENTS, 'How payroll treats the employer amount. Null if not stated.')),
        ),
      }),
      { description: 'Empty if there are none.' },
    ),
  },
  "An employer's payroll codes. The lines of its runs contain them.",
);
type PayrollCodes = Static<typeof PayrollCodes>;

const POLICY_OPTIONS = {
  scheme: oneOfDescribed(SCHEMES, 'How the amount of a year is divided among checks. Default `annualized`.'),
  remainder: oneOfDescribed(REMAINDERS, 'Which check takes the remaining cents. Default `last`.'),
  extra_paycheck: oneOfDescribed(
    EXTRA_PAYCHECKS,
    'Whether checks beyond the usual number per year take a contribution. Default `take`.',
  ),
  applies_on: oneOfDescribed(
    APPLIES_ON,
    'The date on which a deduction must be in effect. Default `pay_date`.',
  ),
  adjustments: oneOfDescribed(COLLECTIONS, 'Differences of earlier runs. Default `report`.'),
  arrears: oneOfDescribed(COLLECTIONS, 'Amounts not taken in earlier runs. Default `report`.'),
};
const effectiveFrom = { ...day, description: 'Runs with this pay date or a later one use the version.' };

const PolicyRequest = component(
  'PayrollPolicyRequest',
  { effective_from: effectiveFrom, ...Type.Partial(Type.Object(POLICY_OPTIONS)).properties },
  'Omitted options have their defaults.',
);

const PayrollPolicy = component(
  'PayrollPolicy',
  {
    versions: Type.Array(
      closed({
        version: Type.Integer({ description: 'The number of the version, in the order set.' }),
        effective_from: effectiveFrom,
        ...POLICY_OPTIONS,
        created_at: ownInstant('The time it was set.'),
        created_by: nullable(Type.String({ description: 'The token that set it. Null: the command line.' })),
      }),
      {
        description: 'The newest `effective_from` first, then the newest version. Empty without a policy.',
      },
    ),
  },
  "An employer's payroll policy with its history: the options of its runs.",
);

/** The settings of an employer: pay schedules, payroll codes and payroll policy. */
export function payrollSettingRoutes(app: Api, { db, now, log }: ApiParts): void {
  app.get(
    '/v1/employers/:employer_id/pay-schedule',
    operation('runs:read', {
      operationId: 'getPaySchedule',
      summary: "Get an employer's pay schedules",
      description: 'Returns the stored list. Empty if the employer has none.',
      params: EmployerId,
      response: { 200: PaySchedules },
    }),
    async ({ params }) => schedules(params.employer_id),
  );

  app.put(
    '/v1/employers/:employer_id/pay-schedule',
    operation('runs:write', {
      operationId: 'putPaySchedule',
      summary: "Set an employer's pay schedules",
      description:
        'Replaces all schedules. Open runs use the new schedules from now on. Finalized runs do not change.',
      params: EmployerId,
      body: Type.Unsafe<unknown>(PaySchedules),
      response: { 200: PaySchedules },
      refuses: ['SETTINGS_REFUSED'],
      bodyLimit: SETTINGS_BYTES_MAX,
      validatorCompiler: exceptBody,
    }),
    async (request) => {
      const { employer_id } = request.params;
      const asked = schedulesOf(request.body);
      if (!asked.ok) throw broken('SETTINGS_REFUSED', asked.problems);
      const at = now().toISOString();
      await transact(db, (trx) => putSchedules(trx, employer_id, asked.schedules, at));
      log.info({ employer_id, count: asked.schedules.length, ...by(request) }, 'pay schedules were set');
      return schedules(employer_id);
    },
  );

  app.get(
    '/v1/employers/:employer_id/payroll-codes',
    operation('runs:read', {
      operationId: 'getPayrollCodes',
      summary: "Get an employer's payroll codes",
      description: 'Returns the stored list. Empty if the employer has none.',
      params: EmployerId,
      response: { 200: PayrollCodes },
    }),
    async ({ params }) => codes(params.employer_id),
  );

  app.put(
    '/v1/employers/:employer_id/payroll-codes',
    operation('runs:write', {
      operationId: 'putPayrollCodes',
      summary: "Set an employer's payroll codes",
      description: 'Replaces all codes. If there are any, readiness names the deductions without one.',
      params: EmployerId,
      body: Type.Unsafe<unknown>(PayrollCodes),
      response: { 200: PayrollCodes },
      refuses: ['SETTINGS_REFUSED'],
      bodyLimit: SETTINGS_BYTES_MAX,
      validatorCompiler: exceptBody,
    }),
    async (request) => {
      const { employer_id } = request.params;
      const asked = codesOf(request.body);
      if (!asked.ok) throw broken('SETTINGS_REFUSED', asked.problems);
      const at = now().toISOString();
      await transact(db, (trx) => putCodes(trx, employer_id, asked.codes, at));
      log.info({ employer_id, count: asked.codes.length, ...by(request) }, 'payroll codes were set');
      return codes(employer_id);
    },
  );

  app.get(
    '/v1/employers/:employer_id/payroll-policy',
    operation('runs:read', {
      operationId: 'getPayrollPolicy',
      summary: "Get an employer's payroll policy",
      description: 'All versions. A run uses the first whose `effective_from` is on or before its pay date.',
      params: EmployerId,
      response: { 200: PayrollPolicy },
    }),
    async ({ params }) => ({ versions: await readPolicies(db, params.employer_id) }),
  );

  app.put(
    '/v1/employers/:employer_id/payroll-policy',
    operation('runs:write', {
      operationId: 'putPayrollPolicy',
      summary: "Set an employer's payroll policy",
      description:
        'Adds a version. Open runs with a pay date on or after `effective_from` use it from now on; finalized runs ' +
        'keep their options. The same policy again changes nothing.',
      params: EmployerId,
      body: Type.Unsafe<unknown>(PolicyRequest),
      response: { 200: PayrollPolicy },
      refuses: ['SETTINGS_REFUSED'],
      validatorCompiler: exceptBody,
    }),
    async (request) => {
      const { employer_id } = request.params;
      const asked = policyOf(request.body);
      if (!asked.ok) throw broken('SETTINGS_REFUSED', asked.problems);
      const at = now().toISOString();
      const set = { now: at, by: by(request).token ?? null };
      await transact(db, (trx) => putPolicy(trx, employer_id, asked.policy, set));
      log.info({ employer_id, ...by(request) }, 'a payroll policy was set');
      return { versions: await readPolicies(db, employer_id) };
    },
  );

  async function schedules(employerId: string): Promise<PaySchedules> {
    const known = await readSchedules(db, employerId);
    return { schedules: known.map((one) => ({ ...one, pay_dates: [...one.pay_dates] })) };
  }

  async function codes(employerId: string): Promise<PayrollCodes> {
    return { codes: (await readCodes(db, employerId)) as PayrollCodes['codes'] };
  }
}
