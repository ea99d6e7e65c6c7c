import Type, { type Static, type TSchema } from 'typebox';
import { CENSUS_FROM } from '../../census/source.ts';
import { listStagedCensuses, type StagedSummary } from '../../census/staged.ts';
import { identifier, nullable } from '../../contract/fields.ts';
import { cursorOf } from '../../formats/cursor.ts';
import type { ApiParts } from '../parts.ts';
import { type Api, closed, cursor, LIMIT_DEFAULT, limit, named, ownInstant, pageOf } from '../schemas.ts';

const Staged = closed(
  {
    employer_id: Type.String(),
    census_id: Type.String(),
    employees: Type.Integer({ description: 'How many it holds.' }),
    staged_at: ownInstant('When it passed the check and became the one to be uploaded.'),
    last_upload: nullable(
      closed(
        {
          census_id: Type.String({ description: 'The same as above when the service has the staged one.' }),
          employees: Type.Integer(),
          uploaded_at: ownInstant('When the service took it.'),
        },
        'The census of the employer that the service took last; null before the first.',
      ),
    ),
  },
  'The staged census of an employer, without what it says.',
);
type Staged = Static<typeof Staged>;

const StagedQuery = closed({
  employer_id: Type.Optional({ ...identifier, description: 'Of this employer.' }),
  cursor,
  limit,
});

const pageWithSource = (row: TSchema) =>
  closed(
    {
      ...pageOf(row).properties,
      source: Type.Enum([...CENSUS_FROM], {
        description:
          'Where a census comes from when the service asks for one. push: what is staged is uploaded. dir, http and ' +
          'function (of the embedding program): it is fetched then, and takes the place of what is staged.',
      }),
    },
    'A page, and where censuses come from.',
  );

const position = cursorOf('censuses', Type.String());

/** Which employers have a staged census, how old and how large it is. Nothing here is personal data. */
export function stagedCensusListRoutes(app: Api, { db, censusFrom }: ApiParts): void {
  app.get(
    '/v1/censuses',
    {
      config: { scope: 'census:read' },
      schema: {
        operationId: 'listCensuses',
        tags: ['Census'],
        summary: 'List staged censuses',
        description:
          'The one to be uploaded of each employer, in the order of their ids: how many employees, since when, and ' +
          'what the service took last. Not what they say.',
        querystring: StagedQuery,
        response: { 200: pageWithSource(named(app, 'StagedCensus', Staged)) },
      },
    },
    async ({ query }) => {
      const page = { after: position.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { censuses, next } = await listStagedCensuses(db, { employerId: query.employer_id }, page);
      return { data: censuses.map(shown), next_cursor: position.encode(next), source: censusFrom };
    },
  );
}

function shown({ employerId, censusId, employees, stagedAt, lastUpload }: StagedSummary): Staged {
  return {
    employer_id: employerId,
    census_id: censusId,
    employees,
    staged_at: stagedAt,
    last_upload: lastUpload && {
      census_id: lastUpload.censusId,
      employees: lastUpload.employees,
      uploaded_at: lastUpload.uploadedAt,
    },
  };
}
