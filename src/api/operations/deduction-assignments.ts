/** Which employer takes a deduction. */
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { notFound } from '../../errors.ts';
import { madeAssignments, viewAssignment } from '../../ledger/assignments.ts';
import { getDeduction } from '../../ledger/deductions.ts';
import * as lifecycle from '../../payroll/lifecycle/assign.ts';
import { Actor } from '../../security/audit.ts';
import { actingIn } from '../auth.ts';
import { employersOf, seesEmployer } from '../employers.ts';
import { Answer, created, operation, type Parts } from '../operation.ts';

export const DeductionId = field.closed({
  deduction_id: { ...field.identifier, description: 'The deduction ID of the benefits service.' },
});

const AssignmentRequest = field.component(
  'DeductionAssignmentRequest',
  {
    employer_id: { ...field.identifier, description: 'An employer with whom the employee is or was active.' },
    effective_on: Type.Optional({
      ...field.day,
      description:
        'The assignment counts from the pay period that contains this date. Default: the date of receipt.',
    }),
    reason: field.reasonField('The reason, which is kept with the assignment.'),
  },
  'An assignment of a deduction to one of the employers of its employee.',
);

const Assignment = field.component(
  'DeductionAssignment',
  {
    id: field.text('The ID of the assignment.'),
    deduction_id: field.text('The deduction.'),
    employer_id: AssignmentRequest.properties.employer_id,
    effective_on: { ...field.day, description: 'The date whose pay period is the first that counts.' },
    reason: field.text('The reason for the assignment.'),
    position: Type.Integer({ minimum: 1, description: "The assignment's place in the ledger." }),
    assigned_by: Actor,
    recorded_at: field.text('The time of the assignment.'),
  },
  'A recorded assignment.',
);

const AssignmentsOfDeduction = field.component(
  'DeductionAssignments',
  {
    assignments: Type.Array(Assignment, {
      description:
        'The newest first. The first whose `effective_on` is on or before the end of a pay period applies to it.',
    }),
  },
  'The employers to which a deduction was assigned.',
);

export const getEmployerOfDeduction = operation({
  id: 'getEmployerOfDeduction',
  method: 'GET',
  path: '/v1/deductions/:deduction_id/employer',
  scope: 'ledger:read',
  employers: 'deduction',
  summary: 'Get the assignments of a deduction to employers',
  description: 'Empty for a deduction that was never assigned: its employer is the employer of its employee.',
  params: DeductionId,
  response: { 200: AssignmentsOfDeduction },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const id = call.params.deduction_id;
    await assertKnown(parts, id);
    const assignments = (await madeAssignments(parts.db, id)).filter(({ employer_id }) =>
      seesEmployer(call, employer_id),
    );
    return { assignments: assignments.reverse().map(viewAssignment) };
  },
});

export const assignDeduction = operation({
  id: 'assignDeduction',
  method: 'PUT',
  path: '/v1/deductions/:deduction_id/employer',
  scope: 'runs:write',
  employers: 'request',
  action: 'deduction.assign',
  summary: 'Assign a deduction to an employer',
  description:
    'For an employee with two employers: the runs of the employer take the deduction, and the runs of the other employer do not. ' +
    'Without an assignment neither takes it while both jobs last. The deduction stays with the employer until it is assigned again. ' +
    'Runs that took it in neither are adjusted. The latest assignment again changes nothing.',
  params: DeductionId,
  body: AssignmentRequest,
  response: { 200: Assignment, 201: Assignment },
  refuses: ['NOT_FOUND', 'CONFLICT', 'EMPLOYEE_ELSEWHERE', 'ASSIGNMENT_REFUSED'],
  async run(call, { db, now }) {
    const { employer_id: employerId, effective_on: effectiveOn = null, reason } = call.body;
    const deductionId = call.params.deduction_id;
    const assigning = { deductionId, employerId, effectiveOn, reason, limit: employersOf(call) };
    const { isNew, assignment } = await lifecycle.assignDeduction(db, assigning, actingIn(call, now()));
    const shown = viewAssignment(assignment);
    return isNew ? created(shown) : new Answer(shown, { isUnchanged: true });
  },
  logs: ({ body: { employer_id } }) => [{ employer_id }, 'a deduction was assigned to an employer'],
});

/** Throws NOT_FOUND. */
export async function assertKnown({ db, now }: Parts, deductionId: string): Promise<void> {
  if ((await getDeduction(db, deductionId, dayAt(db, now()))) === null) throw notFound('deduction');
}
