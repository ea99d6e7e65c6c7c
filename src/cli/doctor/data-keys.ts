import { sql } from 'kysely';
import { chunkPlace } from '../../census/chunks.ts';
import { readDataKeys } from '../../config.ts';
import type { Db } from '../../database/tables.ts';
import type { Environment } from '../../environment.ts';
import { placeOf } from '../../outbox/queue.ts';
import { createEncryptor, type Place } from '../../security/encryption.ts';
import { hashKeyPlace } from '../../security/hashing.ts';
import { describeFailure } from '../failure.ts';
import { type Finding, fail, pass } from './finding.ts';

/** Whether DATA_KEYS opens what is stored: the hash key, the head of every staged census, and of the oldest requests. */
export async function checkDataKeys(db: Db, env: Environment): Promise<Finding[]> {
  const id = 'data-keys';
  const encryptor = createEncryptor(readDataKeys(env));
  const samples = [
    ...(await hashKeySamples(db)),
    ...(await stagedSamples(db)),
    ...(await requestSamples(db)),
  ];
  for (const { sealed, place } of samples) {
    try {
      encryptor.decrypt(sealed, place);
    } catch (error) {
      return [
        fail(
          id,
          describeFailure(error),
          'Put that key into DATA_KEYS behind the first one; "benefits-sidecar keys rotate" says when it is needed no longer.',
        ),
      ];
    }
  }
  const message = samples.length === 0 ? 'nothing is sealed yet' : 'they open what is stored';
  return [pass(id, message)];
}

/** Opened in a few milliseconds; a key that is missing shows among the oldest. */
const REQUESTS_OPENED = 1_000;

type Sample = { sealed: Buffer; place: Place };

/** The key of keyed hashes, without which nothing can be accepted or staged. */
async function hashKeySamples(db: Db): Promise<Sample[]> {
  const rows = await db.selectFrom('hash_keys').select(['key_id', 'sealed']).execute();
  return rows.map(({ key_id, sealed }) => ({ sealed, place: hashKeyPlace(key_id) }));
}

/** The organizations: one small chunk of each current census. */
async function stagedSamples(db: Db): Promise<Sample[]> {
  const rows = await db
    .selectFrom('staged_censuses')
    .innerJoin('census_chunks', 'census_chunks.census_id', 'staged_censuses.census_id')
    .select(['census_chunks.census_id', 'sealed'])
    .where('state', '=', sql.lit('current'))
    .where('chunk', '=', 0)
    .execute();
  return rows.map(({ census_id, sealed }) => ({ sealed, place: chunkPlace(census_id, 0) }));
}

/** Bodies of what is still to be sent, the oldest: those of a key that was taken away. */
async function requestSamples(db: Db): Promise<Sample[]> {
  const rows = await db
    .selectFrom('outbox')
    .select(['request_id', 'body'])
    .where('finished_at', 'is', null)
    .where('body', 'is not', null)
    .orderBy('seq')
    .limit(REQUESTS_OPENED)
    .execute();
  return rows.flatMap(({ request_id, body }) =>
    body === null ? [] : [{ sealed: body, place: placeOf(request_id, 'body') }],
  );
}
