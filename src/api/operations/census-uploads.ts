import Type, { type Static } from 'typebox';
import { compareCensus, LISTED_MAX } from '../../census/diff.ts';
import type { Persons } from '../../census/persons.ts';
import { CENSUS_BYTES_MAX, type CensusContent, isTableType } from '../../census/reading.ts';
import { stageCensus } from '../../census/staging.ts';
import { formatReason, stillAwait } from '../../census/syncs.ts';
import { FOUND_AT_MOST } from '../../checks.ts';
import { Census } from '../../contract/census.ts';
import { PROBLEMS_MAX } from '../../contract/check.ts';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { transact } from '../../database/transaction.ts';
import { counted } from '../../errors.ts';
import { WORKBOOK_TYPE } from '../../formats/workbook/bounds.ts';
import { activeTwice } from '../../ledger/checks.ts';
import { employeesKnownAt } from '../../ledger/roster.ts';
import { throughFormat } from '../../payroll/settings/census-format.ts';
import type { Caller } from '../../security/tokens.ts';
import { alsoNeeds, mayAlso, writeReadDown } from '../auth.ts';
import { employersOf } from '../employers.ts';
import { NullableRepairs, viewRepairs } from '../file-repairs.ts';
import { type BodyStream, operation } from '../operation.ts';
import { invalid, Refusal } from '../problem.ts';
import { BINARY, flag, NewEmployerId } from '../schemas.ts';

const CENSUS_TYPES = { json: 'application/json', csv: 'text/csv', workbook: WORKBOOK_TYPE } as const;
/** Carries the organization of a CSV census. */
const ORGANIZATION_HEADER = 'census-organization';
/** Censuses read at once. Each holds the ids of all its rows, at most 100 MB, and their checks share one thread. */
const CENSUSES_AT_ONCE = 3;

const Staged = field.component(
  'CensusReceipt',
  {
    id: field.text('The ID of the census.'),
    employees: field.integer('The number of employees in the census.'),
    with_two_employers: field.nullable(
      field.integer(
        'The number of its employees who are also active with another employer: no run takes their deductions until each is assigned to an employer. ' +
          'If they do not have two jobs, check the employer ID, then stage the right census for both employers. ' +
          'Null for tokens that are limited to employers.',
      ),
    ),
    repairs: NullableRepairs,
  },
  'The census is valid and staged for upload.',
);

const LastUpload = field.component(
  'CensusUpload',
  {
    census_id: Type.String(),
    uploaded_at: field.text('The time the benefits service accepted it.'),
    employees: Type.Integer(),
  },
  'The last census that the benefits service accepted.',
);

const Ids = (description: string) =>
  field.closed({ count: Type.Integer(), employee_ids: Type.Array(Type.String()) }, description);

const Changed = field.component(
  'CensusChanges',
  {
    added: Ids('Employees that the last upload does not contain.'),
    absent: Ids(
      'Employees that only the last upload contains. The benefits service may treat them as terminated.',
    ),
    needs_scope: field.nullable(
      field.oneOfDescribed(
        ['pii:read'],
        'The scope that `changed`, `unchanged` and `organization` require: without it they are null, because a caller ' +
          'could guess values and compare them. Null if the token has it.',
      ),
    ),
    changed: field.nullable(
      field.closed({
        count: Type.Integer(),
        employees: Type.Array(
          field.closed(
            { employee_id: Type.String(), fields: Type.Array(Type.String()) },
            'Names of the changed fields, without values.',
          ),
        ),
      }),
    ),
    unchanged: Type.Union([Type.Integer(), Type.Null()]),
    organization: field.nullable(
      Type.Array(Type.String(), { description: 'The changed fields of the organization.' }),
    ),
  },
  `The differences from the last upload. Lists the first ${LISTED_MAX} of each kind and counts all of them.`,
);

const Report = field.component(
  'CensusReport',
  {
    valid: Type.Boolean(),
    employees: field.integer('The number of rows read, valid and invalid.'),
    problem_count: Type.Integer(),
    problems: Type.Array(field.FieldProblem, {
      description: `The first ${PROBLEMS_MAX} problems, in row order.`,
    }),
    warning_count: Type.Integer(),
    warnings: Type.Array(field.FieldProblem, {
      description: `The first ${PROBLEMS_MAX} values that the contract allows and that are probably mistakes, such as an hourly pay rate above 1,000. They block nothing.`,
    }),
    repairs: NullableRepairs,
    last_upload: Type.Union([LastUpload, Type.Null()], { description: 'Null if there was no upload.' }),
    changes: Type.Union([Changed, Type.Null()], {
      description:
        'Null if the census is invalid, if there was no upload, or if the hash key of the last upload no longer exists.',
    }),
  },
  'The problems of a census, the warnings about it, and the changes it would make.',
);

export const CENSUS = field.named('Census', {
  ...Census,
  description: 'An organization and all of its active employees.',
});

const SamePerson = field.closed({
  same_person: Type.Optional(
    Type.Array(field.identifier, {
      description:
        'IDs that name the same person in the census of another employer, although the birth date or SSN differs. Repeat the parameter for each ID. Needs a token that sees both employers, and a `reason`.',
    }),
  ),
  reason: Type.Optional(field.reasonField('Why they are one person. It is stored in the audit record.')),
});

function personsIn({ same_person: samePerson = [], reason }: Static<typeof SamePerson>): Persons {
  if (samePerson.length > 0 && reason === undefined)
    throw invalid([{ path: 'reason', rule: 'is required with same_person' }]);
  return { samePerson, reason: reason ?? null };
}

const BODY_IN_WORDS =
  'Send JSON (the body of a census upload; each employee may also have a `pay_group` and an `effective_on`, which are never sent to the service) or ' +
  'CSV in UTF-8: a header of field paths (`employee_id`, `address.line1`, `pay_rate[0].amount`, `pay_group`, `effective_on`), one ' +
  'row per employee, an empty cell for an absent field, and the organization as JSON in the header ' +
  '`Census-Organization`. If the employer has a file format, a CSV or an Excel workbook is read through it. At most 256 MiB.';

/** Reads a census in a request. Throws a `Refusal` if there is none or it is too large. */
const CENSUS_STREAM: BodyStream<CensusContent> = {
  what: 'censuses',
  atOnce: CENSUSES_AT_ONCE,
  types: Object.values(CENSUS_TYPES),
  bytesMax: CENSUS_BYTES_MAX,
  tooLarge: `The census is larger than ${CENSUS_BYTES_MAX / 1024 / 1024} MiB.`,
  open(content, headers) {
    if (!isTableType(headers['content-type'])) return { format: 'json', content };
    const organization = headers[ORGANIZATION_HEADER];
    // Node decodes headers as Latin-1: this restores the bytes that were sent.
    const bytes = typeof organization === 'string' ? Buffer.from(organization, 'latin1') : null;
    return {
      format: 'csv',
      content,
      organization: bytes,
      organizationFrom:
        'the header Census-Organization (on the command line: in NAME.organization.json next to NAME.csv)',
    };
  },
  send({ format, content, organization }) {
    const headers = { 'content-type': CENSUS_TYPES[format] };
    if (organization == null) return { content, headers };
    // A header has one line, and no text in JSON contains a line end.
    const line = Buffer.from(organization)
      .toString('latin1')
      .replace(/[\r\n\t]+/g, ' ');
    return { content, headers: { ...headers, [ORGANIZATION_HEADER]: line } };
  },
};

function repairsOf({ through }: CensusContent, { caller }: { caller: Caller | null }) {
  return through === undefined ? null : viewRepairs(through.repairs, caller);
}

const CensusBody = Type.Unsafe<CensusContent>({
  content: {
    [CENSUS_TYPES.json]: { schema: CENSUS },
    [CENSUS_TYPES.csv]: { schema: Type.String() },
    [CENSUS_TYPES.workbook]: { schema: BINARY },
  },
});

const CensusHeaders = Type.Object({
  [ORGANIZATION_HEADER]: Type.Optional(
    field.text('The organization as JSON. Required with CSV, unless the file format has one.'),
  ),
});

export const putCensus = operation({
  id: 'putCensus',
  method: 'PUT',
  path: '/v1/employers/:employer_id/census',
  scope: 'census:write',
  employers: 'new-employer',
  action: 'census.stage',
  summary: "Stage an employer's census",
  description: `Checks the census, encrypts it and replaces the staged census. An invalid row rejects the whole census. Waiting syncs continue. ${BODY_IN_WORDS}`,
  params: NewEmployerId,
  query: SamePerson,
  headers: CensusHeaders,
  body: CensusBody,
  stream: CENSUS_STREAM,
  response: { 200: Staged },
  refuses: ['TOO_SLOW', 'CENSUS_REFUSED', 'EMPLOYEE_ELSEWHERE'],
  async run(call, { db, encryptor, sharedNow, employeeSets, wakeSend }) {
    const { employer_id } = call.params;
    const content = await throughFormat({ db, encryptor, sharedNow }, employer_id, call.body);
    const staged = await stageCensus({ db, encryptor, sharedNow }, employer_id, content, {
      ...{ actor: call.actor(), limit: employersOf(call), ...personsIn(call.query) },
    });
    if (!staged.ok) {
      if (content.through?.repairs.isRefused) {
        const need = { code: 'file-format', reason: formatReason(staged.problems) } as const;
        await transact(db, async (trx) =>
          stillAwait(trx, employer_id, { ...need, now: (await sharedNow(trx)).toISOString() }),
        );
      }
      const detail = `The census has ${counted(staged.problemCount, 'problem')}, so nothing was stored. Fix each and send it again.`;
      throw new Refusal('CENSUS_REFUSED', detail, staged);
    }
    wakeSend();
    const { censusId: id, employees } = staged;
    const repairs = repairsOf(content, call);
    if (employersOf(call) !== null) return { id, employees, with_two_employers: null, repairs };
    const twice = await activeTwice(db, dayAt(db, await sharedNow(db)), FOUND_AT_MOST, employeeSets);
    const { size } = await employeesKnownAt(db, employer_id, twice);
    return { id, employees, with_two_employers: size, repairs };
  },
  logs: ({ params: { employer_id } }, { id: census_id, employees: count }) => [
    { employer_id, census_id, count },
    'a census was staged',
  ],
});

export const validateCensus = operation({
  id: 'validateCensus',
  method: 'POST',
  path: '/v1/employers/:employer_id/census/validate',
  scope: 'census:write',
  employers: 'new-employer',
  action: 'none',
  summary: 'Validate a census',
  description: `Reports the problems that \`PUT\` would reject and, for a valid census, the differences from the last census that the benefits service accepted. Without \`pii:read\`, only IDs are compared; with it and without \`personal_data=false\`, each comparison is recorded as a read of personal data. Stores nothing of the census. ${BODY_IN_WORDS}`,
  params: NewEmployerId,
  query: field.closed({
    ...SamePerson.properties,
    personal_data: flag(
      '`true`: compare contents, which requires the scope `pii:read`. `false`: compare only IDs. Default: what the token may do.',
    ),
  }),
  headers: CensusHeaders,
  body: CensusBody,
  stream: CENSUS_STREAM,
  response: { 200: Report },
  refuses: ['TOO_SLOW', 'EMPLOYEE_ELSEWHERE'],
  async run(call, parts): Promise<Static<typeof Report>> {
    const { db, encryptor, sharedNow } = parts;
    const { employer_id } = call.params;
    const { personal_data: isAsked = mayAlso(call.caller, 'pii:read') } = call.query;
    if (isAsked) alsoNeeds(call, 'pii:read');
    const today = dayAt(db, await sharedNow(db));
    const persons = { limit: employersOf(call), ...personsIn(call.query) };
    const content = await throughFormat({ db, encryptor, sharedNow }, employer_id, call.body);
    const { changes, ...compared } = await compareCensus(
      { db, encryptor },
      employer_id,
      content,
      today,
      persons,
    );
    const report = { ...compared, repairs: repairsOf(content, call) };
    if (changes === null || report.last_upload === null) return { ...report, changes: null };
    const { added, absent } = changes;
    if (!isAsked) {
      const hidden = { changed: null, unchanged: null, organization: null };
      return { ...report, changes: { added, absent, needs_scope: 'pii:read', ...hidden } };
    }
    const { census_id: resource } = report.last_upload;
    await writeReadDown(parts, call, { action: 'census.read', resource, employer: employer_id });
    return { ...report, changes: { ...changes, needs_scope: null } };
  },
});
