import Type, { type Static } from 'typebox';
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
import { storedRun } from '../../payroll/records/runs.ts';
import { actingIn } from '../auth.ts';
import { viewerOf } from '../employers.ts';
import { Answer, operation } from '../operation.ts';
import { RunId } from '../run-schemas.ts';

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

export const listPayrollRunOverrides = operation({
  id: 'listPayrollRunOverrides',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/overrides',
  scope: 'runs:read',
  employers: 'run',
  summary: 'List the overrides of a payroll run',
  description: 'Lists the overridden amounts by employee, then by deduction.',
  params: RunId,
  response: { 200: Overrides },
  refuses: ['NOT_FOUND'],
  async run({ params }, { db }) {
    const { run_id } = await storedRun(db, params.run_id);
    return { overrides: await shownOverrides(db, run_id) };
  },
});

export const overridePayrollRunLine = operation({
  id: 'overridePayrollRunLine',
  method: 'PUT',
  path: '/v1/payroll-runs/:run_id/overrides/:employee_id/:deduction_id',
  scope: 'runs:write',
  employers: 'run',
  action: 'run.override',
  summary: 'Override the amounts of a deduction in an open payroll run',
  description:
    'The run takes these amounts instead of the regular ones, also where it has no line for the deduction. Later runs compute ' +
    'the regular amounts again and adjust nothing because of the override. The same request again changes nothing.',
  params: OverrideId,
  body: OverrideRequest,
  response: { 200: PayrollRunOverride, 201: PayrollRunOverride },
  refuses: ['NOT_FOUND', 'CONFLICT', 'OVERRIDE_REFUSED', 'RUN_REFUSED'],
  async run(call, parts) {
    const { member_amount, employer_amount, reason } = call.body;
    const overriding = {
      member: parseAmount(member_amount) as bigint,
      employer: parseAmount(employer_amount) as bigint,
      reason,
    };
    const [acting, viewer] = [actingIn(call, parts.now()), viewerOf(call, parts)];
    const set = await overrideAmounts(parts.db, overriddenBy(call.params), overriding, acting, viewer);
    const override = viewOverride(set.override);
    const status = set.outcome === 'created' ? 201 : 200;
    const logged = { employer_id: set.employerId };
    return new Answer(override, { status, isUnchanged: set.outcome === 'same', logged });
  },
  logs: ({ params: { run_id } }) => [{ run_id }, 'an amount of a payroll run was overridden'],
});

export const removePayrollRunOverride = operation({
  id: 'removePayrollRunOverride',
  method: 'DELETE',
  path: '/v1/payroll-runs/:run_id/overrides/:employee_id/:deduction_id',
  scope: 'runs:write',
  employers: 'run',
  action: 'run.remove-override',
  summary: 'Remove an override from an open payroll run',
  description: 'The run takes the regular amounts of the deduction again.',
  params: OverrideId,
  response: { 204: Type.Null({ description: 'The override was removed.' }) },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(call, { db, now }) {
    await dropOverride(db, overriddenBy(call.params), actingIn(call, now()));
  },
  logs: ({ params: { run_id } }) => [{ run_id }, 'an override was removed from a payroll run'],
});

function overriddenBy({ run_id, employee_id, deduction_id }: Static<typeof OverrideId>) {
  return { runId: run_id, employeeId: employee_id, deductionId: deduction_id };
}
