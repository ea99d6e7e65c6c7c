/** The ledger of deductions. */
import Type from 'typebox';
import { Deduction, LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { notFound } from '../../errors.ts';
import { cursorOf, LIMIT_DEFAULT } from '../../formats/cursor.ts';
import { deductionCursor, viewDeduction, viewVersion } from '../../ledger/deduction-views.ts';
import * as ledger from '../../ledger/deductions.ts';
import { DaysInEffect, timelineOfDeduction } from '../../ledger/timeline.ts';
import { assertKnownFilter, viewerOf } from '../employers.ts';
import { operation, type Parts } from '../operation.ts';
import { Refusal } from '../problem.ts';
import { cursor, flag, idFilter, instant, limit, pageOf } from '../schemas.ts';
import { assertKnown, DeductionId } from './deduction-assignments.ts';

const Placeholder = field.component(
  'Placeholder',
  {
    replaced_by: field.nullableText(
      'The deduction of the benefits service that replaces it. Null while it is open.',
    ),
    replaced_from: field.nullableText(
      'The first date of that deduction: the placeholder ends on the day before. Null without one, and if that deduction has no start.',
    ),
  },
  'What replaces a deduction that an import named without an ID of the benefits service.',
);

const STATE = {
  ...Deduction.properties,
  employer_id: field.nullable({
    ...field.identifier,
    description:
      'The employer to which the deduction is assigned, or else the employer of its employee. Null if it is unknown or ambiguous.',
  }),
  matched: field.boolean('Whether the employee is in the roster.'),
  placeholder: field.nullable({
    ...Placeholder,
    description: 'Null, unless an import named the deduction without an ID of the benefits service.',
  }),
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

const today = ({ db, now }: Pick<Parts, 'db' | 'now'>): string => dayAt(db, now());

export const listDeductions = operation({
  id: 'listDeductions',
  method: 'GET',
  path: '/v1/deductions',
  scope: 'ledger:read',
  employers: 'list',
  summary: 'List deductions',
  description:
    'Lists deductions by employee, then by deduction. Parameters are combined with AND. If few deductions match, a page may have fewer ' +
    'rows than `limit`, even none, and still a `next_cursor`, because each page is read within a bounded time.',
  query: field.closed({
    employer_id: idFilter('Only employees of this employer.'),
    employee_id: idFilter('Only results for this employee.'),
    matched: flag('Whether the employee is in the roster.'),
    ...THEN,
    line_of_coverage: Type.Optional(
      field.oneOfDescribed(LINES_OF_COVERAGE, 'Only deductions of this line of coverage.'),
    ),
    taxability: Type.Optional(field.oneOfDescribed(TAXABILITIES, 'Only deductions of this taxability.')),
    placeholder: Type.Optional(
      field.oneOfDescribed(
        ['open', 'replaced'],
        'Only placeholders: `open` ones, which no deduction of the benefits service replaces and which have not ended, or `replaced` ones.',
      ),
    ),
    cursor,
    limit,
  }),
  response: { 200: pageOf(StateOfDeduction) },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const { query } = call;
    await assertKnownFilter(call, parts, query.employer_id);
    const page = { after: deductionCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
    const filter = {
      ...query,
      viewer: viewerOf(call, parts),
      employerId: query.employer_id,
      employeeId: query.employee_id,
      knownAt: query.known_at,
      lineOfCoverage: query.line_of_coverage,
    };
    const { deductions, next } = await ledger.listDeductions(parts.db, filter, page, today(parts));
    return deductionCursor.page(deductions.map(viewDeduction), next);
  },
});

export const getDeduction = operation({
  id: 'getDeduction',
  method: 'GET',
  path: '/v1/deductions/:deduction_id',
  scope: 'ledger:read',
  employers: 'deduction',
  summary: 'Get a deduction',
  description:
    'Returns the version with the greatest event time, then position. With `on` or `known_at`, returns 404 if ' +
    'the deduction was not in effect or not known then.',
  params: DeductionId,
  query: field.closed(THEN),
  response: { 200: StateOfDeduction },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const id = call.params.deduction_id;
    const { on, known_at: knownAt } = call.query;
    const viewer = viewerOf(call, parts);
    const state = await ledger.getDeduction(parts.db, id, today(parts), { on, knownAt, viewer });
    if (state !== null) return viewDeduction(state);
    if ((await ledger.getDeduction(parts.db, id, today(parts), { viewer })) === null)
      throw notFound('deduction');
    throw new Refusal(
      'NOT_FOUND',
      'This deduction was not in effect on that date, or not known at that time.',
    );
  },
});

export const listVersionsOfDeduction = operation({
  id: 'listVersionsOfDeduction',
  method: 'GET',
  path: '/v1/deductions/:deduction_id/versions',
  scope: 'ledger:read',
  employers: 'deduction',
  summary: 'List the versions of a deduction',
  description: 'Lists all versions in order of recording, unless `order` states otherwise.',
  params: DeductionId,
  query: field.closed({
    order: Type.Optional(
      field.oneOfDescribed(['oldest_first', 'newest_first'], 'The order. Default: `oldest_first`.'),
    ),
    cursor,
    limit,
  }),
  response: { 200: pageOf(VersionOfDeduction) },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const { deduction_id: id } = call.params;
    const { order, cursor: after, limit: most = LIMIT_DEFAULT } = call.query;
    const page = { after: versionPosition.decode(after), limit: most, order };
    const { versions, next } = await ledger.versionsOf(
      parts.db,
      id,
      page,
      today(parts),
      viewerOf(call, parts),
    );
    if (versions.length === 0) await assertKnown(parts, id);
    return versionPosition.page(versions.map(viewVersion), next);
  },
});

export const getTimelineOfDeduction = operation({
  id: 'getTimelineOfDeduction',
  method: 'GET',
  path: '/v1/deductions/:deduction_id/timeline',
  scope: 'ledger:read',
  employers: 'deduction',
  summary: 'Get the dates on which versions are in effect',
  description:
    'Returns the versions that payroll deducts, with their dates. Late versions, corrected starts and decisions are considered.',
  params: DeductionId,
  response: { 200: TimelineOfDeduction },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const how = { limit: TIMELINE_SHOWN, today: today(parts), viewer: viewerOf(call, parts) };
    const timeline = await timelineOfDeduction(parts.db, call.params.deduction_id, how);
    if (timeline === null) throw notFound('deduction');
    return { versions: timeline.map(({ state, days }) => ({ ...viewVersion(state), in_effect: days })) };
  },
});

export const listDeductionVersions = operation({
  id: 'listDeductionVersions',
  method: 'GET',
  path: '/v1/deduction-versions',
  scope: 'ledger:read',
  employers: 'refused',
  summary: 'List the changes of the ledger',
  description:
    'Lists the versions of all deductions in commit order, each exactly once. Every response, even an empty one, ' +
    'has the `next_cursor` from which to resume. Store it with the changes that you have processed.',
  query: field.closed({
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
  async run({ query: { cursor: after = '0', limit: most = LIMIT_DEFAULT } }, parts) {
    const versions = await ledger.versionsAfter(parts.db, Number(after), most + 1, today(parts));
    const data = versions.slice(0, most).map(viewVersion);
    return { data, has_more: versions.length > most, next_cursor: data.at(-1)?.id ?? after };
  },
});
