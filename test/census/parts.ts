import type { Test } from 'tap';
import type { CensusHold } from '../../src/census/holds.ts';
import { CENSUS_FILE, type CensusContent, type CensusFormat } from '../../src/census/reading.ts';
import { currentCensus, type StagedCensus, uploadBody } from '../../src/census/staged.ts';
import { type StagingResult, stageCensus } from '../../src/census/staging.ts';
import { failSyncs, holdSyncs, type Need, requestSync } from '../../src/census/syncs.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { sharedClock } from '../../src/database/engine.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { placeOf } from '../../src/outbox/queue.ts';
import type { Encryptor } from '../../src/security/encryption.ts';
import { employee, organization } from '../contract/samples.ts';
import { parts } from '../formats/read.ts';
import { encryptor } from '../outbox/parts.ts';

export { organization };

/** The columns that the contract requires, each as a column of the same name. */
export const CENSUS_FORMAT = { columns: CENSUS_FILE.required.map((field) => ({ header: field, field })) };

export type Fields = Record<string, unknown>;

/** The contract's sample employee with another id. */
export const person = (employee_id: string, fields: Fields = {}): Fields => ({
  ...employee,
  employee_id,
  ...fields,
});

export const censusOf = (employees: readonly unknown[], fields: Fields = {}): string =>
  JSON.stringify({ organization, employees, ...fields });

export const contentOf = (text: string | Uint8Array, format: CensusFormat = 'json'): CensusContent => ({
  format,
  content: parts(text),
});

export function stage(
  db: Db,
  clock: Clock,
  text: string,
  { employerId = 'a', uploading = null }: { employerId?: string; uploading?: string | null } = {},
): Promise<StagingResult> {
  return stageCensus({ db, encryptor, sharedNow: async () => clock() }, employerId, contentOf(text), {
    uploading,
  });
}

export const HOUR_MS = 3_600_000;

/** Of this machine, as in `age`. */
export const sharedNow = sharedClock(systemClock);

/** Records a sync request of the service. Returns its sync. */
export async function askSync(db: Db, employerId: string, eventId: string, now: string) {
  await transact(db, (trx) => requestSync(trx, { employerId, eventId, now }));
  return db.selectFrom('census_syncs').selectAll().where('event_id', '=', eventId).executeTakeFirstOrThrow();
}

/** Returns why a sync stalls. */
export const needOf = (reason: string, code: Need['code'] = 'upload-rejected'): Need => ({
  ...{ code, reason, now: '2026-02-01T11:00:00.000Z' },
});

/** Stages a census of `emp-stays`, and holds a sync of it because `emp-gone` is missing. Returns the sync's id. */
export async function heldSync(db: Db, clock: Clock, employerId: string): Promise<string> {
  await stage(db, clock, censusOf([person('emp-stays')]), { employerId });
  const { sync_id, request_id } = await askSync(db, employerId, `evt-${employerId}`, clock().toISOString());
  const { census_id: censusId } = (await currentCensus(db, employerId)) as StagedCensus;
  const holds: CensusHold[] = [{ cause: 'employees-missing', count: 1, employee_ids: ['emp-gone'] }];
  const need = needOf('1 employee of the last upload is missing', 'employees-missing');
  await transact(db, (trx) => holdSyncs(trx, String(request_id), need, { censusId, holds }));
  return sync_id;
}

/** Makes censuses that are not current older, because PostgreSQL times them by its own clock. */
export const age = (db: Db, ms: number): Promise<void> =>
  transact(db, async (trx) => {
    const before = new Date(Date.now() - ms).toISOString();
    const censuses = trx.updateTable('staged_censuses');
    await censuses.set({ replaced_at: before }).where('state', '=', 'replaced').execute();
    await censuses.set({ staged_at: before }).where('state', '=', 'staging').execute();
  });

/** Returns the upload body of an employer as text, and checks the announced length. */
export async function uploadText(t: Test, db: Db, employerId = 'a'): Promise<string | null> {
  const census = await currentCensus(db, employerId);
  if (census === null) return null;
  const all: Uint8Array[] = [];
  for await (const part of uploadBody(db, encryptor, census.census_id)) all.push(part);
  const text = Buffer.concat(all);
  t.equal(text.length, census.body_bytes, 'the announced length is correct');
  return text.toString('utf8');
}

/** Requests a sync whose upload the service rejects with this response, as the send loop records it. Returns its id. */
export async function rejectedSync(db: Db, encrypting: Encryptor, employerId: string, answer: string) {
  const at = '2026-02-01T11:00:00.000Z';
  const { sync_id, request_id } = await askSync(db, employerId, `evt-${employerId}`, at);
  const requestId = String(request_id);
  const response = encrypting.encrypt(Buffer.from(answer), placeOf(requestId, 'response'));
  await transact(db, async (trx) => {
    const rejected = { state: 'rejected', is_next: 0, status: 422, finished_at: at, response } as const;
    await trx.updateTable('outbox').set(rejected).where('request_id', '=', requestId).execute();
    await failSyncs(trx, requestId, needOf('the service responded with 422'));
  });
  return sync_id;
}
