import type { ServerResponse } from 'node:http';
import type { Selectable } from 'kysely';
import type { Test } from 'tap';
import { createCensusSender } from '../../src/census/census-sender.ts';
import type { CensusContent } from '../../src/census/reading.ts';
import type { CensusFetcher } from '../../src/census/source.ts';
import { completeSyncs } from '../../src/census/syncs.ts';
import type { OutboxTable } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { sourceThroughFormats } from '../../src/payroll/settings/census-format.ts';
import { scratch } from '../database/scratch.ts';
import { encryptor, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json, type Received, stubService } from '../outbox/stub-service.ts';
import { askSync, HOUR_MS, stage } from './parts.ts';

type Options = {
  /** The source's result by number of fetch; absent for push. */
  fetch?: (n: number) => CensusContent;
  answer?: (response: ServerResponse, request: Received, index: number) => unknown;
};

/** The sending part of a sidecar: a stub service, a census source, a send loop. */
export async function sendingCensuses(t: Test, { fetch, answer }: Options = {}) {
  const { db } = await scratch(t);
  const clock = setClock();
  const { url, received } = await stubService(t, (response, request, index) =>
    answer ? answer(response, request, index) : json(response, 200),
  );
  let fetched = 0;
  const stored = { db, encryptor, sharedNow: async () => clock() };
  const source: CensusFetcher | null = fetch ? { fetch: async () => fetch(fetched++) } : null;
  const census = createCensusSender({
    ...stored,
    source: source && sourceThroughFormats(stored, source),
    maxAgeMs: 24 * HOUR_MS,
  });
  const loop = sendLoop(t, db, url, clock, { senders: { census } });
  return {
    db,
    clock,
    census,
    received,
    fetches: () => fetched,
    send: () => sendAll(loop),
    ask: (eventId: string, employerId = 'a') => askSync(db, employerId, eventId, clock().toISOString()),
    complete: () =>
      transact(db, (trx) =>
        completeSyncs(trx, {
          employerId: 'a',
          eventId: 'done',
          receivedAt: clock().toISOString(),
          now: clock().toISOString(),
        }),
      ),
    syncs: () =>
      db.selectFrom('census_syncs').selectAll().orderBy('requested_at').orderBy('event_id').execute(),
    /** Prepares the newest request as the send loop would, and returns the decision. Throws if it would be sent. */
    decide: async () => {
      const [request] = await db.selectFrom('outbox').selectAll().orderBy('seq', 'desc').limit(1).execute();
      const { request_id: requestId, kind, subject_type, subject_id } = request as Selectable<OutboxTable>;
      const claim = {
        ...{ requestId, kind, subject_type, subject_id },
        ...{ attempt: 1, body: null, probe: false, isUnsent: false, rereadsKey: false },
      };
      const prepared = await census.prepare(claim, new AbortController().signal);
      if (prepared.kind !== 'decision') throw new Error('the census would be sent');
      return prepared.decide;
    },
    requests: () => db.selectFrom('outbox').selectAll().orderBy('seq').execute(),
    put: (text: string) => stage(db, clock, text),
  };
}
