import Type from 'typebox';
import { viewVersion } from '../../ledger/deduction-view.ts';
import { versionsAfter } from '../../ledger/deductions.ts';
import type { ApiParts } from '../parts.ts';
import { type Api, closed, LIMIT_DEFAULT, limit, pageOf } from '../schemas.ts';
import type { VersionOfDeduction } from './deductions.ts';

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
export function deductionVersionRoutes(app: Api, { db, now }: ApiParts): void {
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
