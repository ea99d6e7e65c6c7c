/** Staged censuses: listed, and read as they would be uploaded. */
import { Readable } from 'node:stream';
import Type from 'typebox';
import { eraseCensus as eraseStored } from '../../census/erase.ts';
import { CENSUS_FROM } from '../../census/source.ts';
import { currentCensus, listStagedCensuses, uploadBody } from '../../census/staged.ts';
import { ago } from '../../checks.ts';
import * as field from '../../contract/fields.ts';
import { notFound } from '../../errors.ts';
import { eraseOrganizations } from '../../payroll/settings/file-formats.ts';
import { alsoNeeds, by, writeReadDown } from '../auth.ts';
import { employersOf } from '../employers.ts';
import { operation } from '../operation.ts';
import { cursor, EmployerId, idFilter, limit, pageOf } from '../schemas.ts';
import { CENSUS } from './census-uploads.ts';

const Erased = field.component(
  'CensusErasure',
  {
    censuses: field.integer('The number of censuses that were erased: the staged one, and the last upload.'),
    syncs: field.integer('The number of unfinished syncs that were dismissed.'),
  },
  'What was erased.',
);

export const eraseCensus = operation({
  id: 'eraseCensus',
  method: 'DELETE',
  path: '/v1/employers/:employer_id/census',
  scope: 'census:write',
  employers: 'employer',
  action: 'census.erase',
  summary: "Erase an employer's census",
  description:
    'Erases the census of an employer that has left: the staged one, the fingerprints of the last upload, the responses to its ' +
    'uploads, and the organization in its file formats. Unfinished syncs are dismissed. Also requires the scope `pii:read`. Fails with ' +
    '409 while the employer has active employees.',
  params: EmployerId,
  body: field.component('CensusErasureRequest', {
    reason: field.reasonField('Why the census is erased. It is stored in the audit record.'),
  }),
  response: { 200: Erased },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(call, parts) {
    alsoNeeds(call, 'pii:read');
    const { employer_id: employerId } = call.params;
    const erasure = { employerId, actor: call.actor(), reason: call.body.reason };
    const erased = await eraseStored(parts, erasure, (trx) => eraseOrganizations(trx, employerId));
    parts.wakeSend();
    return erased;
  },
  logs: ({ params: { employer_id } }) => [{ employer_id }, 'a census was erased'],
});

export const getCensus = operation({
  id: 'getCensus',
  method: 'GET',
  path: '/v1/employers/:employer_id/census',
  scope: 'pii:read',
  employers: 'employer',
  summary: "Get an employer's census",
  description:
    'Returns the staged census as it would be uploaded, for embedding it in a request for quotes. It contains personal data: ' +
    'each read is recorded.',
  params: EmployerId,
  response: { 200: Type.Unsafe<Readable>(CENSUS) },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const { db, encryptor } = parts;
    const { employer_id } = call.params;
    const census = await currentCensus(db, employer_id);
    if (census === null) throw notFound('staged census of an employer');
    const { census_id } = census;
    const read = { action: 'census.read', resource: census_id, employer: employer_id } as const;
    await writeReadDown(parts, call, read);
    parts.log.info({ employer_id, census_id, ...by(call) }, 'a census was read');
    const body = whole(uploadBody(db, encryptor, census_id), census.body_bytes);
    return Readable.from(body, { objectMode: false });
  },
});

const StagedCensus = field.component(
  'StagedCensus',
  {
    id: field.text('The ID of the census.'),
    employer_id: field.text('The employer.'),
    employees: field.integer('The number of employees in the census.'),
    staged_at: field.text('The time the census was staged.'),
    fresh: field.boolean('It is not older than `CENSUS_MAX_AGE`. An older census is not uploaded.'),
    last_upload: field.nullable(
      field.closed(
        {
          census_id: field.text('The same ID as above if the benefits service has the staged census.'),
          employees: Type.Integer(),
          uploaded_at: field.text('The time the benefits service accepted it.'),
        },
        'The last census that the benefits service accepted. Null if there was none.',
      ),
    ),
  },
  'The staged census of an employer, without its contents.',
);

const StagedCensusList = field.component(
  'StagedCensusList',
  {
    ...pageOf(StagedCensus).properties,
    source: Type.Enum([...CENSUS_FROM], {
      description:
        'The census source. push: the staged census is uploaded. dir, http and ' +
        'function (of the embedding program): each sync fetches the census, which replaces the staged one.',
    }),
  },
  'A page of staged censuses and the census source.',
);

export const listCensuses = operation({
  id: 'listCensuses',
  method: 'GET',
  path: '/v1/censuses',
  scope: 'census:read',
  employers: 'list',
  summary: 'List staged censuses',
  description:
    'Lists the staged census of each employer by employer ID: its number of employees, its time, and ' +
    'the last upload. Contents are not included.',
  query: field.closed({ employer_id: idFilter('Only results for this employer.'), cursor, limit }),
  response: { 200: StagedCensusList },
  async run({ query, caller }, { db, sharedNow, censusFrom, censusMaxAgeMs }) {
    const filter = { employerId: query.employer_id, employers: employersOf({ caller }) };
    const page = await listStagedCensuses(db, filter, query);
    const freshSince = ago(await sharedNow(db), censusMaxAgeMs);
    const data = page.data.map((census) => ({ ...census, fresh: census.staged_at >= freshSince }));
    return { ...page, data, source: censusFrom };
  },
});

/** Yields the body. Throws if bytes are missing, which cuts the connection: half a census must not look complete. */
async function* whole(chunks: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    yield chunk;
  }
  if (bytes !== length)
    throw new Error('The census was replaced while it was being read. Send the request again.');
}
