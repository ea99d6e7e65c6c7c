import Type, { type TSchema } from 'typebox';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { transact } from '../../database/transaction.ts';
import { linesInUse } from '../../ledger/lines-in-use.ts';
import { frequenciesInUse } from '../../ledger/roster.ts';
import { putScheduleYear } from '../../payroll/lifecycle/schedules.ts';
import { CODES, PayrollCodes } from '../../payroll/settings/codes.ts';
import { PayrollPolicy, POLICY, PolicyRequest } from '../../payroll/settings/policy.ts';
import {
  byYear,
  checkSchedules,
  inYear,
  PaySchedules,
  PaySchedulesByYear,
  PaySchedulesRequest,
  readSchedules,
} from '../../payroll/settings/schedules.ts';
import type { Setting } from '../../payroll/settings/setting.ts';
import type { Action } from '../../security/audit.ts';
import { actingIn, by } from '../auth.ts';
import { broken } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { EmployerId, instant } from '../schemas.ts';
import { exceptBody } from '../validation.ts';

export { CODES_MAX } from '../../payroll/settings/codes.ts';
export { DATES_MAX } from '../../payroll/settings/schedules.ts';

/** The limit covers the largest payrolls; a date with its period takes about 90 bytes. */
const SETTINGS_BYTES_MAX = 1024 * 1024;

const Then = field.closed({ known_at: instant('Only what was set by this time. Default: now.') });

/** A setting in the reference and in the log. `name` and `noun` become its operation IDs and summaries. */
type Words = {
  path: string;
  name: string;
  noun: string;
  action: Action;
  request: TSchema;
  response: TSchema;
  getDescription: string;
  putDescription: string;
  logged: string;
};

export function payrollSettingRoutes(app: Api, parts: ApiParts): void {
  scheduleRoutes(app, parts);
  inUseRoutes(app, parts);
  settingRoutes(app, parts, CODES, {
    path: 'payroll-codes',
    name: 'PayrollCodes',
    noun: 'payroll codes',
    action: 'codes.put',
    request: PayrollCodes,
    response: PayrollCodes,
    getDescription: 'Returns the stored list. Empty if the employer has none.',
    putDescription: 'Replaces all codes. If there are any, readiness names the deductions without one.',
    logged: 'payroll codes were set',
  });
  settingRoutes(app, parts, POLICY, {
    path: 'payroll-policy',
    name: 'PayrollPolicy',
    noun: 'payroll policy',
    action: 'policy.put',
    request: PolicyRequest,
    response: PayrollPolicy,
    getDescription: 'All versions. A run uses the first whose `effective_from` is on or before its pay date.',
    putDescription:
      'Adds a version. Open runs with a pay date on or after `effective_from` use it from now on; finalized runs ' +
      'keep their options. The same policy again changes nothing.',
    logged: 'a payroll policy was set',
  });
}

const EmployerYear = Type.Object({
  ...EmployerId.properties,
  year: Type.String({ pattern: '^[0-9]{4}$', description: 'The calendar year of the pay dates.' }),
});

/** Schedules are set by calendar year, for all pay frequencies and groups together. */
function scheduleRoutes(app: Api, { db, now, log }: ApiParts): void {
  const all = '/v1/employers/:employer_id/pay-schedules';
  const url = `${all}/:year`;
  const response = { 200: PaySchedules };

  app.get(
    all,
    operation('Payroll settings', 'runs:read', {
      operationId: 'listPaySchedules',
      employers: 'employer',
      summary: "List an employer's pay schedules",
      description: 'Returns the schedules of all years, the latest year first.',
      params: EmployerId,
      querystring: Then,
      response: { 200: PaySchedulesByYear },
    }),
    async ({ params, query }) => byYear(await readSchedules(db, params.employer_id, query.known_at)),
  );

  const view = async (employerId: string, year: string, knownAt?: string) => ({
    schedules: inYear(await readSchedules(db, employerId, knownAt), year),
  });

  app.get(
    url,
    operation('Payroll settings', 'runs:read', {
      operationId: 'getPayScheduleOfYear',
      employers: 'employer',
      summary: "Get an employer's pay schedules of a year",
      description: 'Returns the schedules with the pay dates of the year. Empty if it has none.',
      params: EmployerYear,
      querystring: Then,
      response,
    }),
    ({ params, query }) => view(params.employer_id, params.year, query.known_at),
  );

  app.put(
    url,
    operation('Payroll settings', 'runs:write', {
      operationId: 'putPayScheduleOfYear',
      employers: 'employer',
      action: 'schedule.put',
      summary: "Set an employer's pay schedules of a year",
      description:
        'Replaces the pay dates of this year only, for all pay frequencies and groups. The pay dates of finalized runs must stay, with what they take.',
      params: EmployerYear,
      response,
      body: Type.Unsafe<unknown>(PaySchedulesRequest),
      refuses: ['SETTINGS_REFUSED', 'CONFLICT'],
      bodyLimit: SETTINGS_BYTES_MAX,
      validatorCompiler: exceptBody,
    }),
    async (request) => {
      const { employer_id, year } = request.params;
      const checked = checkSchedules(request.body, year);
      if (!checked.ok) throw broken('SETTINGS_REFUSED', checked.problems);
      const acting = actingIn(request, now());
      await transact(db, (trx) => putScheduleYear(trx, employer_id, year, checked.value, acting));
      log.info(
        { employer_id, count: checked.value.schedules.length, ...by(request) },
        'pay schedules were set',
      );
      return view(employer_id, year);
    },
  );

  app.delete(
    url,
    operation('Payroll settings', 'runs:write', {
      operationId: 'deletePayScheduleOfYear',
      employers: 'employer',
      action: 'schedule.delete',
      summary: "Delete an employer's pay schedules of a year",
      description: 'Deletes the pay dates of this year. The pay dates of finalized runs must stay.',
      params: EmployerYear,
      response: { 204: Type.Null({ description: 'The year has no pay schedule.' }) },
      refuses: ['CONFLICT'],
    }),
    async (request, reply) => {
      const { employer_id, year } = request.params;
      const acting = actingIn(request, now());
      const none = { schedules: [], untaken: false };
      await transact(db, (trx) => putScheduleYear(trx, employer_id, year, none, acting, 'schedule.delete'));
      log.info({ employer_id, count: 0, ...by(request) }, 'pay schedules were set');
      return reply.code(204).send(null);
    },
  );
}

const LinesInUse = field.component(
  'LinesOfCoverage',
  {
    lines_of_coverage: Type.Array(Type.String(), { description: 'Sorted. Empty if there is no deduction.' }),
  },
  'The lines of coverage that an employer uses.',
);

const FrequenciesInUse = field.component(
  'PayFrequencies',
  {
    pay_frequencies: Type.Array(Type.String(), {
      description: 'The most common first. Empty if none was reported.',
    }),
  },
  'The pay frequencies that an employer uses.',
);

function inUseRoutes(app: Api, { db, now }: ApiParts): void {
  app.get(
    '/v1/employers/:employer_id/lines-of-coverage',
    operation('Payroll settings', 'runs:read', {
      operationId: 'listLinesOfCoverage',
      employers: 'employer',
      summary: 'List the lines of coverage in use',
      description:
        "Lists the lines of coverage of the employer's deductions that have not ended. Each line needs payroll codes.",
      params: EmployerId,
      response: { 200: LinesInUse },
    }),
    async ({ params }) => ({ lines_of_coverage: await linesInUse(db, params.employer_id, dayAt(db, now())) }),
  );

  app.get(
    '/v1/employers/:employer_id/pay-frequencies',
    operation('Payroll settings', 'runs:read', {
      operationId: 'listPayFrequencies',
      employers: 'employer',
      summary: 'List the pay frequencies in use',
      description:
        "Lists the pay frequencies of the employer's employees, past and present. Each needs a pay schedule.",
      params: EmployerId,
      response: { 200: FrequenciesInUse },
    }),
    async ({ params }) => ({ pay_frequencies: await frequenciesInUse(db, params.employer_id) }),
  );
}

function settingRoutes<Value>(
  app: Api,
  { db, now, log }: ApiParts,
  setting: Setting<Value, object>,
  { path, name, noun, action, request, response, getDescription, putDescription, logged }: Words,
): void {
  const url = `/v1/employers/:employer_id/${path}`;
  const shown = { params: EmployerId, response: { 200: Type.Unsafe<object>(response) } };

  app.get(
    url,
    operation('Payroll settings', 'runs:read', {
      operationId: `get${name}`,
      employers: 'employer',
      summary: `Get an employer's ${noun}`,
      description: getDescription,
      querystring: Then,
      ...shown,
    }),
    ({ params, query }) => setting.view(db, params.employer_id, query.known_at),
  );

  app.put(
    url,
    operation('Payroll settings', 'runs:write', {
      operationId: `put${name}`,
      employers: 'employer',
      action,
      summary: `Set an employer's ${noun}`,
      description: putDescription,
      ...shown,
      body: Type.Unsafe<unknown>(request),
      refuses: ['SETTINGS_REFUSED', 'CONFLICT'],
      bodyLimit: SETTINGS_BYTES_MAX,
      validatorCompiler: exceptBody,
    }),
    async (request) => {
      const { employer_id } = request.params;
      const checked = setting.check(request.body);
      if (!checked.ok) throw broken('SETTINGS_REFUSED', checked.problems);
      const { value } = checked;
      const acting = actingIn(request, now());
      await transact(db, (trx) => setting.put(trx, employer_id, value, acting));
      const count = Array.isArray(value) ? value.length : 1;
      log.info({ employer_id, count, ...by(request) }, logged);
      return setting.view(db, employer_id);
    },
  );
}
