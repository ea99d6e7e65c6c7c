import Type from 'typebox';
import { Deduction, LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { deductionCursor, viewDeduction, viewVersion } from '../../ledger/deduction-views.ts';
import { getDeduction, listDeductions, versionsAfter, versionsOf } from '../../ledger/deductions.ts';
import { DaysInEffect, timelineOfDeduction } from '../../ledger/timeline.ts';
import { viewerOf } from '../employers.ts';
import { notFound, Refusal } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { cursor, flag, idFilter, instant, LIMIT_DEFAULT, limit, pageOf } from '../schemas.ts';
import { DeductionId } from './deduction-decisions.ts';

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

const VersionOfDeduction = field.component(
  'DeductionVersion',
  {
    ...STATE,
    id: field.text('The ID of the version: its position in the ledger.'),
    deduction_id: field.text('The deduction.'),
    event_id: field.text('The event that recorded the version.'),
    ordered_by: Type.Enum(['created_at', 'tie', 'receipt'], {
      description:
        'What determined the order: the event time, the order of receipt of a tie, or the time of receipt if `created_at` is absent or before 2000.',
    }),
    late: field.boolean('A newer state was already known when the event arrived.'),
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
    versions: Type.Array(VersionInEffect, {
      description: `The last ${TIMELINE_SHOWN} versions that are in effect on some date, in the order of dates. Their dates do not overlap.`,
    }),
  },
  'What payroll deducts over time.',
);

/** Where a page of a deduction's versions ended: a position of the ledger. */
const versionPosition = cursorOf('versions-of-deduction', Type.Integer({ minimum: 1 }));

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
  const { db, now } = parts;
  const today = () => dayAt(db, now());

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
      const viewer = viewerOf(request, parts);
      const timeline = await timelineOfDeduction(db, id, { limit: TIMELINE_SHOWN, today: today(), viewer });
      if (timeline === null) throw notFound('deduction');
      return { versions: timeline.map(({ state, days }) => ({ ...viewVersion(state), in_effect: days })) };
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
