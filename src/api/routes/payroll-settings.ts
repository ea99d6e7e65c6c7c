import Type, { type TSchema } from 'typebox';
import { transact } from '../../database/transaction.ts';
import { CODES, PayrollCodes } from '../../payroll/settings/codes.ts';
import { PayrollPolicy, POLICY, PolicyRequest } from '../../payroll/settings/policy.ts';
import { PaySchedules, SCHEDULES } from '../../payroll/settings/schedules.ts';
import type { Setting } from '../../payroll/settings/setting.ts';
import { by } from '../auth.ts';
import { broken } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { exceptBody } from '../validation.ts';
import { EmployerId } from './censuses.ts';

export { CODES_MAX } from '../../payroll/settings/codes.ts';
export { DATES_MAX } from '../../payroll/settings/schedules.ts';

/** The limit covers the largest payrolls; a date with its period takes about 90 bytes. */
const SETTINGS_BYTES_MAX = 8 * 1024 * 1024;

/** The texts of a setting in the reference and in the log. */
type Words = {
  path: string;
  request: TSchema;
  response: TSchema;
  get: { operationId: string; summary: string; description: string };
  put: { operationId: string; summary: string; description: string };
  logged: string;
};

/** The settings of an employer: pay schedules, payroll codes and payroll policy. */
export function payrollSettingRoutes(app: Api, parts: ApiParts): void {
  settingRoutes(app, parts, SCHEDULES, {
    path: 'pay-schedule',
    request: PaySchedules,
    response: PaySchedules,
    get: {
      operationId: 'getPaySchedule',
      summary: "Get an employer's pay schedules",
      description: 'Returns the stored list. Empty if the employer has none.',
    },
    put: {
      operationId: 'putPaySchedule',
      summary: "Set an employer's pay schedules",
      description:
        'Replaces all schedules. Open runs use the new schedules from now on. Finalized runs do not change.',
    },
    logged: 'pay schedules were set',
  });
  settingRoutes(app, parts, CODES, {
    path: 'payroll-codes',
    request: PayrollCodes,
    response: PayrollCodes,
    get: {
      operationId: 'getPayrollCodes',
      summary: "Get an employer's payroll codes",
      description: 'Returns the stored list. Empty if the employer has none.',
    },
    put: {
      operationId: 'putPayrollCodes',
      summary: "Set an employer's payroll codes",
      description: 'Replaces all codes. If there are any, readiness names the deductions without one.',
    },
    logged: 'payroll codes were set',
  });
  settingRoutes(app, parts, POLICY, {
    path: 'payroll-policy',
    request: PolicyRequest,
    response: PayrollPolicy,
    get: {
      operationId: 'getPayrollPolicy',
      summary: "Get an employer's payroll policy",
      description: 'All versions. A run uses the first whose `effective_from` is on or before its pay date.',
    },
    put: {
      operationId: 'putPayrollPolicy',
      summary: "Set an employer's payroll policy",
      description:
        'Adds a version. Open runs with a pay date on or after `effective_from` use it from now on; finalized runs ' +
        'keep their options. The same policy again changes nothing.',
    },
    logged: 'a payroll policy was set',
  });
}

function settingRoutes<Value>(
  app: Api,
  { db, now, log }: ApiParts,
  setting: Setting<Value, object>,
  { path, request: body, response, get, put, logged }: Words,
): void {
  const url = `/v1/employers/:employer_id/${path}`;
  const shown = { params: EmployerId, response: { 200: Type.Unsafe<object>(response) } };

  app.get(url, operation('Payroll settings', 'runs:read', { ...get, ...shown }), ({ params }) =>
    setting.view(db, params.employer_id),
  );

  app.put(
    url,
    operation('Payroll settings', 'runs:write', {
      ...put,
      ...shown,
      body: Type.Unsafe<unknown>(body),
      refuses: ['SETTINGS_REFUSED'],
      bodyLimit: SETTINGS_BYTES_MAX,
      validatorCompiler: exceptBody,
    }),
    async (request) => {
      const { employer_id } = request.params;
      const checked = setting.check(request.body);
      if (!checked.ok) throw broken('SETTINGS_REFUSED', checked.problems);
      const { value } = checked;
      const set = { now: now().toISOString(), by: by(request).token ?? null };
      await transact(db, (trx) => setting.put(trx, employer_id, value, set));
      const count = Array.isArray(value) ? value.length : 1;
      log.info({ employer_id, count, ...by(request) }, logged);
      return setting.view(db, employer_id);
    },
  );
}
