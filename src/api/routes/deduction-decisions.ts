/** Which employer takes a deduction. */
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { madeAssignments, viewAssignment } from '../../ledger/assignments.ts';
import { getDeduction } from '../../ledger/deductions.ts';
import { assignDeduction, ELSEWHERE_PROBLEM, NOT_EMPLOYED, takenBy } from '../../payroll/lifecycle/assign.ts';
import { employersOfRuns } from '../../payroll/records/runs.ts';
import { Actor } from '../../security/audit.ts';
import { actingIn, by } from '../auth.ts';
import { employersOf, seesEmployer } from '../employers.ts';
import { broken, conflict, notFound } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';

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
        'The assignment counts from the pay period that contains this date. Default: the date of receipt, UTC.',
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

export function deductionDecisionRoutes(app: Api, parts: ApiParts): void {
  const { db, now, log } = parts;
  const today = () => dayAt(db, now());

  /** Returns the runs that a limited caller may see. Hidden ones become one entry. */
  async function visibleRuns(employers: readonly string[] | null, runIds: readonly string[]) {
    if (employers === null) return runIds;
    const employerOf = await employersOfRuns(db, runIds);
    const seen = runIds.filter((runId) => employers.includes(employerOf.get(runId) ?? ''));
    return seen.length === runIds.length ? seen : [...seen, 'runs of another employer'];
  }

  app.get(
    '/v1/deductions/:deduction_id/employer',
    operation('Deductions', 'ledger:read', {
      operationId: 'getEmployerOfDeduction',
      employers: 'deduction',
      summary: 'Get the assignments of a deduction to employers',
      description:
        'Empty for a deduction that was never assigned: its employer is the employer of its employee.',
      params: DeductionId,
      response: { 200: AssignmentsOfDeduction },
      refuses: ['NOT_FOUND'],
    }),
    async (request) => {
      const id = request.params.deduction_id;
      if ((await getDeduction(db, id, today())) === null) throw notFound('deduction');
      const assignments = (await madeAssignments(db, id)).filter(({ employer_id }) =>
        seesEmployer(request, employer_id),
      );
      return { assignments: assignments.reverse().map(viewAssignment) };
    },
  );

  app.put(
    '/v1/deductions/:deduction_id/employer',
    operation('Deductions', 'runs:write', {
      operationId: 'assignDeduction',
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
    }),
    async (request, reply) => {
      const { employer_id, effective_on = null, reason } = request.body;
      const limit = employersOf(request);
      const assigning = { employerId: employer_id, effectiveOn: effective_on, reason, limit };
      const { deduction_id: deductionId } = request.params;
      const assigned = await assignDeduction(db, { deductionId, ...assigning }, actingIn(request, now()));
      if (assigned.outcome === 'unknown') throw notFound('deduction');
      if (assigned.outcome === 'not-employed')
        throw broken('ASSIGNMENT_REFUSED', [{ path: 'employer_id', rule: NOT_EMPLOYED }]);
      if (assigned.outcome === 'elsewhere') throw broken('EMPLOYEE_ELSEWHERE', [ELSEWHERE_PROBLEM]);
      if (assigned.outcome === 'taken') {
        throw conflict(takenBy({ ...assigned, by: await visibleRuns(limit, assigned.by) }));
      }
      if (assigned.outcome === 'same') return viewAssignment(assigned.assignment);
      log.info({ employer_id, ...by(request) }, 'a deduction was assigned to an employer');
      return reply.code(201).send(viewAssignment(assigned.assignment));
    },
  );
}
