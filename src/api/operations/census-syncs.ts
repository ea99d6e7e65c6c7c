/** Census syncs: from the request of the benefits service, or of a person, to the end of the upload. */
import Type, { type Static } from 'typebox';
import { CensusHold } from '../../census/holds.ts';
import { releaseSync } from '../../census/release.ts';
import { type CensusSync, findSync, listSyncs, readSyncResponse } from '../../census/sync-list.ts';
import { dismissSync, requestSyncManually } from '../../census/syncs.ts';
import { ago } from '../../checks.ts';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { notFound } from '../../errors.ts';
import { isKnownEmployer } from '../../payroll/lifecycle/employers.ts';
import { actingIn, alsoNeeds, writeReadDown } from '../auth.ts';
import { employersOf, unknownEmployer } from '../employers.ts';
import { Answer, operation, type Parts } from '../operation.ts';
import { cursor, Dismissal, flag, idFilter, limit, NewEmployerId, ownId, pageOf } from '../schemas.ts';

/** Problems in one page. A sync may have 1,000, and a page 1,000 syncs. */
const PROBLEMS_ON_PAGE = 1_000;
const STATES = ['requested', 'waiting', 'held', 'uploaded', 'completed', 'failed', 'dismissed'] as const;

const Sync = field.component(
  'CensusSync',
  {
    id: field.text('The ID of the sync.'),
    employer_id: field.text('The employer.'),
    state: Type.Enum([...STATES], {
      description:
        '`waiting`: payroll must stage a fresh census. `held`: see `held_for`; a person must release the census, or another one be staged. `failed`: see `reason`. `dismissed`: readiness no longer fails because of it.',
    }),
    overdue: field.boolean('The sync was neither completed within `CENSUS_OVERDUE` nor dismissed.'),
    event_id: field.nullableText('The event that requested the sync. Null if a person did.'),
    requested_at: field.text('The time of the request.'),
    upload_started_at: field.nullableText(
      'The start of the upload that the benefits service may have received.',
    ),
    uploaded_at: field.nullableText('The time the benefits service accepted the census.'),
    completed_at: field.nullableText('The time the benefits service finished processing it.'),
    dismissed_at: field.nullableText('The time it was dismissed.'),
    dismissed_reason: field.nullableText('Why it was dismissed.'),
    reason: field.nullableText('Why the sync is waiting, held, failed or delayed, and what to do.'),
    problem_count: field.integer('The number of problems in the census.'),
    problems: Type.Array(field.FieldProblem, {
      description: `The first problems. A page contains at most ${PROBLEMS_ON_PAGE}, of its newest syncs.`,
    }),
    held_census_id: field.nullableText(
      'The census that is held. Null if the sync was never held, or its census was released or replaced.',
    ),
    held_for: Type.Array(CensusHold, { description: 'Why that census is held.' }),
    response: Type.Optional(
      field.nullableText(
        'With `response=true`: the first 4 KiB of the response that rejected the upload, with SSNs ' +
          'masked. Null if no upload was rejected.',
      ),
    ),
  },
  'A census sync: requested, uploaded, completed.',
);
type Sync = Static<typeof Sync>;

const SyncId = field.closed({ sync_id: ownId });

const Release = field.component('CensusReleaseRequest', {
  reason: field.reasonField('Why the census is right. It is stored in the audit record.'),
  census_id: Type.Optional(
    field.text(
      'The `held_census_id` that was reviewed. The release is refused if another census is held now.',
    ),
  ),
});

export const listCensusSyncs = operation({
  id: 'listCensusSyncs',
  method: 'GET',
  path: '/v1/census-syncs',
  scope: 'census:read',
  employers: 'list',
  summary: 'List census syncs',
  description: 'Lists census syncs, newest first.',
  query: field.closed({
    employer_id: idFilter('Only results for this employer.'),
    state: Type.Optional(field.oneOf(STATES)),
    overdue: flag('`true`: only overdue syncs. `false`: only syncs that are not overdue.'),
    cursor,
    limit,
  }),
  response: { 200: pageOf(Sync) },
  async run({ query, caller }, { db, sharedNow, overdueMs }) {
    const filter = { ...query, employerId: query.employer_id, employers: employersOf({ caller }) };
    const page = await listSyncs(db, filter, query, { now: await sharedNow(db), overdueMs });
    return { ...page, data: shown(page.data) };
  },
});

export const getCensusSync = operation({
  id: 'getCensusSync',
  method: 'GET',
  path: '/v1/census-syncs/:sync_id',
  scope: 'census:read',
  employers: 'sync',
  summary: 'Get a census sync',
  description:
    'With `response=true`, for tokens that also have the scope `pii:read`, it includes the response with which ' +
    'the service rejected the upload. That may hold personal data, so each read is recorded.',
  params: SyncId,
  query: field.closed({
    response: flag(
      'Include the response of the service. Also requires the scope `pii:read`, and each read is recorded.',
    ),
  }),
  response: { 200: Sync },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const { sync_id } = call.params;
    if (call.query.response === true) alsoNeeds(call, 'pii:read');
    const sync = await knownSync(parts, sync_id, await parts.sharedNow(parts.db));
    if (call.query.response !== true) return sync;
    const read = { action: 'census-sync.read', resource: sync_id, employer: sync.employer_id } as const;
    await writeReadDown(parts, call, read);
    return { ...sync, response: await readSyncResponse(parts.db, parts.encryptor, sync_id) };
  },
  logs: ({ query }, { id: sync_id, employer_id }) =>
    query.response === true ? [{ employer_id, sync_id }, 'the response to a census was read'] : null,
});

export const dismissCensusSync = operation({
  id: 'dismissCensusSync',
  method: 'POST',
  path: '/v1/census-syncs/:sync_id/dismiss',
  scope: 'census:write',
  employers: 'sync',
  action: 'census-sync.dismiss',
  summary: 'Dismiss a census sync',
  description:
    'Dismisses a sync that is waiting, held, failed or overdue. It stays in the lists, but readiness no longer fails because of it, and staging a census does not request it again. The next request for the employer starts a new sync.',
  params: SyncId,
  body: Dismissal,
  response: { 200: Sync },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(call, parts) {
    const { db, sharedNow, overdueMs } = parts;
    const { sync_id } = call.params;
    const at = await sharedNow(db);
    const dismissal = { ...call.body, overdueBefore: ago(at, overdueMs), ...actingIn(call, at) };
    const isChanged = await transact(db, (trx) => dismissSync(trx, sync_id, dismissal));
    parts.wakeSend();
    return new Answer(await knownSync(parts, sync_id, at), { isUnchanged: !isChanged });
  },
  logs: ({ params }) => [{ sync_id: params.sync_id }, 'a census sync was dismissed'],
});

export const releaseCensusSync = operation({
  id: 'releaseCensusSync',
  method: 'POST',
  path: '/v1/census-syncs/:sync_id/release',
  scope: 'runs:approve',
  employers: 'sync',
  action: 'census-sync.release',
  summary: 'Release a held census',
  description:
    "Releases the held census of this sync, for all syncs that wait for it: the census is uploaded as it is. A census that is staged or fetched later is checked again. Requires `runs:approve`, so that the program that uploads a census cannot release it. A census with employees of another employer then counts as its employer's; only a token that sees both employers releases it.",
  params: SyncId,
  body: Release,
  response: { 200: Sync },
  refuses: ['NOT_FOUND', 'CONFLICT', 'EMPLOYEE_ELSEWHERE', 'CENSUS_REFUSED'],
  async run(call, parts) {
    const { db, sharedNow, censusMaxAgeMs } = parts;
    const { sync_id } = call.params;
    const { reason, census_id: reviewed } = call.body;
    const at = await sharedNow(db);
    const releasing = { db, openKeys: () => parts.encryptor, sharedNow };
    const freshSince = ago(at, censusMaxAgeMs);
    const release = { reason, reviewed, freshSince, limit: employersOf(call), ...actingIn(call, at) };
    await releaseSync(releasing, sync_id, release);
    parts.wakeSend();
    return knownSync(parts, sync_id, at);
  },
  logs: ({ params }) => [{ sync_id: params.sync_id }, 'a held census was released'],
});

export const syncCensus = operation({
  id: 'syncCensus',
  method: 'POST',
  path: '/v1/employers/:employer_id/census/sync',
  scope: 'census:write',
  employers: 'new-employer',
  action: 'census-sync.request',
  summary: "Upload an employer's census now",
  description:
    'Starts a census sync as if the benefits service had requested it. The sync waits if there is no fresh census. Fails with 404 for an employer that nothing is known of and whose census the configured source does not have.',
  params: NewEmployerId,
  response: { 202: Sync },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const { db, sharedNow, mayFetch, censusFrom } = parts;
    const { employer_id: employerId } = call.params;
    if (!(await mayFetch(employerId)) && !(await isKnownEmployer(db, employerId)))
      throw unknownEmployer(
        censusFrom === 'dir' ? 'add its census to the folder of CENSUS_SOURCE' : undefined,
      );
    const at = await sharedNow(db);
    const request = { employerId, ...actingIn(call, at) };
    const syncId = await transact(db, (trx) => requestSyncManually(trx, request));
    parts.wakeSend();
    return knownSync(parts, syncId, at);
  },
  logs: (_call, { id: sync_id, employer_id }) => [{ employer_id, sync_id }, 'a census sync was requested'],
});

async function knownSync({ db, overdueMs }: Parts, syncId: string, now: Date): Promise<Sync> {
  const sync = await findSync(db, syncId, { now, overdueMs });
  if (sync === null) throw notFound('census sync');
  return shown([sync])[0] as Sync;
}

function shown(syncs: readonly CensusSync[]): Sync[] {
  let left = PROBLEMS_ON_PAGE;
  return syncs.map((sync) => {
    const problems = sync.problems.slice(0, left);
    left -= problems.length;
    const { id, employer_id, state, overdue, ...rest } = sync;
    return { id, employer_id, state, overdue, ...rest, problems };
  });
}
