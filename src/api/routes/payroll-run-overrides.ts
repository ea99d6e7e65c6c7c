import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { parseAmount } from '../../money.ts';
import { requestedAmount } from '../../payroll/calculation/line.ts';
import {
  dropOverride,
  overrideAmounts,
  PayrollRunOverride,
  shownOverrides,
  viewOverride,
} from '../../payroll/lifecycle/overrides.ts';
import { actingIn, by } from '../auth.ts';
import { broken, notFound } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { RunId } from '../run-schemas.ts';
import { noRun, notOpen, storedRun } from './payroll-runs.ts';

const OverrideRequest = field.component(
  'PayrollRunOverrideRequest',
  {
    member_amount: requestedAmount('The amount to deduct from the employee’s paycheck.'),
    employer_amount: requestedAmount('The employer amount for this paycheck.'),
    reason: field.reasonField('Why the amounts differ. Stored with the run.'),
  },
  'Amounts for one deduction of one employee in one run.',
);

const Overrides = field.component(
  'PayrollRunOverrides',
  { overrides: Type.Array(PayrollRunOverride, { description: 'By employee, then by deduction.' }) },
  'The overrides of a run.',
);

const OverrideId = field.closed({
  ...RunId.properties,
  employee_id: { ...field.identifier, description: 'An employee in the run.' },
  deduction_id: { ...field.identifier, description: 'A deduction of the employee.' },
});

export function payrollRunOverrideRoutes(app: Api, { db, now, log }: ApiParts): void {
  app.get(
    '/v1/payroll-runs/:run_id/overrides',
    operation('Payroll runs', 'runs:read', {
      employers: 'run',
      operationId: 'listPayrollRunOverrides',
      summary: 'List the overrides of a payroll run',
      description: 'Lists the overridden amounts by employee, then by deduction.',
      params: RunId,
      response: { 200: Overrides },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params }) => {
      const { run_id } = await storedRun(db, params.run_id);
      return { overrides: await shownOverrides(db, run_id) };
    },
  );

  app.put(
    '/v1/payroll-runs/:run_id/overrides/:employee_id/:deduction_id',
    operation('Payroll runs', 'runs:write', {
      employers: 'run',
      operationId: 'overridePayrollRunLine',
      action: 'run.override',
      summary: 'Override the amounts of a deduction in an open payroll run',
      description:
        'The run takes these amounts instead of the regular ones, also where it has no line for the deduction. Later runs compute ' +
        'the regular amounts again and adjust nothing because of the override. The same request again changes nothing.',
      params: OverrideId,
      body: OverrideRequest,
      response: { 200: PayrollRunOverride, 201: PayrollRunOverride },
      refuses: ['NOT_FOUND', 'CONFLICT', 'OVERRIDE_REFUSED', 'RUN_REFUSED'],
    }),
    async (request, reply) => {
      const { params, body } = request;
      const overridden = {
        runId: params.run_id,
        employeeId: params.employee_id,
        deductionId: params.deduction_id,
      };
      const overriding = {
        member: parseAmount(body.member_amount) as bigint,
        employer: parseAmount(body.employer_amount) as bigint,
        reason: body.reason,
      };
      const set = await overrideAmounts(db, overridden, overriding, actingIn(request, now()));
      if (set.outcome === 'unknown') throw noRun();
      if (set.outcome === 'not-open') throw notOpen();
      if (set.outcome === 'refused') throw broken('OVERRIDE_REFUSED', set.problems);
      if (set.outcome === 'same') return viewOverride(set.override);
      const fields = { run_id: params.run_id, employer_id: set.employerId, ...by(request) };
      log.info(fields, 'an amount of a payroll run was overridden');
      return reply.code(set.outcome === 'created' ? 201 : 200).send(viewOverride(set.override));
    },
  );

  app.delete(
    '/v1/payroll-runs/:run_id/overrides/:employee_id/:deduction_id',
    operation('Payroll runs', 'runs:write', {
      employers: 'run',
      operationId: 'removePayrollRunOverride',
      action: 'run.remove-override',
      summary: 'Remove an override from an open payroll run',
      description: 'The run takes the regular amounts of the deduction again.',
      params: OverrideId,
      response: { 204: Type.Null({ description: 'The override was removed.' }) },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request, reply) => {
      const { run_id, employee_id, deduction_id } = request.params;
      const overridden = { runId: run_id, employeeId: employee_id, deductionId: deduction_id };
      const outcome = await dropOverride(db, overridden, actingIn(request, now()));
      if (outcome === 'unknown') throw noRun();
      if (outcome === 'not-open') throw notOpen();
      if (outcome === 'none') throw notFound('override of this deduction in the run');
      log.info({ run_id, ...by(request) }, 'an override was removed from a payroll run');
      return reply.code(204).send(null);
    },
  );
}
