import Type, { type Static } from 'typebox';
import { identifier } from '../../contract/fields.ts';
import { readReadiness } from '../../payroll/readiness.ts';
import type { ApiParts } from '../parts.ts';
import { type Api, closed, named, ownInstant } from '../schemas.ts';

const Check = closed({
  id: Type.String({ description: 'The name of the check; never changes.' }),
  result: Type.Enum(['pass', 'warn', 'fail'], {
    description: 'A `fail` stops finalizing; a `warn` is for a person to look at.',
  }),
  count: Type.Integer({ description: 'How many were found; beyond 1,000 no more are counted.' }),
  advice: Type.String({ description: 'What to do; of a passed check, what it means.' }),
  examples: Type.Array(Type.String(), { description: 'The first of them.' }),
});

const Readiness = closed(
  {
    ready: Type.Boolean({ description: 'No check failed.' }),
    checked_at: ownInstant('When it was asked.'),
    checks: Type.Array(Check, { description: 'Each check, in order.' }),
  },
  'Whether a payroll run can trust the ledger now.',
);
export type Readiness = Static<typeof Readiness>;

export function readinessRoutes(app: Api, { db, now, overdueMs }: ApiParts): void {
  app.get(
    '/v1/readiness',
    {
      config: { scope: 'ledger:read' },
      schema: {
        operationId: 'getReadiness',
        tags: ['Readiness'],
        summary: 'Can a payroll run trust the ledger now?',
        description: 'Runs every check and says what each found and what to do. Ask before payroll is run.',
        querystring: closed({
          employer_id: Type.Optional({
            ...identifier,
            description: 'Checks that concern one employer look at this one only.',
          }),
        }),
        response: { 200: named(app, 'Readiness', Readiness) },
      },
    },
    async ({ query }) => readReadiness(db, { now: now(), employerId: query.employer_id, overdueMs }),
  );
}
