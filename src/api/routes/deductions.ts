import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { Deduction, LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import * as field from '../../contract/fields.ts';
import { utcDay } from '../../contract/instant.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { madeAssignments, viewAssignment } from '../../ledger/assignments.ts';
import {
  deductionCursor,
  viewDeduction,
  viewStartDecision,
  viewVersion,
} from '../../ledger/deduction-views.ts';
import { getDeduction, listDeductions, versionsAfter, versionsOf } from '../../ledger/deductions.ts';
import { transactOnLedger } from '../../ledger/position.ts';
import { decideStart, START_DECISIONS } from '../../ledger/start-decisions.ts';
import { DaysInEffect, timelineOfDeduction } from '../../ledger/timeline.ts';
import { sightsOf } from '../../ledger/visibility.ts';
import { assignDeduction, NOT_EMPLOYED, takenBy } from '../../payroll/lifecycle/assign.ts';
import { employersOfRuns } from '../../payroll/records/runs.ts';
import { Actor } from '../../security/audit.ts';
import { actingIn, by } from '../auth.ts';
import { employersOf, seesEmployer, viewerOf } from '../employers.ts';
import { broken, conflict, notFound, Refusal } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { cursor, flag, idFilter, instant, LIMIT_DEFAULT, limit, pageOf } from '../schemas.ts';

const STATE = {
  ...Deduction.properties,
  employer_id: field.nullable({
    ...field.identifier,
    description:
      'The employer to which the deduction is assigned, or else the employer of its employee. Null if it is unknown or ambiguous.',
  }),
  matched: field.boolean('Whether the employee is in the roster.'),
  version: Type.Integer({ minimum: 1, description: 'The number of the version, in order of recording.' }),
  position: Type.Integer({ minimum: 1, description: 'The position of the version in the ledger.' }),
  event_time: field.text('The event time reported by the benefits service, UTC with nanoseconds.'),
  recorded_at: field.text('The time the ledger recorded it.'),
};

export const StateOfDeduction = field.component(
  'Deduction',
  STATE,
  'A deduction with the fields that the benefits service sent.',
);

const Decision = field.component(
  'StartDecisionRequest',
  {
    version: Type.Integer({
      minimum: 1,
      rule: 'must be a version number',
      description: 'The version whose start was moved before it began, as the readiness check names it.',
    }),
    decision: {
      ...field.oneOf(START_DECISIONS),
      description: '`keep`: the version applies until the next one starts. `drop`: it counts as never sent.',
    },
    reason: field.reasonField('The reason, which is kept with the decision.'),
  },
  'A decision on a start that was moved together with other contents.',
);

const StartDecision = field.component(
  'StartDecision',
  {
    id: field.text('The ID of the decision.'),
    deduction_id: field.text('The deduction.'),
    ...Decision.properties,
    position: Type.Integer({ minimum: 1, description: "The decision's place in the ledger." }),
    decided_by: Actor,
    recorded_at: field.text('The time of the decision.'),
  },
  'A recorded decision.',
);

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

const VersionOfDeduction = field.component(
  'DeductionVersion',
  {
    ...STATE,
    id: field.text('The ID of the version: its position in the ledger.'),
    deduction_id: field.text('The deduction.'),
    event_id: field.text('The event that recorded the version.'),
    ordered_by: Type.Enum(['created_at', 'tie', 'receipt'], {
      description:
        'What determined the order: the event time, the order of receipt of a tie, or the time of receipt.',
    }),
    late: field.boolean('A newer state was already known when the event arrived.'),
    start_decision: field.nullable({
      ...StartDecision,
      description:
        'The decision on the start of this version, which was moved before it began. Null if there is none.',
    }),
  },
  'A version of a deduction.',
);

const VersionInEffect = field.component(
  'DeductionVersionInEffect',
  { ...VersionOfDeduction.properties, in_effect: DaysInEffect },
  'A version of a deduction with the dates on which it is in effect.',
);
/** Versions of a timeline: decades of elections. */
const TIMELINE_SHOWN = 1_000;

const TimelineOfDeduction = field.component(
  'DeductionTimeline',
  {
    data: Type.Array(VersionInEffect, {
      description: `The last ${TIMELINE_SHOWN} versions that are in effect on some date, in the order of dates. Their dates do not overlap.`,
    }),
  },
  'What payroll deducts over time.',
);

/** Where a page of a deduction's versions ended: a position of the ledger. */
const versionPosition = cursorOf('versions-of-deduction', Type.Integer({ minimum: 1 }));
const DeductionId = field.closed({
  deduction_id: { ...field.identifier, description: 'The deduction ID of the benefits service.' },
});

/** The parameters for the state on another date or at an earlier time. */
const THEN = {
  on: Type.Optional({
    ...field.day,
    description: 'The state in effect on this date. Default: the latest state, including ended deductions.',
  }),
  known_at: instant('Use only what the ledger knew at this time.'),
};

const Feed = field.component(
  'DeductionVersionFeed',
  {
    ...pageOf(VersionOfDeduction).properties,
    next_cursor: field.text('Send it as `cursor` to get the versions recorded since.'),
  },
  'A page of the change feed.',
);

export function deductionRoutes(app: Api, parts: ApiParts): void {
  const { db, now, log } = parts;
  const today = () => utcDay(now());

  /** Throws 409 if a limited caller decides on a deduction of an employee who moved away. */
  async function assertOwnEmployee(request: FastifyRequest, deductionId: string): Promise<void> {
    const viewer = viewerOf(request, parts);
    if (viewer === null) return;
    const employeeId = (await getDeduction(db, deductionId, today(), { viewer }))?.version.employee_id ?? '';
    if ((await sightsOf(db, [employeeId], viewer)).get(employeeId)?.isCurrent !== true)
      throw conflict('The employee is no longer with an employer of this token.');
  }

  /** Returns the runs that a limited caller may see. Hidden ones become one entry. */
  async function visibleRuns(employers: readonly string[] | null, runIds: readonly string[]) {
    if (employers === null) return runIds;
    const employerOf = await employersOfRuns(db, runIds);
    const seen = runIds.filter((runId) => employers.includes(employerOf.get(runId) ?? ''));
    return seen.length === runIds.length ? seen : [...seen, 'runs of another employer'];
  }

  app.get(
    '/v1/deductions',
    operation('Deductions', 'ledger:read', {
      operationId: 'listDeductions',
      employers: 'list',
      summary: 'List deductions',
      description:
        'Lists deductions by employee, then by deduction. Parameters are combined with AND. If few deductions match, a page may have fewer ' +
        'rows than `limit`, even none, and still a `next_cursor`, because each page is read within a bounded time.',
      querystring: field.closed({
        employer_id: idFilter('Only employees of this employer.'),
        employee_id: idFilter('Only results for this employee.'),
        matched: flag('Whether the employee is in the roster.'),
        ...THEN,
        line_of_coverage: Type.Optional(field.oneOf(LINES_OF_COVERAGE)),
        taxability: Type.Optional(field.oneOf(TAXABILITIES)),
        cursor,
        limit,
      }),
      response: { 200: pageOf(StateOfDeduction) },
    }),
    async (request) => {
      const { query } = request;
      const page = { after: deductionCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const filter = {
        ...query,
        viewer: viewerOf(request, parts),
        employerId: query.employer_id,
        employeeId: query.employee_id,
        knownAt: query.known_at,
        lineOfCoverage: query.line_of_coverage,
      };
      const { deductions, next } = await listDeductions(db, filter, page, today());
      return deductionCursor.page(deductions.map(viewDeduction), next);
    },
  );

  app.get(
    '/v1/deductions/:deduction_id',
    operation('Deductions', 'ledger:read', {
      operationId: 'getDeduction',
      employers: 'deduction',
      summary: 'Get a deduction',
      description:
        'Returns the version with the greatest event time, then position. With `on` or `known_at`, returns 404 if ' +
        'the deduction was not in effect or not known then.',
      params: DeductionId,
      querystring: field.closed(THEN),
      response: { 200: StateOfDeduction },
      refuses: ['NOT_FOUND'],
    }),
    async (request) => {
      const id = request.params.deduction_id;
      const { on, known_at: knownAt } = request.query;
      const viewer = viewerOf(request, parts);
      const state = await getDeduction(db, id, today(), { on, knownAt, viewer });
      if (state !== null) return viewDeduction(state);
      if ((await getDeduction(db, id, today(), { viewer })) === null) throw notFound('deduction');
      throw new Refusal(
        'NOT_FOUND',
        'This deduction was not in effect on that date, or not known at that time.',
      );
    },
  );

  app.get(
    '/v1/deductions/:deduction_id/versions',
    operation('Deductions', 'ledger:read', {
      operationId: 'listVersionsOfDeduction',
      employers: 'deduction',
      summary: 'List the versions of a deduction',
      description: 'Lists all versions in order of recording, unless `order` states otherwise.',
      params: DeductionId,
      querystring: field.closed({
        order: Type.Optional(field.oneOf(['oldest_first', 'newest_first'])),
        cursor,
        limit,
      }),
      response: { 200: pageOf(VersionOfDeduction) },
      refuses: ['NOT_FOUND'],
    }),
    async (request) => {
      const { params, query } = request;
      const id = params.deduction_id;
      const { order, limit = LIMIT_DEFAULT } = query;
      const page = { after: versionPosition.decode(query.cursor), limit, order };
      const { versions, next } = await versionsOf(db, id, page, today(), viewerOf(request, parts));
      if (versions.length === 0 && (await getDeduction(db, id, today())) === null)
        throw notFound('deduction');
      return versionPosition.page(versions.map(viewVersion), next);
    },
  );

  app.get(
    '/v1/deductions/:deduction_id/timeline',
    operation('Deductions', 'ledger:read', {
      operationId: 'getTimelineOfDeduction',
      employers: 'deduction',
      summary: 'Get the dates on which versions are in effect',
      description:
        'Returns the versions that payroll deducts, with their dates. Late versions, corrected starts and decisions are considered.',
      params: DeductionId,
      response: { 200: TimelineOfDeduction },
      refuses: ['NOT_FOUND'],
    }),
    async (request) => {
      const id = request.params.deduction_id;
      if ((await getDeduction(db, id, today())) === null) throw notFound('deduction');
      const viewer = viewerOf(request, parts);
      const timeline = await timelineOfDeduction(db, id, { limit: TIMELINE_SHOWN, today: today(), viewer });
      return { data: timeline.map(({ state, days }) => ({ ...viewVersion(state), in_effect: days })) };
    },
  );

  app.post(
    '/v1/deductions/:deduction_id/start-decision',
    operation('Deductions', 'runs:write', {
      operationId: 'decideStartOfDeduction',
      employers: 'deduction',
      action: 'deduction.decide-start',
      summary: 'Decide whether a version with a moved start applies',
      description:
        'Needed when a start is moved before it arrives and the contents change with it: runs on the days in ' +
        'between fail the check `start-moved` until then. A later decision on the same version replaces this one.',
      params: DeductionId,
      body: Decision,
      response: { 201: StartDecision },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request, reply) => {
      const { deduction_id } = request.params;
      await assertOwnEmployee(request, deduction_id);
      const decision = { ...request.body, deductionId: deduction_id };
      const acting = actingIn(request, now());
      const decided = await transactOnLedger(db, (trx) => decideStart(trx, decision, acting));
      if (decided.outcome === 'unknown') throw notFound(`version ${decision.version} of a deduction`);
      if (decided.outcome === 'not-undecided')
        throw conflict('The start of this version was not moved in a way that needs a decision.');
      log.info(by(request), 'a start decision was recorded');
      return reply.code(201).send(viewStartDecision(decided.decision));
    },
  );

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
      employers: 'deduction',
      action: 'deduction.assign',
      summary: 'Assign a deduction to an employer',
      description:
        'For an employee with two employers: the runs of the employer take the deduction, and the runs of the other employer do not. ' +
        'Without an assignment neither takes it while both jobs last. The deduction stays with the employer until it is assigned again. ' +
        'Runs that took it in neither are adjusted. The latest assignment again changes nothing.',
      params: DeductionId,
      body: AssignmentRequest,
      response: { 200: Assignment, 201: Assignment },
      refuses: ['NOT_FOUND', 'CONFLICT', 'ASSIGNMENT_REFUSED'],
    }),
    async (request, reply) => {
      const { employer_id, effective_on = null, reason } = request.body;
      const assigning = { employerId: employer_id, effectiveOn: effective_on, reason };
      const { deduction_id: deductionId } = request.params;
      if (!seesEmployer(request, employer_id))
        throw broken('ASSIGNMENT_REFUSED', [{ path: 'employer_id', rule: NOT_EMPLOYED }]);
      await assertOwnEmployee(request, deductionId);
      const assigned = await assignDeduction(db, { deductionId, ...assigning }, actingIn(request, now()));
      if (assigned.outcome === 'unknown') throw notFound('deduction');
      if (assigned.outcome === 'not-employed')
        throw broken('ASSIGNMENT_REFUSED', [{ path: 'employer_id', rule: NOT_EMPLOYED }]);
      if (assigned.outcome === 'taken') {
        throw conflict(takenBy({ ...assigned, by: await visibleRuns(employersOf(request), assigned.by) }));
      }
      if (assigned.outcome === 'same') return viewAssignment(assigned.assignment);
      log.info({ employer_id, ...by(request) }, 'a deduction was assigned to an employer');
      return reply.code(201).send(viewAssignment(assigned.assignment));
    },
  );

  app.get(
    '/v1/deduction-versions',
    operation('Deductions', 'ledger:read', {
      operationId: 'listDeductionVersions',
      employers: 'refused',
      summary: 'List the changes of the ledger',
      description:
        'Lists the versions of all deductions in commit order, each exactly once. Every response, even an empty one, ' +
        'has the `next_cursor` from which to resume. Store it with the changes that you have processed.',
      querystring: field.closed({
        cursor: Type.Optional(
          Type.String({
            pattern: '^\\d{1,15}$',
            default: '0',
            rule: 'must be the next_cursor of this feed or a ledger position',
            description:
              'The `next_cursor` of the previous response, or a ledger position. Default: the beginning.',
          }),
        ),
        limit,
      }),
      response: { 200: Feed },
    }),
    async ({ query }) => {
      const { cursor = '0', limit = LIMIT_DEFAULT } = query;
      const versions = await versionsAfter(db, Number(cursor), limit + 1, today());
      const data = versions.slice(0, limit).map(viewVersion);
      return { data, has_more: versions.length > limit, next_cursor: data.at(-1)?.id ?? cursor };
    },
  );
}
