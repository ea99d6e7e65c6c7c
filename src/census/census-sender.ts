import { pathSegment } from '../contract/fields.ts';
import type { Db, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { AppError, counted, isAppError, type Problem } from '../errors.ts';
import { SLOW_RETRY_MS } from '../outbox/retry.ts';
import type { Claim, Decision, Post, Sender, Timeouts } from '../outbox/sender.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import { adviceOn, describeHold, holdCode, holdsOf } from './holds.ts';
import type { CensusContent } from './reading.ts';
import type { CensusFetcher } from './source.ts';
import {
  currentCensus,
  isFresh,
  openChunks,
  recordUpload,
  type StagedCensus,
  type Staging,
  uploadBody,
} from './staged.ts';
import { type StagingResult, stageCensus } from './staging.ts';
import * as syncs from './syncs.ts';

/** Processing 100,000 employees takes minutes; 15 minutes are 256 MiB at 300 KB a second. */
const TIMEOUTS: Timeouts = { idleMs: 5 * 60_000, totalMs: 15 * 60_000 };

type CensusSending = Staging & {
  /** Null for push. */
  source: CensusFetcher | null;
  /** CENSUS_MAX_AGE: an older staged census is not uploaded. */
  maxAgeMs: number;
};

type UploadAttempt = {
  censusId: string;
  startedAt: string | null;
  /** Why its body ended early, for its syncs. */
  unopened: string | null;
};

type Uploads = WeakMap<Claim, UploadAttempt>;
type Uploading = CensusSending & { uploads: Uploads };

/** Sends the staged census if it is fresh, else one that is fetched. */
export function createCensusSender(sending: CensusSending): Sender {
  const { db, sharedNow, source } = sending;
  const uploads: Uploads = new WeakMap();
  const uploading = { ...sending, uploads };
  /** Only an attempt that `prepare` gave an upload is started and finished. */
  const uploadOf = (claim: Claim) => uploads.get(claim) as UploadAttempt;

  return {
    async prepare(claim, signal) {
      const employerId = claim.subject_id;
      const wanted = await syncs.wantedSince(db, claim.requestId);
      if (wanted === null) return cancel('no census sync is waiting for this upload');
      if (pathSegment(employerId) === null) {
        const reason = 'the employer ID cannot be part of a URL';
        return decision(async (trx) => {
          await syncs.failSyncs(trx, claim.requestId, await needNow(sending, trx, 'employer-id', reason));
          return { outcome: 'canceled', reason };
        });
      }
      const census = await freshCensus(sending, db, employerId);
      // A fetched census serves all attempts of the requests that it was fetched for.
      if (census !== null && (source === null || census.staged_at >= wanted)) {
        return holdOrUpload(uploading, claim, census, wanted);
      }
      return source === null
        ? waitForPush(sending, claim)
        : fetchAndStage(uploading, claim, source, wanted, signal);
    },
    async started(trx, claim, at) {
      const startedAt = at.toISOString();
      uploadOf(claim).startedAt = startedAt;
      await syncs.uploadStarted(trx, claim.requestId, startedAt);
    },
    async finished(trx, claim, { verdict, status, reason: outcome, unknown, now: at }) {
      const { requestId } = claim;
      const { censusId, startedAt, unopened } = uploadOf(claim);
      if (verdict === 'delivered') {
        const now = at.toISOString();
        await recordUpload(trx, claim.subject_id, censusId, now);
        return syncs.uploadDelivered(trx, requestId, { began: startedAt ?? now, now });
      }
      const reason = (status === null && unopened) || outcome;
      if (!unknown) await syncs.uploadNotTaken(trx, requestId);
      if (verdict !== 'rejected')
        return syncs.noteReason(trx, requestId, `${reason}; the upload will be retried`);
      const where = `${reason}; read its response with "census show --response" or in the console`;
      return syncs.failSyncs(trx, requestId, {
        ...{ code: 'upload-rejected', reason: where, now: at.toISOString() },
      });
    },
    unsent: async (trx, { requestId }) =>
      syncs.dismissUnsent(trx, (await sharedNow(trx)).toISOString(), requestId),
    merged: syncs.moveSyncs,
  };
}

async function freshCensus(
  { sharedNow, maxAgeMs }: CensusSending,
  on: Db | Trx,
  employerId: string,
): Promise<StagedCensus | null> {
  const census = await currentCensus(on, employerId);
  return census !== null && isFresh(census, await sharedNow(on), maxAgeMs) ? census : null;
}

async function upload(
  { db, encryptor, uploads }: Uploading,
  claim: Claim,
  { census_id: censusId, body_bytes }: StagedCensus,
  wanted: string,
): Promise<Post | Decision> {
  try {
    // One key encrypted all chunks: reading the first one shows whether it exists.
    await openChunks(db, encryptor, censusId).next();
  } catch (error) {
    const reason = whyUnopened(error);
    if (reason === null) throw error;
    return putOff(claim, reason);
  }
  const attempt: UploadAttempt = { censusId, startedAt: null, unopened: null };
  uploads.set(claim, attempt);
  return {
    kind: 'post',
    path: ['employer', claim.subject_id, 'census'],
    // A sync that joined after a lost response needs an upload of its own: the service may have processed the earlier one.
    idempotencyKey: `${claim.requestId}:${censusId}:${wanted}`,
    body: { length: body_bytes, chunks: noted({ db, encryptor }, attempt, body_bytes) },
    timeouts: TIMEOUTS,
  };
}

async function* noted(
  { db, encryptor }: Pick<CensusSending, 'db' | 'encryptor'>,
  attempt: UploadAttempt,
  length: number,
): AsyncGenerator<Uint8Array> {
  try {
    let left = length;
    for await (const chunk of uploadBody(db, encryptor, attempt.censusId)) {
      left -= chunk.length;
      yield chunk;
    }
    // Either the census was replaced, and the next attempt uploads the new one, or it is damaged.
    if (left > 0) {
      throw new AppError('CENSUS_CUT', 'the staged census is incomplete: if this persists, stage it again');
    }
  } catch (error) {
    attempt.unopened = whyUnopened(error);
    throw error;
  }
}

/** Checks again inside the transaction: a census staged since then found no sync that waits. */
function waitForPush(sending: CensusSending, claim: Claim): Decision {
  return decision(async (trx) => {
    if ((await freshCensus(sending, trx, claim.subject_id)) !== null)
      return { outcome: 'later', reason: 'a census was staged', delayMs: 0 };
    const stale = 'the staged census is older than CENSUS_MAX_AGE: stage a new one';
    const isAny = (await currentCensus(trx, claim.subject_id)) !== null;
    const reason = isAny ? stale : 'no census is staged: stage one';
    const need = await needNow(sending, trx, isAny ? 'census-too-old' : 'no-census', reason);
    await syncs.awaitCensus(trx, claim.requestId, need);
    return { outcome: 'canceled', reason };
  });
}

async function fetchAndStage(
  sending: Uploading,
  claim: Claim,
  from: CensusFetcher,
  wanted: string,
  signal: AbortSignal,
): Promise<Post | Decision> {
  const { subject_id: employerId } = claim;
  let staged: StagingResult;
  let content: CensusContent;
  try {
    content = await from.fetch(employerId, signal);
    staged = await stageCensus(sending, employerId, content, {
      ...{ uploading: claim.requestId, signal },
      // The source decides for its employer only.
      limit: [employerId],
    });
  } catch (error) {
    if (isAppError(error, 'CENSUS_SOURCE_FAILED')) return putOff(claim, error.message);
    throw error;
  }
  if (!staged.ok) {
    if (content.through?.repairs.isRefused) return awaitFormat(sending, claim, staged.problems);
    const { problemCount } = staged;
    const reason = `the census breaks the contract in ${counted(problemCount, 'place')}`;
    return decision(async (trx) => {
      // Not uploaded, not even in part. It may be fixed at its source.
      const need = await needNow(sending, trx, 'breaks-contract', reason);
      await syncs.failSyncs(trx, claim.requestId, need, staged);
      return { outcome: 'later', reason, delayMs: SLOW_RETRY_MS };
    });
  }
  const census = await currentCensus(sending.db, employerId);
  return census === null
    ? cancel('the census was removed before the upload')
    : holdOrUpload(sending, claim, census, wanted);
}

/** A person must confirm a format of the file, or its source must have a file of the confirmed format, so it is read again. */
function awaitFormat(sending: CensusSending, claim: Claim, problems: readonly Problem[]): Decision {
  const reason = syncs.formatReason(problems);
  return decision(async (trx) => {
    await syncs.awaitCensus(trx, claim.requestId, await needNow(sending, trx, 'file-format', reason));
    return { outcome: 'later', reason, delayMs: SLOW_RETRY_MS };
  });
}

async function holdOrUpload(
  sending: Uploading,
  claim: Claim,
  census: StagedCensus,
  wanted: string,
): Promise<Post | Decision> {
  const { db, sharedNow } = sending;
  const holds = await holdsOf(db, census, dayAt(db, await sharedNow(db)));
  if (holds.length === 0) return upload(sending, claim, census, wanted);
  const { census_id: censusId, employer_id, released_at } = census;
  return decision(async (trx) => {
    const current = await currentCensus(trx, employer_id);
    if (current?.census_id !== censusId || current.released_at !== released_at)
      return { outcome: 'later', reason: 'another census was staged, or this one was released', delayMs: 0 };
    const reason = `${holds.map(describeHold).join('; ')}: ${adviceOn(holds)}`;
    const need = await needNow(sending, trx, holdCode(holds), reason);
    await syncs.holdSyncs(trx, claim.requestId, need, { censusId, holds });
    return { outcome: 'canceled', reason };
  });
}

async function needNow({ sharedNow }: CensusSending, trx: Trx, code: syncs.Need['code'], reason: string) {
  return { code, reason, now: (await sharedNow(trx)).toISOString() };
}

function putOff(claim: Claim, reason: string): Decision {
  return decision(async (trx) => {
    await syncs.noteReason(trx, claim.requestId, reason);
    return { outcome: 'later', reason, delayMs: null };
  });
}

/** Returns null for any other error: only these messages are known to hold no census data. */
function whyUnopened(error: unknown): string | null {
  if (isAppError(error, 'CENSUS_CUT')) return error.message;
  const trouble = keyErrorMessage(error);
  return trouble === null ? null : `the staged census cannot be decrypted: ${trouble}`;
}

function cancel(reason: string): Decision {
  return decision(async () => ({ outcome: 'canceled', reason }));
}

function decision(decide: Decision['decide']): Decision {
  return { kind: 'decision', decide };
}
