import type { Clock } from '../clock.ts';
import type { Db, Trx } from '../database/tables.ts';
import { AppError, isAppError } from '../errors.ts';
import { pathSegment } from '../outbox/client.ts';
import { SLOW_RETRY_MS } from '../outbox/retry.ts';
import type { Claim, Disposition, NotNow, Prepared, Sender, Timeouts } from '../outbox/sender.ts';
import type { Encryptor } from '../security/encryption.ts';
import { keyErrorMessage } from '../security/hashing.ts';
import type { CensusSource } from './source.ts';
import { currentCensus, openChunks, recordUpload, type StagedCensus, uploadBody } from './staged.ts';
import { type Staged, stageCensus } from './staging.ts';
import * as progress from './sync-progress.ts';

/** Processing 100,000 employees takes minutes; 15 minutes are 256 MiB at 300 KB a second. */
const TIMEOUTS: Timeouts = { idleMs: 5 * 60_000, totalMs: 15 * 60_000 };
/** How much the clocks of two machines may differ. A census from further in the future has no age. */
const CLOCK_SKEW_MS = 5 * 60_000;

type CensusSending = {
  db: Db;
  encryptor: Encryptor;
  now: Clock;
  /** Null for push. */
  source: CensusSource | null;
  /** CENSUS_MAX_AGE: an older staged census is not uploaded. */
  maxAgeMs: number;
};

/** Creates the sender of census uploads: the staged census if it is fresh, else one that is fetched. */
export function createCensusSender(sending: CensusSending): Sender {
  const { db, encryptor, now, source, maxAgeMs } = sending;
  /** Why the body of an attempt ended early, for its sync. */
  const unopened = new WeakMap<Claim, string>();
  /** The census that an attempt uploads. */
  const uploading = new WeakMap<Claim, string>();
  /** When the upload started. */
  const begun = new WeakMap<Claim, string>();

  return {
    async prepare(claim, signal) {
      const employerId = claim.subject_id;
      const wanted = await progress.wantedSince(db, claim.requestId);
      if (wanted === null) return cancel('no census sync is waiting for this upload');
      if (pathSegment(employerId) === null) {
        const reason = 'the employer ID cannot be part of a URL';
        return notNow(async (trx) => {
          await progress.failSyncs(trx, claim.requestId, reason);
          return { outcome: 'canceled', reason };
        });
      }
      const census = await currentCensus(db, employerId);
      // A fetched census serves all attempts of the requests that it was fetched for.
      if (isFresh(census, now(), maxAgeMs) && (source === null || census.stagedAt >= wanted)) {
        return upload(claim, census);
      }
      return source === null ? waitForPush(claim) : fetchAndStage(claim, source, signal);
    },
    async started(trx, claim, at) {
      begun.set(claim, at.toISOString());
      await progress.uploadStarted(trx, claim.requestId, at.toISOString());
    },
    async finished(trx, claim, { verdict, status, reason: outcome, unknown, now: at }) {
      const { requestId } = claim;
      if (verdict === 'delivered') {
        const censusId = uploading.get(claim);
        if (censusId !== undefined) await recordUpload(trx, claim.subject_id, censusId, at.toISOString());
        const now = at.toISOString();
        return progress.uploadDelivered(trx, requestId, { began: begun.get(claim) ?? now, now });
      }
      const reason = (status === null && unopened.get(claim)) || outcome;
      if (!unknown) await progress.uploadNotTaken(trx, requestId);
      if (verdict !== 'rejected')
        return progress.noteReason(trx, requestId, `${reason}; the upload will be retried`);
      const where = `${reason}; read its response with "census show --response" or in the console`;
      return progress.failSyncs(trx, requestId, where);
    },
    merged: progress.moveSyncs,
  };

  async function upload(claim: Claim, { censusId, bodyBytes }: StagedCensus): Promise<Prepared> {
    try {
      // One key encrypted all chunks: reading the first one shows whether it exists.
      await openChunks(db, encryptor, censusId).next();
    } catch (error) {
      const reason = whyUnopened(error);
      if (reason === null) throw error;
      return putOff(claim, reason);
    }
    uploading.set(claim, censusId);
    return {
      kind: 'post',
      path: ['employer', claim.subject_id, 'census'],
      idempotencyKey: `${claim.requestId}:${censusId}`,
      body: { length: bodyBytes, chunks: noted(claim, bodyBytes, uploadBody(db, encryptor, censusId)) },
      timeouts: TIMEOUTS,
    };
  }

  async function* noted(claim: Claim, length: number, chunks: AsyncIterable<Uint8Array>) {
    try {
      let left = length;
      for await (const chunk of chunks) {
        left -= chunk.length;
        yield chunk;
      }
      // Either the census was replaced, and the next attempt uploads the new one, or it is damaged.
      if (left > 0) {
        throw new AppError('CENSUS_CUT', 'the staged census is incomplete: if this persists, stage it again');
      }
    } catch (error) {
      const reason = whyUnopened(error);
      if (reason !== null) unopened.set(claim, reason);
      throw error;
    }
  }

  /** Checks again inside the transaction: a census staged since then found no sync that waits. */
  function waitForPush(claim: Claim): NotNow {
    return notNow(async (trx) => {
      const census = await currentCensus(trx, claim.subject_id);
      if (isFresh(census, now(), maxAgeMs))
        return { outcome: 'later', reason: 'a census was staged', delayMs: 0 };
      const reason =
        census === null
          ? 'no census is staged: stage one'
          : 'the staged census is older than CENSUS_MAX_AGE: stage a new one';
      await progress.awaitCensus(trx, claim.requestId, reason);
      return { outcome: 'canceled', reason };
    });
  }

  async function fetchAndStage(claim: Claim, from: CensusSource, signal: AbortSignal): Promise<Prepared> {
    const { subject_id: employerId } = claim;
    let staged: Staged;
    try {
      const content = await from.fetch(employerId, signal);
      staged = await stageCensus(sending, employerId, content, { uploading: claim.requestId, signal });
    } catch (error) {
      if (!isAppError(error, 'CENSUS_SOURCE_FAILED')) throw error;
      return putOff(claim, error.message);
    }
    if (!staged.ok) return refused(claim, staged);
    const census = await currentCensus(db, employerId);
    return census === null ? cancel('the census was removed before the upload') : upload(claim, census);
  }
}

/** Retries with the usual backoff. */
function putOff(claim: Claim, reason: string): NotNow {
  return notNow(async (trx) => {
    await progress.noteReason(trx, claim.requestId, reason);
    return { outcome: 'later', reason, delayMs: null };
  });
}

/** Returns null for any other error: only these messages are known to hold no census data. */
function whyUnopened(error: unknown): string | null {
  if (isAppError(error, 'CENSUS_CUT')) return error.message;
  const trouble = keyErrorMessage(error);
  return trouble === null ? null : `the staged census cannot be decrypted: ${trouble}`;
}

/** A census that breaks the contract is not uploaded, not even in part. It may be fixed at its source. */
function refused(claim: Claim, staged: Extract<Staged, { ok: false }>): NotNow {
  const places = staged.problemCount === 1 ? '1 place' : `${staged.problemCount} places`;
  const reason = `the census breaks the contract in ${places}`;
  return notNow(async (trx) => {
    await progress.failSyncs(trx, claim.requestId, reason, staged);
    return { outcome: 'later', reason, delayMs: SLOW_RETRY_MS };
  });
}

function isFresh(census: StagedCensus | null, now: Date, maxAgeMs: number): census is StagedCensus {
  if (census === null) return false;
  const ageMs = now.getTime() - Date.parse(census.stagedAt);
  return ageMs <= maxAgeMs && ageMs >= -CLOCK_SKEW_MS;
}

function notNow(decide: (trx: Trx) => Promise<Disposition>): NotNow {
  return { kind: 'not-now', decide };
}

function cancel(reason: string): NotNow {
  return notNow(async () => ({ outcome: 'canceled', reason }));
}
