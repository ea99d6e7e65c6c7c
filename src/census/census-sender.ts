import type { Clock } from '../clock.ts';
import type { Db, Trx } from '../database/tables.ts';
import { pathSegment } from '../outbound/client.ts';
import { SLOW_RETRY_MS } from '../outbound/retry.ts';
import type { Claim, NotNow, Patience, Post, Prepared, Sender, Settlement } from '../outbound/sender.ts';
import { idOf } from '../outbound/subject.ts';
import type { Sealer } from '../security/sealing.ts';
import { type CensusSource, SourceFailed } from './source.ts';
import { currentCensus, type StagedCensus, uploadBody } from './staged.ts';
import { type Staged, stageCensus } from './staging.ts';
import * as progress from './sync-progress.ts';

/**
 * A service may work through 100,000 employees before it answers; gateways give up within five minutes. The whole
 * is 256 MiB at 300 KB a second.
 */
const PATIENCE: Patience = { silenceMs: 5 * 60_000, wholeMs: 15 * 60_000 };
/** Clocks of two machines may differ so much; a census from further ahead has no known age. */
const CLOCK_SKEW_MS = 5 * 60_000;

export type CensusSending = {
  db: Db;
  sealer: Sealer;
  now: Clock;
  /** Null for push. */
  source: CensusSource | null;
  /** CENSUS_MAX_AGE: an older staged census is not uploaded. */
  maxAgeMs: number;
};

/** Uploads an employer's census: with push the staged one while it is fresh, else one fetched for the purpose. */
export function createCensusSender(sending: CensusSending): Sender {
  const { db, sealer, now, source, maxAgeMs } = sending;

  return {
    async prepare(claim, signal) {
      const employerId = idOf(claim.subject);
      const wanted = await progress.wantedSince(db, claim.requestId);
      if (wanted === null) return cancel('no census sync waits for it any more');
      if (pathSegment(employerId) === null) {
        const reason = 'the employer id can not be part of an address';
        return notNow(async (trx) => {
          await progress.failSyncs(trx, claim.requestId, { reason, problemCount: 0, problems: null });
          return { outcome: 'cancelled', reason };
        });
      }
      const census = await currentCensus(db, employerId);
      // A fetched census serves all attempts of the requests that it was fetched for.
      if (isFresh(census, now(), maxAgeMs) && (source === null || census.stagedAt >= wanted)) {
        return upload(claim, employerId, census);
      }
      return source === null
        ? waitForPush(claim, employerId)
        : fetchAndStage(claim, employerId, source, signal);
    },
    async started(trx, claim, at) {
      await progress.uploadStarted(trx, claim.requestId, at.toISOString());
    },
    async finished(trx, claim, { verdict, status, unknown, now: at }) {
      const { requestId } = claim;
      if (verdict === 'delivered') return progress.uploadDelivered(trx, requestId, at.toISOString());
      const reason = status === null ? 'the service gave no answer' : `the service answered ${status}`;
      if (!unknown) await progress.uploadNotTaken(trx, requestId);
      if (verdict !== 'rejected')
        return progress.noteReason(trx, requestId, `${reason}: the upload is tried again`);
      return progress.failSyncs(trx, requestId, { reason, problemCount: 0, problems: null });
    },
    merged: progress.moveSyncs,
  };

  function upload(claim: Claim, employerId: string, { censusId, bodyBytes }: StagedCensus): Post {
    return {
      kind: 'post',
      path: ['employer', employerId, 'census'],
      idempotencyKey: `${claim.requestId}:${censusId}`,
      body: { length: bodyBytes, chunks: uploadBody(db, sealer, censusId) },
      patience: PATIENCE,
    };
  }

  /** Looks once more inside the transaction: a census that came since has found no sync waiting. */
  function waitForPush(claim: Claim, employerId: string): NotNow {
    return notNow(async (trx) => {
      const census = await currentCensus(trx, employerId);
      if (isFresh(census, now(), maxAgeMs))
        return { outcome: 'later', reason: 'a census has come', delayMs: 0 };
      const reason =
        census === null
          ? 'no census is staged: bring one with PUT'
          : 'the staged census is older than CENSUS_MAX_AGE: bring a new one with PUT';
      await progress.awaitCensus(trx, claim.requestId, reason);
      return { outcome: 'cancelled', reason };
    });
  }

  async function fetchAndStage(
    claim: Claim,
    employerId: string,
    from: CensusSource,
    signal: AbortSignal,
  ): Promise<Prepared> {
    let staged: Staged;
    try {
      const content = await from.fetch(employerId, signal);
      staged = await stageCensus(sending, employerId, content, { uploading: claim.requestId, signal });
    } catch (error) {
      if (!(error instanceof SourceFailed)) throw error;
      return notNow(async (trx) => {
        await progress.noteReason(trx, claim.requestId, error.message);
        return { outcome: 'later', reason: error.message, delayMs: null };
      });
    }
    if (!staged.ok) return refused(claim, staged);
    const census = await currentCensus(db, employerId);
    return census === null ? cancel('the census is gone') : upload(claim, employerId, census);
  }
}

/** A census that breaks the contract is not uploaded, in whole or in part; it may be mended in its source. */
function refused(claim: Claim, { problemCount, problems }: Extract<Staged, { ok: false }>): NotNow {
  const reason = `the census breaks the contract in ${problemCount} ${problemCount === 1 ? 'place' : 'places'}`;
  return notNow(async (trx) => {
    await progress.failSyncs(trx, claim.requestId, { reason, problemCount, problems });
    return { outcome: 'later', reason, delayMs: SLOW_RETRY_MS };
  });
}

function isFresh(census: StagedCensus | null, now: Date, maxAgeMs: number): census is StagedCensus {
  if (census === null) return false;
  const ageMs = now.getTime() - Date.parse(census.stagedAt);
  return ageMs <= maxAgeMs && ageMs >= -CLOCK_SKEW_MS;
}

function notNow(settle: (trx: Trx) => Promise<Settlement>): NotNow {
  return { kind: 'not-now', settle };
}

function cancel(reason: string): NotNow {
  return notNow(async () => ({ outcome: 'cancelled', reason }));
}
