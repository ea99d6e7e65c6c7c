/** The payroll settings of an employer: pay schedules, payroll codes and the payroll policy. */
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
import { actingIn } from '../auth.ts';
import { operation, type Parts } from '../operation.ts';
import { EmployerId, instant } from '../schemas.ts';

/** The limit covers the largest payrolls; a date with its period takes about 90 bytes. */
const SETTINGS_BYTES_MAX = 1024 * 1024;

const Then = field.closed({ known_at: instant('Only what was set by this time. Default: now.') });

/** Schedules are set by calendar year, for all pay frequencies and groups together. */
const EmployerYear = Type.Object({
  ...EmployerId.properties,
  year: Type.String({
    pattern: '^[0-9]{4}$',
    rule: 'must be a year such as 2026',
    description: 'The calendar year of the pay dates.',
  }),
});

const YEAR_PATH = '/v1/employers/:employer_id/pay-schedules/:year';

export const listPaySchedules = operation({
  id: 'listPaySchedules',
  method: 'GET',
  path: '/v1/employers/:employer_id/pay-schedules',
  scope: 'runs:read',
  employers: 'employer',
  summary: "List an employer's pay schedules",
  description: 'Returns the schedules of all years, the latest year first.',
  params: EmployerId,
  query: Then,
  response: { 200: PaySchedulesByYear },
  run: async ({ params, query }, { db }) =>
    byYear(await readSchedules(db, params.employer_id, query.known_at)),
});

async function schedulesOf({ db }: Parts, employerId: string, year: string, knownAt?: string) {
  return { schedules: inYear(await readSchedules(db, employerId, knownAt), year) };
}

export const getPayScheduleOfYear = operation({
  id: 'getPayScheduleOfYear',
  method: 'GET',
  path: YEAR_PATH,
  scope: 'runs:read',
  employers: 'employer',
  summary: "Get an employer's pay schedules of a year",
  description: 'Returns the schedules with the pay dates of the year. Empty if it has none.',
  params: EmployerYear,
  query: Then,
  response: { 200: PaySchedules },
  run: ({ params, query }, parts) => schedulesOf(parts, params.employer_id, params.year, query.known_at),
});

export const putPayScheduleOfYear = operation({
  id: 'putPayScheduleOfYear',
  method: 'PUT',
  path: YEAR_PATH,
  scope: 'runs:write',
  employers: 'employer',
  action: 'schedule.put',
  summary: "Set an employer's pay schedules of a year",
  description:
    'Replaces the pay dates of this year only, for all pay frequencies and groups. The pay dates of finalized runs must stay, with what they take.',
  params: EmployerYear,
  body: Type.Unsafe<unknown>(PaySchedulesRequest),
  isBodyUnchecked: true,
  response: { 200: PaySchedules },
  refuses: ['SETTINGS_REFUSED', 'CONFLICT'],
  bodyLimit: SETTINGS_BYTES_MAX,
  async run(call, parts) {
    const { employer_id, year } = call.params;
    const schedules = checkSchedules(call.body, year);
    const acting = actingIn(call, parts.now());
    await transact(parts.db, (trx) => putScheduleYear(trx, employer_id, year, schedules, acting));
    return schedulesOf(parts, employer_id, year);
  },
  logs: ({ params }, { schedules }) => [
    { employer_id: params.employer_id, count: schedules.length },
    'pay schedules were set',
  ],
});

export const deletePayScheduleOfYear = operation({
  id: 'deletePayScheduleOfYear',
  method: 'DELETE',
  path: YEAR_PATH,
  scope: 'runs:write',
  employers: 'employer',
  action: 'schedule.delete',
  summary: "Delete an employer's pay schedules of a year",
  description: 'Deletes the pay dates of this year. The pay dates of finalized runs must stay.',
  params: EmployerYear,
  response: { 204: Type.Null({ description: 'The year has no pay schedule.' }) },
  refuses: ['CONFLICT'],
  async run(call, { db, now }) {
    const { employer_id, year } = call.params;
    const acting = actingIn(call, now());
    const none = { schedules: [], untaken: false };
    await transact(db, (trx) => putScheduleYear(trx, employer_id, year, none, acting, 'schedule.delete'));
  },
  logs: ({ params }) => [{ employer_id: params.employer_id, count: 0 }, 'pay schedules were set'],
});

/** A setting in the reference and in the log. `name` and `noun` become its operation ids and summaries. */
type Words<View> = {
  path: string;
  name: string;
  noun: string;
  action: Action;
  request: TSchema;
  response: TSchema;
  getDescription: string;
  putDescription: string;
  logged: string;
  countOf(view: View): number;
};

/** Returns the operations of a setting that is set as a whole. */
function settingOperations<Value, View>(
  setting: Setting<Value, View>,
  { name, noun, action, request, response, getDescription, putDescription, ...words }: Words<View>,
) {
  const shared = {
    path: `/v1/employers/:employer_id/${words.path}`,
    employers: 'employer',
    params: EmployerId,
    response: { 200: response },
  } as const;
  return {
    get: operation({
      ...shared,
      id: `get${name}`,
      method: 'GET',
      scope: 'runs:read',
      summary: `Get an employer's ${noun}`,
      description: getDescription,
      query: Then,
      run: ({ params, query }, { db }) => setting.view(db, params.employer_id, query.known_at),
    }),
    put: operation({
      ...shared,
      id: `put${name}`,
      method: 'PUT',
      scope: 'runs:write',
      action,
      summary: `Set an employer's ${noun}`,
      description: putDescription,
      body: Type.Unsafe<unknown>(request),
      isBodyUnchecked: true,
      refuses: ['SETTINGS_REFUSED', 'CONFLICT'],
      bodyLimit: SETTINGS_BYTES_MAX,
      async run(call, { db, now }) {
        const { employer_id } = call.params;
        const value = setting.check(call.body);
        const acting = actingIn(call, now());
        await transact(db, (trx) => setting.put(trx, employer_id, value, acting));
        return setting.view(db, employer_id);
      },
      logs: ({ params }, view) => [
        { employer_id: params.employer_id, count: words.countOf(view) },
        words.logged,
      ],
    }),
  };
}

export const { get: getPayrollCodes, put: putPayrollCodes } = settingOperations(CODES, {
  path: 'payroll-codes',
  name: 'PayrollCodes',
  noun: 'payroll codes',
  action: 'codes.put',
  request: PayrollCodes,
  response: PayrollCodes,
  getDescription: 'Returns the stored list. Empty if the employer has none.',
  putDescription: 'Replaces all codes. If there are any, readiness names the deductions without one.',
  logged: 'payroll codes were set',
  countOf: ({ codes }) => codes.length,
});

const LinesInUse = field.component(
  'LinesOfCoverage',
  {
    lines_of_coverage: Type.Array(Type.String(), { description: 'Sorted. Empty if there is no deduction.' }),
  },
  'The lines of coverage that an employer uses.',
);

export const listLinesOfCoverage = operation({
  id: 'listLinesOfCoverage',
  method: 'GET',
  path: '/v1/employers/:employer_id/lines-of-coverage',
  scope: 'runs:read',
  employers: 'employer',
  summary: 'List the lines of coverage in use',
  description:
    "Lists the lines of coverage of the employer's deductions that have not ended. Each line needs payroll codes.",
  params: EmployerId,
  response: { 200: LinesInUse },
  run: async ({ params }, { db, now }) => ({
    lines_of_coverage: await linesInUse(db, params.employer_id, dayAt(db, now())),
  }),
});

const FrequenciesInUse = field.component(
  'PayFrequencies',
  {
    pay_frequencies: Type.Array(Type.String(), {
      description: 'The most common first. Empty if none was reported.',
    }),
  },
  'The pay frequencies that an employer uses.',
);

export const listPayFrequencies = operation({
  id: 'listPayFrequencies',
  method: 'GET',
  path: '/v1/employers/:employer_id/pay-frequencies',
  scope: 'runs:read',
  employers: 'employer',
  summary: 'List the pay frequencies in use',
  description:
    "Lists the pay frequencies of the employer's employees, past and present. Each needs a pay schedule.",
  params: EmployerId,
  response: { 200: FrequenciesInUse },
  run: async ({ params }, { db }) => ({ pay_frequencies: await frequenciesInUse(db, params.employer_id) }),
});

export const { get: getPayrollPolicy, put: putPayrollPolicy } = settingOperations(POLICY, {
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
  countOf: () => 1,
});
