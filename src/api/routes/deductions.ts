import Type, { type Static } from 'typebox';
import { Deduction, LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import {
  boolean,
  closed,
  component,
  day,
  identifier,
  nullable,
  oneOf,
  reasonField,
  text,
} from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { AppError } from '../../errors.ts';
import { cursorOf } from '../../formats/cursor.ts';
import {
  deductionCursor,
  viewDeduction,
  viewStartDecision,
  viewVersion,
} from '../../ledger/deduction-view.ts';
import {
  type DeductionFilter,
  getDeduction,
  listDeductions,
  versionsAfter,
  versionsOf,
} from '../../ledger/deductions.ts';
import { decideStart, START_DECISIONS } from '../../ledger/start-decisions.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { conflict, notFound } from '../problem.ts';
import { taggedOperation } from '../route-table.ts';
import {
  type Api,
  cursor,
  instant,
  LIMIT_DEFAULT,
  limit,
  ownInstant,
  pageOf,
  toMilliseconds,
} from '../schemas.ts';

const operation = taggedOperation('Deductions');

const STATE = {
  ...Deduction.properties,
  employer_id: nullable({
    ...identifier,
    description: 'The employer according to the roster. Null if it is unknown or ambiguous.',
  }),
  matched: boolean('Whether the employee is in the roster.'),
  version: Type.Integer({ minimum: 1, description: 'The number of the version, in order of recording.' }),
  position: Type.Integer({ minimum: 1, description: 'The position of the version in the ledger.' }),
  event_time: ownInstant('The event time reported by the benefits service, UTC with nanoseconds.'),
  recorded_at: ownInstant('The time the ledger recorded it.'),
};

export const StateOfDeduction = component(
  'Deduction',
  STATE,
  'A deduction with the fields that the benefits service sent.',
);

const Decision = component(
  'StartDecisionRequest',
  {
    version: Type.Integer({
      minimum: 1,
      rule: 'must be a version number',
      description: 'The version whose start was moved before it began, as the readiness check names it.',
    }),
    decision: {
      ...oneOf(START_DECISIONS),
      description: '`keep`: the version applies until the next one starts. `drop`: it counts as never sent.',
    },
    reason: reasonField('The reason, which is kept with the decision.'),
  },
  'A decision on a start that was moved together with other contents.',
);

const StartDecision = component(
  'StartDecision',
  {
    id: text('The ID of the decision.'),
    deduction_id: text('The deduction.'),
    ...Decision.properties,
    position: Type.Integer({ minimum: 1, description: "The decision's place in the ledger." }),
    decided_by: text('The name of the token that decided.'),
    recorded_at: ownInstant('The time of the decision.'),
  },
  'A recorded decision.',
);

const VersionOfDeduction = component(
  'DeductionVersion',
  {
    ...STATE,
    id: text('The ID of the version: its position in the ledger.'),
    deduction_id: text('The deduction.'),
    event_id: text('The event that recorded the version.'),
    ordered_by: Type.Enum(['created_at', 'tie', 'receipt'], {
      description:
        'What determined the order: the event time, the order of receipt of a tie, or the time of receipt.',
    }),
    late: boolean('A newer state was already known when the event arrived.'),
    start_decision: nullable({
      ...StartDecision,
      description:
        'The decision on the start of this version, which was moved before it began. Null if there is none.',
    }),
  },
  'A version of a deduction.',
);

/** Where a page of a deduction's versions ended: a position of the ledger. */
const versionPosition = cursorOf('versions-of-deduction', Type.Integer({ minimum: 1 }));
const VERSION_ORDERS = ['oldest_first', 'newest_first'] as const;
const NOT_THEN = 'This deduction was not in effect on that date, or not known at that time.';
const DeductionId = closed({
  deduction_id: { ...identifier, description: 'The deduction ID of the benefits service.' },
});

/** The parameters for the state on another date or at an earlier time. */
const THEN = {
  on: Type.Optional({
    ...day,
    description: 'The state in effect on this date. Default: the latest state, including ended deductions.',
  }),
  known_at: Type.Optional(instant('Use only what the ledger knew at this time.')),
};

const DeductionQuery = closed({
  employer_id: Type.Optional({ ...identifier, description: 'Only employees of this employer.' }),
  employee_id: Type.Optional({ ...identifier, description: 'Only results for this employee.' }),
  matched: Type.Optional(
    Type.Boolean({ rule: 'must be true or false', description: 'Whether the employee is in the roster.' }),
  ),
  ...THEN,
  line_of_coverage: Type.Optional(oneOf(LINES_OF_COVERAGE)),
  taxability: Type.Optional(oneOf(TAXABILITIES)),
  cursor,
  limit,
});

export function deductionRoutes(app: Api, parts: ApiParts): void {
  const { db, now, log } = parts;
  const today = () => now().toISOString().slice(0, 10);
  app.get(
    '/v1/deductions',
    operation('ledger:read', {
      operationId: 'listDeductions',
      summary: 'List deductions',
      description:
        'Lists deductions by employee, then by deduction. Parameters are combined with AND. If few deductions match, a page may have fewer ' +
        'rows than `limit`, even none, and still a `next_cursor`, because each page is read within a bounded time.',
      querystring: DeductionQuery,
      response: { 200: pageOf(StateOfDeduction) },
    }),
    async ({ query }) => {
      const page = { after: deductionCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { deductions, next } = await listDeductions(db, filterOf(query), page, today());
      return deductionCursor.page(deductions.map(viewDeduction), next);
    },
  );

  app.get(
    '/v1/deductions/:deduction_id',
    operation('ledger:read', {
      operationId: 'getDeduction',
      summary: 'Get a deduction',
      description:
        'Returns the version with the greatest event time, then position. With `on` or `known_at`, returns 404 if ' +
        'the deduction was not in effect or not known then.',
      params: DeductionId,
      querystring: closed(THEN),
      response: { 200: StateOfDeduction },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params, query }) => {
      const id = params.deduction_id;
      const state = await getDeduction(db, id, today(), thenOf(query));
      if (state !== null) return viewDeduction(state);
      // Distinguishes a deduction that was not known then from one that is unknown.
      if ((await getDeduction(db, id, today())) !== null) throw new AppError('NOT_FOUND', NOT_THEN);
      throw notFound('deduction');
    },
  );

  app.get(
    '/v1/deductions/:deduction_id/versions',
    operation('ledger:read', {
      operationId: 'listVersionsOfDeduction',
      summary: 'List the versions of a deduction',
      description: 'Lists all versions in order of recording, unless `order` states otherwise.',
      params: DeductionId,
      querystring: closed({ order: Type.Optional(oneOf(VERSION_ORDERS)), cursor, limit }),
      response: { 200: pageOf(VersionOfDeduction) },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params, query }) => {
      const id = params.deduction_id;
      const { order, limit = LIMIT_DEFAULT } = query;
      const page = { after: versionPosition.decode(query.cursor), limit, order };
      const { versions, next } = await versionsOf(db, id, page, today());
      if (versions.length === 0 && (await getDeduction(db, id, today())) === null)
        throw notFound('deduction');
      return versionPosition.page(versions.map(viewVersion), next);
    },
  );

  app.post(
    '/v1/deductions/:deduction_id/start-decision',
    operation('runs:write', {
      operationId: 'decideStartOfDeduction',
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
      const given = { ...request.body, deductionId: deduction_id, decidedBy: request.caller?.name ?? '' };
      const decided = await transact(db, (trx) => decideStart(trx, given, now().toISOString()));
      if (decided.outcome === 'unknown') throw notFound(`version ${given.version} of a deduction`);
      if (decided.outcome === 'not-undecided')
        throw conflict('The start of this version was not moved in a way that needs a decision.');
      log.info(by(request), 'a start decision was recorded');
      return reply.code(201).send(viewStartDecision(decided.row));
    },
  );

  deductionVersionRoutes(app, parts);
}

function filterOf(query: Static<typeof DeductionQuery>): DeductionFilter {
  const { employer_id, employee_id, matched, line_of_coverage, taxability } = query;
  return {
    employerId: employer_id,
    employeeId: employee_id,
    matched,
    ...thenOf(query),
    lineOfCoverage: line_of_coverage,
    taxability,
  };
}

function thenOf({
  on,
  known_at,
}: {
  on?: string;
  known_at?: string;
}): Pick<DeductionFilter, 'on' | 'knownAt'> {
  return { on, knownAt: known_at === undefined ? undefined : toMilliseconds(known_at) };
}

const FeedQuery = closed({
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
});

const Feed = component(
  'DeductionVersionFeed',
  {
    ...pageOf(VersionOfDeduction).properties,
    next_cursor: text('Send it as `cursor` to get the versions recorded since.'),
  },
  'A page of the change feed.',
);

/** The change feed: the versions of all deductions after a position. */
function deductionVersionRoutes(app: Api, { db, now }: ApiParts): void {
  app.get(
    '/v1/deduction-versions',
    operation('ledger:read', {
      operationId: 'listDeductionVersions',
      summary: 'List the changes of the ledger',
      description:
        'Lists the versions of all deductions in commit order, each exactly once. Every response, even an empty one, ' +
        'has the `next_cursor` from which to resume. Store it with the changes that you have processed.',
      querystring: FeedQuery,
      response: { 200: Feed },
    }),
    async ({ query }) => {
      const { cursor = '0', limit = LIMIT_DEFAULT } = query;
      const found = await versionsAfter(db, Number(cursor), limit + 1, now().toISOString().slice(0, 10));
      const data = found.slice(0, limit).map(viewVersion);
      return { data, has_more: found.length > limit, next_cursor: data.at(-1)?.id ?? cursor };
    },
  );
}
