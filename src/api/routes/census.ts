import Type from 'typebox';
import { compareCensus, LISTED_MAX } from '../../census/diff.ts';
import { stageCensus } from '../../census/staging.ts';
import { viewComparison } from '../../census/view.ts';
import { Census } from '../../contract/census.ts';
import { PROBLEMS_MAX, type Problem } from '../../contract/check.ts';
import { identifier } from '../../contract/fields.ts';
import { by } from '../auth.ts';
import {
  CENSUS_TYPES,
  CENSUSES_AT_ONCE,
  ORGANIZATION_HEADER,
  readCensusStreams,
  streamedCensus,
} from '../census-body.ts';
import type { ApiParts } from '../parts.ts';
import { Refusal } from '../problem.ts';
import { type Api, closed, FieldProblem, named } from '../schemas.ts';
import { createTurns } from '../turns.ts';
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

const LastUpload = closed(
  {
    census_id: Type.String(),
    uploaded_at: Type.String({ description: 'When the service took it.' }),
    employees: Type.Integer(),
  },
  'The census of the employer that the service took last.',
);

const Ids = (description: string) =>
  closed({ count: Type.Integer(), employee_ids: Type.Array(Type.String()) }, description);

const Changed = closed(
  {
    added: Ids('Not in the last upload.'),
    changed: closed({
      count: Type.Integer(),
      employees: Type.Array(
        closed(
          { employee_id: Type.String(), fields: Type.Array(Type.String()) },
          'Names of fields, no values.',
        ),
      ),
    }),
    absent: Ids('In the last upload only: the service may take them to have left.'),
    unchanged: Type.Integer(),
    organization: Type.Array(Type.String(), { description: 'Its fields that changed.' }),
  },
  `What the census would change against the last upload. The first ${LISTED_MAX} of each are listed, all are counted.`,
);

const Report = closed(
  {
    valid: Type.Boolean(),
    employees: Type.Integer({ description: 'Rows read, good and bad.' }),
    problem_count: Type.Integer(),
    problems: Type.Array(FieldProblem, {
      description: `The first ${PROBLEMS_MAX}, in the order of the rows.`,
    }),
    last_upload: Type.Union([LastUpload, Type.Null()], { description: 'Null before the first.' }),
    changes: Type.Union([Changed, Type.Null()], {
      description:
        'Null when there is nothing to compare: the census breaks the contract, there was no upload yet, or the last one was staged by an older release or compared by a hash key that is gone.',
    }),
  },
  'What is wrong with a census, and what it would change.',
);

const CENSUS = { ...Census, description: 'An organization and all of its active employees.' };

const BODY_IN_WORDS =
  'As JSON, the body of a census upload; each employee may also have a `pay_group` and an `effective_on`, which are kept here. Or as ' +
  'CSV in UTF-8: a header of field paths (`employee_id`, `address.line1`, `pay_rate[0].amount`, `pay_group`, `effective_on`), a ' +
  'row an employee, an empty cell for an absent field; the organization then comes as JSON in the header ' +
  '`Census-Organization`. At most 256 MiB.';

/** An employer's census: brought by payroll, checked as a whole, kept encrypted until the service asks. */
export function censusRoutes(app: Api, { db, encryptor, now, log, wakeSend }: ApiParts): void {
  readCensusStreams(app);
  const inTurn = createTurns(CENSUSES_AT_ONCE, 'censuses', log);
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
      const staged = await inTurn(() =>
        stageCensus({ db, encryptor, now }, employer_id, streamedCensus(request)),
      );
      if (!staged.ok) throw refused(staged.problemCount, staged.problems);
      const { censusId: census_id, employees } = staged;
      log.info({ employer_id, census_id, count: employees, ...by(request) }, 'a census was staged');
      wakeSend();
      return { census_id, employees };
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
        description: `Names what \`PUT\` would refuse it for and, where it passes, what it would change against the last census that the service took. ${BODY_IN_WORDS}`,
        params: EmployerId,
        headers,
        body: Body,
        response: { 200: Report },
      },
    },
    async (request) => {
      const { employer_id } = request.params;
      return viewComparison(
        await inTurn(() => compareCensus({ db, encryptor }, employer_id, streamedCensus(request))),
      );
    },
  );
}

function refused(errorCount: number, errors: readonly Problem[]): Refusal {
  const places = errorCount === 1 ? '1 place' : `${errorCount} places`;
  const detail = `the census breaks the contract in ${places}, so nothing of it was kept: mend them and send it again`;
  return new Refusal('census-refused', detail, { errors, errorCount });
}
