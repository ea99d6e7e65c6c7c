import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { checkCensus } from '../../census/check.ts';
import { readUploadBody } from '../../census/staged.ts';
import { stageCensus } from '../../census/staging.ts';
import { Census } from '../../contract/census.ts';
import { PROBLEMS_MAX, type Problem } from '../../contract/check.ts';
import { identifier } from '../../contract/fields.ts';
import { CENSUS_TYPES, ORGANIZATION_HEADER, readCensusStreams, streamedCensus } from '../census-body.ts';
import type { ApiParts } from '../parts.ts';
import { notFound, Refusal } from '../problem.ts';
import { type Api, closed, FieldProblem, named } from '../schemas.ts';
import { compileValidator } from '../validation.ts';

export const EmployerId = closed({
  employer_id: { ...identifier, description: 'The id that payroll and the service know the employer by.' },
});

const Staged = closed(
  {
    census_id: Type.String({ description: 'This census.' }),
    employees: Type.Integer({ description: 'How many it holds.' }),
  },
  'The census passed the check and is the one to be uploaded.',
);

const Report = closed(
  {
    valid: Type.Boolean(),
    employees: Type.Integer({ description: 'Rows read, good and bad.' }),
    problem_count: Type.Integer(),
    problems: Type.Array(FieldProblem, {
      description: `The first ${PROBLEMS_MAX}, in the order of the rows.`,
    }),
  },
  'What is wrong with a census.',
);

const CENSUS = { ...Census, description: 'An organization and all of its active employees.' };

const BODY_IN_WORDS =
  'As JSON, the body of a census upload; each employee may have a `pay_group` besides, which is kept here. Or as ' +
  'CSV in UTF-8: a header of field paths (`employee_id`, `address.line1`, `pay_rate[0].amount`, `pay_group`), a ' +
  'row an employee, an empty cell for an absent field; the organization then comes as JSON in the header ' +
  '`Census-Organization`. At most 256 MiB.';

/** An employer's census: brought by payroll, checked as a whole, kept encrypted until the service asks. */
export function censusRoutes(app: Api, { db, sealer, now, log, wakeSend }: ApiParts): void {
  readCensusStreams(app);
  const Body = Type.Unsafe<unknown>({
    content: {
      [CENSUS_TYPES.json]: { schema: named(app, 'Census', CENSUS) },
      [CENSUS_TYPES.csv]: { schema: Type.String() },
    },
  });
  const headers = Type.Object({
    [ORGANIZATION_HEADER]: Type.Optional(
      Type.String({ description: 'With CSV: the organization, as JSON.' }),
    ),
  });
  // The body is a stream, which the census room reads and checks row by row.
  const validatorCompiler: typeof compileValidator = (part) =>
    part.httpPart === 'params' ? compileValidator(part) : () => true;

  app.put(
    '/v1/employers/:employer_id/census',
    {
      config: { scope: 'census:write', refuses: ['census-refused'] },
      validatorCompiler,
      schema: {
        operationId: 'putCensus',
        tags: ['Census'],
        summary: "Bring an employer's census",
        description: `Checks the whole census and keeps it, encrypted, in place of the one before; one that breaks the contract in any row changes nothing. Syncs that waited for it go on. ${BODY_IN_WORDS}`,
        params: EmployerId,
        headers,
        body: Body,
        response: { 200: Staged },
      },
    },
    async (request) => {
      const { employer_id } = request.params;
      const staged = await stageCensus({ db, sealer, now }, employer_id, streamedCensus(request));
      if (!staged.ok) throw refused(staged.problemCount, staged.problems);
      const { censusId: census_id, employees } = staged;
      log.info({ employer_id, census_id, count: employees, ...by(request) }, 'a census was staged');
      wakeSend();
      return { census_id, employees };
    },
  );

  app.get(
    '/v1/employers/:employer_id/census',
    {
      config: { scope: 'pii:read', refuses: ['not-found'] },
      schema: {
        operationId: 'getCensus',
        tags: ['Census'],
        summary: "Get an employer's census",
        description:
          'The staged census as it would be uploaded, for embedding it in a request for quotes. It holds personal data.',
        params: EmployerId,
        response: { 200: Type.Unsafe<Readable>({ $ref: 'Census#' }) },
      },
    },
    async (request, reply) => {
      const { employer_id } = request.params;
      const body = await readUploadBody(db, sealer, employer_id);
      if (body === null) throw notFound('staged census of an employer');
      log.info({ employer_id, census_id: body.census.censusId, ...by(request) }, 'a census was read');
      return reply.type(CENSUS_TYPES.json).send(Readable.from(whole(body), { objectMode: false }));
    },
  );

  app.post(
    '/v1/employers/:employer_id/census/validate',
    {
      config: { scope: 'census:write' },
      validatorCompiler,
      schema: {
        operationId: 'validateCensus',
        tags: ['Census'],
        summary: 'Check a census and keep nothing of it',
        description: `Names what \`PUT\` would refuse it for. ${BODY_IN_WORDS}`,
        params: EmployerId,
        headers,
        body: Body,
        response: { 200: Report },
      },
    },
    async (request) => {
      const { employees, problemCount, problems } = await checkCensus(streamedCensus(request));
      return { valid: problemCount === 0, employees, problem_count: problemCount, problems };
    },
  );
}

function refused(errorCount: number, errors: readonly Problem[]): Refusal {
  const places = errorCount === 1 ? '1 place' : `${errorCount} places`;
  const detail = `the census breaks the contract in ${places}, so nothing of it was kept: mend them and send it again`;
  return new Refusal('census-refused', detail, { errors, errorCount });
}

/** The body's bytes. When some are missing the connection is cut: half a census must not look like a whole one. */
async function* whole(body: {
  length: number;
  chunks: AsyncIterable<Uint8Array>;
}): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of body.chunks) {
    bytes += part.length;
    yield part;
  }
  if (bytes !== body.length) throw new Error('the census was replaced while it was read');
}

function by({ caller }: FastifyRequest): { token?: string } {
  return caller === null ? {} : { token: caller.name };
}
