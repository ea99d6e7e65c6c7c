import Type, { type Static } from 'typebox';
import { Deduction, LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { day, identifier, nullable, oneOf } from '../../contract/fields.ts';
import {
  type DeductionFilter,
  type DeductionState,
  getDeduction,
  listDeductions,
  versionsOf,
} from '../../ledger/deductions.ts';
import { cursorOf } from '../cursor.ts';
import type { ApiParts } from '../parts.ts';
import { notFound } from '../problem.ts';
import {
  type Api,
  closed,
  cursor,
  instant,
  LIMIT_DEFAULT,
  limit,
  named,
  ownInstant,
  pageOf,
  toMilliseconds,
} from '../schemas.ts';

const STATE = {
  ...Deduction.properties,
  employer_id: nullable({
    ...identifier,
    description: 'Whose employee it is, by the roster; null when nobody knows, or two employers do.',
  }),
  version: Type.Integer({
    minimum: 1,
    description: 'Which version of this deduction, in order of recording.',
  }),
  position: Type.Integer({ minimum: 1, description: "The version's place in the ledger." }),
  event_time: ownInstant('When the service says that it happened, UTC in nanoseconds.'),
  recorded_at: ownInstant('When the ledger learned of it.'),
};

export const StateOfDeduction = closed(
  STATE,
  'A deduction: the fields as the service sent them, optional ones only where it did.',
);
export type StateOfDeduction = Static<typeof StateOfDeduction>;

export const VersionOfDeduction = closed(
  {
    ...STATE,
    event_id: Type.String({ description: 'The event that said so.' }),
    decided_by: Type.Enum(['created_at', 'tie', 'receipt'], {
      description:
        'What placed it: the time of the event, the order of receipt of two of one time, or that of receipt.',
    }),
    late: Type.Boolean({ description: 'A newer state was known already when it came.' }),
  },
  'One state that a deduction was ever in.',
);
export type VersionOfDeduction = Static<typeof VersionOfDeduction>;

/** Where a page of deductions ended. */
export const deductionPosition = cursorOf(
  'deductions',
  Type.Object({ employeeId: Type.String(), deductionId: Type.String() }),
);
/** Where a page of a deduction's versions ended: a position of the ledger. */
const versionPosition = cursorOf('versions-of-deduction', Type.Integer({ minimum: 1 }));
const DeductionId = closed({ deduction_id: { ...identifier, description: 'The id that the service gave.' } });

const DeductionQuery = closed({
  employer_id: Type.Optional({ ...identifier, description: 'Of employees of this employer.' }),
  employee_id: Type.Optional({ ...identifier, description: 'Of this employee.' }),
  matched: Type.Optional(
    Type.Boolean({ rule: 'must be true or false', description: 'Whether the roster has the employee.' }),
  ),
  on: Type.Optional({
    ...day,
    description: 'The state in effect on this day. Without it: the latest state, also of what ended.',
  }),
  known_at: Type.Optional(instant('Only from what the ledger knew at this instant.')),
  line_of_coverage: Type.Optional(oneOf(LINES_OF_COVERAGE)),
  taxability: Type.Optional(oneOf(TAXABILITIES)),
  cursor,
  limit,
});

export function deductionRoutes(app: Api, { db, now }: ApiParts): void {
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
        description: 'By employee, then by deduction. All parameters given must hold.',
        querystring: DeductionQuery,
        response: { 200: pageOf(State) },
      },
    },
    async ({ query }) => {
      const page = { after: deductionPosition.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { deductions, next } = await listDeductions(db, filterOf(query), page, today());
      return { data: deductions.map(stateOf), next_cursor: deductionPosition.encode(next) };
    },
  );

  app.get(
    '/v1/deductions/:deduction_id',
    {
      config: { scope: 'ledger:read', refuses: ['not-found'] },
      schema: {
        operationId: 'getDeduction',
        tags: ['Deductions'],
        summary: 'Get the latest state of a deduction',
        description: 'The greatest version by event time, then by position.',
        params: DeductionId,
        response: { 200: State },
      },
    },
    async ({ params }) => {
      const state = await getDeduction(db, params.deduction_id, today());
      if (state === null) throw notFound('deduction');
      return stateOf(state);
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
        description: 'The first recorded first.',
        params: DeductionId,
        querystring: closed({ cursor, limit }),
        response: { 200: pageOf(named(app, 'Version', VersionOfDeduction)) },
      },
    },
    async ({ params, query }) => {
      const id = params.deduction_id;
      const page = { after: versionPosition.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { versions, next } = await versionsOf(db, id, page, today());
      if (versions.length === 0 && (await getDeduction(db, id, today())) === null)
        throw notFound('deduction');
      return { data: versions.map(versionOf), next_cursor: versionPosition.encode(next) };
    },
  );
}

function filterOf(query: Static<typeof DeductionQuery>): DeductionFilter {
  const { employer_id, employee_id, matched, on, known_at, line_of_coverage, taxability } = query;
  return {
    employerId: employer_id,
    employeeId: employee_id,
    matched,
    on,
    knownAt: known_at === undefined ? undefined : toMilliseconds(known_at),
    lineOfCoverage: line_of_coverage,
    taxability,
  };
}

/** A deduction as the API shows it. */
export function stateOf({ version, employerId }: DeductionState): StateOfDeduction {
  const { coverage_type, description, effective_start, effective_end } = version;
  return {
    id: version.deduction_id,
    employee_id: version.employee_id,
    line_of_coverage: version.line_of_coverage as StateOfDeduction['line_of_coverage'],
    member_contribution: version.member_contribution,
    employer_contribution: version.employer_contribution,
    period: version.period as StateOfDeduction['period'],
    taxability: version.taxability as StateOfDeduction['taxability'],
    ...(coverage_type !== null && {
      coverage_type: coverage_type as NonNullable<StateOfDeduction['coverage_type']>,
    }),
    ...(description !== null && { description }),
    ...(effective_start !== null && { effective_start }),
    ...(effective_end !== null && { effective_end }),
    employer_id: employerId,
    version: version.version,
    position: version.position,
    event_time: version.event_time,
    recorded_at: version.recorded_at,
  };
}

export function versionOf(state: DeductionState): VersionOfDeduction {
  const { event_id, decided_by, late } = state.version;
  return { ...stateOf(state), event_id, decided_by, late: late === 1 };
}
