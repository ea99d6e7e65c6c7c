import Type, { type Static } from 'typebox';
import { Deduction, LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { closed, day, identifier, nullable, oneOf } from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
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
  getDeductionThen,
  listDeductions,
  versionsAfter,
  versionsOf,
} from '../../ledger/deductions.ts';
import { decideStart, START_DECISIONS } from '../../ledger/start-decisions.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { notFound, Refusal } from '../problem.ts';
import {
  type Api,
  cursor,
  instant,
  LIMIT_DEFAULT,
  limit,
  named,
  ownInstant,
  pageOf,
  toMilliseconds,
} from '../schemas.ts';
import { REASON_MAX_CHARACTERS } from './events.ts';

const STATE = {
  ...Deduction.properties,
  employer_id: nullable({
    ...identifier,
    description: 'Whose employee it is, by the roster; null when nobody knows, or two employers do.',
  }),
  matched: Type.Boolean({ description: 'Whether the roster has the employee.' }),
  version: Type.Integer({
    minimum: 1,
    description: 'Which version of this deduction, in order of recording.',
  }),
  position: Type.Integer({ minimum: 1, description: "The version's place in the ledger." }),
  event_time: ownInstant('When the service says that it happened, UTC in nanoseconds.'),
  recorded_at: ownInstant('When the ledger learned of it.'),
};

const StateOfDeduction = closed(
  STATE,
  'A deduction: the fields as the service sent them, optional ones only where it did.',
);

const Decision = closed(
  {
    version: Type.Integer({
      minimum: 1,
      rule: 'must be the number of a version',
      description: 'The version whose start was moved before it began, as the readiness check names it.',
    }),
    decision: {
      ...oneOf(START_DECISIONS),
      description: '`keep`: the version applies until the next one starts. `drop`: it counts as never sent.',
    },
    reason: Type.String({
      pattern: '\\S',
      maxLength: REASON_MAX_CHARACTERS,
      rule: `must give the reason, in at most ${REASON_MAX_CHARACTERS} characters`,
      description: 'The reason, which is kept with the decision.',
    }),
  },
  'A decision on a start that was moved together with other contents.',
);

const StartDecision = closed(
  {
    deduction_id: Type.String({ description: 'The deduction.' }),
    ...Decision.properties,
    position: Type.Integer({ minimum: 1, description: "The decision's place in the ledger." }),
    decided_by: Type.String({ description: 'The name of the token that decided.' }),
    recorded_at: ownInstant('The time of the decision.'),
  },
  'A recorded decision.',
);

export const VersionOfDeduction = closed(
  {
    ...STATE,
    event_id: Type.String({ description: 'The event that said so.' }),
    decided_by: Type.Enum(['created_at', 'tie', 'receipt'], {
      description:
        'What placed it: the time of the event, the order of receipt of two of one time, or that of receipt.',
    }),
    late: Type.Boolean({ description: 'A newer state was known already when it came.' }),
    start_decision: nullable({
      ...StartDecision,
      description:
        'The decision in force on the start of this version, which was moved before it began; null without one.',
    }),
  },
  'One state that a deduction was ever in.',
);
export type VersionOfDeduction = Static<typeof VersionOfDeduction>;

/** Where a page of a deduction's versions ended: a position of the ledger. */
const versionPosition = cursorOf('versions-of-deduction', Type.Integer({ minimum: 1 }));
const VERSION_ORDERS = ['oldest_first', 'newest_first'] as const;
const NOT_THEN = 'nothing of this deduction was in effect on that day, or known at that time';
const DeductionId = closed({ deduction_id: { ...identifier, description: 'The id that the service gave.' } });

/** The state of another day, or of an earlier knowledge. */
const THEN = {
  on: Type.Optional({
    ...day,
    description: 'The state in effect on this day. Without it: the latest state, also of what ended.',
  }),
  known_at: Type.Optional(instant('Only from what the ledger knew at this instant.')),
};

const DeductionQuery = closed({
  employer_id: Type.Optional({ ...identifier, description: 'Of employees of this employer.' }),
  employee_id: Type.Optional({ ...identifier, description: 'Of this employee.' }),
  matched: Type.Optional(
    Type.Boolean({ rule: 'must be true or false', description: 'Whether the roster has the employee.' }),
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
  const State = named(app, 'Deduction', StateOfDeduction);

  app.get(
    '/v1/deductions',
    {
      config: { scope: 'ledger:read' },
      schema: {
        operationId: 'listDeductions',
        tags: ['Deductions'],
        summary: 'List deductions',
        description:
          'By employee, then by deduction. All parameters given must hold. Where few pass them, a page may have fewer ' +
          'rows than `limit`, even none, and yet a `next_cursor`: it ends after a bounded time, and the next one goes on.',
        querystring: DeductionQuery,
        response: { 200: pageOf(State) },
      },
    },
    async ({ query }) => {
      const page = { after: deductionCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { deductions, next } = await listDeductions(db, filterOf(query), page, today());
      return { data: deductions.map(viewDeduction), next_cursor: deductionCursor.encode(next) };
    },
  );

  app.get(
    '/v1/deductions/:deduction_id',
    {
      config: { scope: 'ledger:read', refuses: ['not-found'] },
      schema: {
        operationId: 'getDeduction',
        tags: ['Deductions'],
        summary: 'Get the latest state of a deduction, or that of a day',
        description:
          'The greatest version by event time, then by position. With `on` or `known_at` as in the list: 404 where ' +
          'nothing of the deduction was in effect or known then.',
        params: DeductionId,
        querystring: closed(THEN),
        response: { 200: State },
      },
    },
    async ({ params, query }) => {
      const id = params.deduction_id;
      const isThen = query.on !== undefined || query.known_at !== undefined;
      const state = isThen
        ? await getDeductionThen(db, id, thenOf(query), today())
        : await getDeduction(db, id, today());
      if (state !== null) return viewDeduction(state);
      // What is known, but not of then, is told from what is not known at all.
      if (isThen && (await getDeduction(db, id, today())) !== null) throw new Refusal('not-found', NOT_THEN);
      throw notFound('deduction');
    },
  );

  app.get(
    '/v1/deductions/:deduction_id/versions',
    {
      config: { scope: 'ledger:read', refuses: ['not-found'] },
      schema: {
        operationId: 'listVersionsOfDeduction',
        tags: ['Deductions'],
        summary: 'List every version of a deduction',
        description: 'The first recorded first, unless `order` says otherwise.',
        params: DeductionId,
        querystring: closed({ order: Type.Optional(oneOf(VERSION_ORDERS)), cursor, limit }),
        response: { 200: pageOf(named(app, 'Version', VersionOfDeduction)) },
      },
    },
    async ({ params, query }) => {
      const id = params.deduction_id;
      const { order, limit = LIMIT_DEFAULT } = query;
      const page = { after: versionPosition.decode(query.cursor), limit, order };
      const { versions, next } = await versionsOf(db, id, page, today());
      if (versions.length === 0 && (await getDeduction(db, id, today())) === null)
        throw notFound('deduction');
      return { data: versions.map(viewVersion), next_cursor: versionPosition.encode(next) };
    },
  );

  app.post(
    '/v1/deductions/:deduction_id/start-decision',
    {
      config: { scope: 'runs:write', refuses: ['not-found', 'conflict'] },
      schema: {
        operationId: 'decideStartOfDeduction',
        tags: ['Deductions'],
        summary: 'Decide whether a version with a moved start applies',
        description:
          'Needed when a start is moved before it arrives and the contents change with it: runs on the days in ' +
          'between fail the check `start-moved` until then. A later decision on the same version replaces this one.',
        params: DeductionId,
        body: Decision,
        response: { 201: named(app, 'StartDecision', StartDecision) },
      },
    },
    async (request, reply) => {
      const { deduction_id } = request.params;
      const given = { ...request.body, deductionId: deduction_id, decidedBy: request.caller?.name ?? '' };
      const decided = await transact(db, (trx) => decideStart(trx, given, now().toISOString()));
      if (decided.outcome === 'unknown') throw notFound('version of a deduction');
      if (decided.outcome === 'not-undecided')
        throw new Refusal(
          'conflict',
          'the start of this version was not moved in a way that needs a decision',
        );
      log.info(by(request), 'a moved start was decided');
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
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      default: 0,
      rule: 'must be a position: a whole number, 0 or more',
      description: 'The last position that is known already; 0 for all.',
    }),
  ),
  limit,
});

/** The change feed: what happened to any deduction since a position. */
function deductionVersionRoutes(app: Api, { db, now }: ApiParts): void {
  app.get(
    '/v1/deduction-versions',
    {
      config: { scope: 'ledger:read' },
      schema: {
        operationId: 'listVersions',
        tags: ['Deductions'],
        summary: 'Follow every change of the ledger',
        description:
          'Versions of all deductions in the order they were committed, each once, without gaps to wait for. ' +
          'Keep the `position` of the last one and send it as `after`. `next_cursor` is that position while the ' +
          'page was full, and null when there is nothing more now.',
        querystring: FeedQuery,
        response: { 200: pageOf(Type.Unsafe<VersionOfDeduction>({ $ref: 'Version#' })) },
      },
    },
    async ({ query }) => {
      const { after = 0, limit = LIMIT_DEFAULT } = query;
      const versions = await versionsAfter(db, after, limit, now().toISOString().slice(0, 10));
      const last = versions.length === limit ? versions.at(-1) : undefined;
      return {
        data: versions.map(viewVersion),
        next_cursor: last === undefined ? null : String(last.version.position),
      };
    },
  );
}
