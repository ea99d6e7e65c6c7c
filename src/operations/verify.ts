/** Verifies every part of a database. */
import { ENCRYPTED_CHUNKS } from '../census/staged.ts';
import { SYNC_STATES, verifyCensuses, verifyCompletions, verifySyncs } from '../census/verify-census.ts';
import { countRows } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import { isFatal } from '../database/errors.ts';
import { checkEngine, type EngineCheck } from '../database/integrity.ts';
import type { Db } from '../database/tables.ts';
import { verifyFacts } from '../employment/facts.ts';
import { verifyReported } from '../employment/verify-reported.ts';
import { codeOf } from '../errors.ts';
import { verifyChanges } from '../inbox/contract-changes.ts';
import { eventsById, newestSeq } from '../inbox/inbox.ts';
import {
  EVENT_STATES,
  verifyConflicts,
  verifyEventsWithoutVersion,
  verifySeqs,
} from '../inbox/verify-inbox.ts';
import { type VersionsVerified, verifyVersions } from '../inbox/verify-versions.ts';
import {
  verifyChained,
  verifyDeductions,
  verifyHead,
  verifyPositions,
  verifyRoster,
} from '../ledger/verify-ledger.ts';
import { ENCRYPTED_NAMES } from '../names/names.ts';
import { ENCRYPTED_REQUESTS } from '../outbox/queue.ts';
import { CHANGE_STATES, verifyOutbox, verifyPilot } from '../outbox/verify-outbox.ts';
import { verifyTaken } from '../payroll/facts/verify-taken.ts';
import { type RunsVerified, verifyRuns } from '../payroll/lifecycle/verify.ts';
import { ENCRYPTED_ORGANIZATION } from '../payroll/settings/file-formats.ts';
import { type EncryptedVerified, verifyEncrypted } from '../security/encrypted-columns.ts';
import type { Encryptor } from '../security/encryption.ts';
import { HASH_KEY, verifyHashKey } from '../security/hashing.ts';
import { verifyTokens } from '../security/tokens.ts';
import { verifyAudit } from '../security/verify-audit.ts';
import { verifyFact } from '../security/verify-facts.ts';
import { verifyReasons, verifyStates } from '../security/verify-recorded.ts';
import { FACTS } from './facts.ts';
import { REASON_COLUMNS } from './reasons.ts';
import { verifyTimes } from './verify-times.ts';

export type VerifyReport = {
  engine: EngineCheck[];
  /** The ledger's newest position at the start. Everything up to it was checked. */
  position: number;
  versions: VersionsVerified;
  events_without_version: number;
  deductions: number;
  roster_facts: number;
  runs: RunsVerified;
  requests: number;
  /** Null: DATA_KEYS is not set, so nothing was decrypted. */
  encrypted: EncryptedVerified | null;
};

/** The tables whose rows are checked, each once. */
const LOOKED_AT = [
  'inbox',
  'deduction_versions',
  'deductions',
  'roster_facts',
  'roster',
  'outbox',
  'event_conflicts',
  'conflicted_events',
  'audit_records',
] as const;

/** Returns the number of rows to check, as far as it is known. */
export function rowsToVerify(db: Db, encryptor: Encryptor | null): Promise<number> {
  const encrypted = encryptor === null ? [] : ENCRYPTED_COLUMNS.map(({ table }) => table);
  return countRows(db, [...LOOKED_AT, ...encrypted]);
}

/** Checks everything that existed at the start. Ignores what arrives later. */
export async function verifyAll(db: Db, encryptor: Encryptor | null, on: Verifying): Promise<VerifyReport> {
  const [engine, rows] = await Promise.all([checkEngine(db, on), verifyRows(db, encryptor, on)]);
  return { engine, ...rows };
}

/** Checks everything except the engine's own files. */
export async function verifyRows(
  db: Db,
  encryptor: Encryptor | null,
  on: Verifying,
): Promise<Omit<VerifyReport, 'engine'>> {
  /** Runs a part. If the engine cannot read it to the end, reports a difference and continues with the next part. */
  const part = async <R>(otherwise: R, work: () => Promise<R>): Promise<R> => {
    on.signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!isFatal(error)) throw error;
      on.report('instance', '-', '-', `the database cannot be read to its end (${codeOf(error)})`);
      return otherwise;
    }
  };
  await part(undefined, () => verifyOnlyRows(db, on));
  const position = await part(0, () => verifyHead(db, on));
  const newest = await part(0, () => newestSeq(db));
  await part(undefined, () => verifySeqs(db, on.report));
  await part(undefined, () => verifyPositions(db, position, on));
  const versions = await part({ byBody: 0, byHash: 0 }, () => verifyVersions(db, position, on));
  const events_without_version = await part(0, () => verifyEventsWithoutVersion(db, newest, on));
  await part(undefined, () => verifyConflicts(db, on));
  await part(undefined, () => verifyChanges(db, on));
  const deductions = await part(0, () => verifyDeductions(db, on));
  await part(undefined, () => verifyChained(db, on.report));
  const roster_facts = await part(0, () => verifyRoster(db, on));
  await part(undefined, () => verifyFacts(db, position, on));
  const eventsOf = (ids: readonly string[]) => eventsById(db, ids);
  await part(undefined, () => verifySyncs(db, eventsOf, on));
  await part(undefined, () => verifyCompletions(db, eventsOf, on));
  await part(undefined, () => verifyCensuses(db, encryptor, on));
  const requests = await part(0, () => verifyOutbox(db, on));
  await part(undefined, () => verifyReported(db, on));
  await part(undefined, () => verifyHashKey(db, HASHED_COLUMNS, on));
  const none: RunsVerified = { runs: 0, lines: 0, otherRules: 0 };
  const runs = await part(none, () => verifyRuns(db, on));
  await part(undefined, () => verifyTaken(db, on));
  for (const fact of FACTS) await part(undefined, () => verifyFact(db, fact, on));
  for (const column of REASON_COLUMNS) await part(undefined, () => verifyReasons(db, column, on));
  for (const state of STATES) await part(undefined, () => verifyStates(db, state, on));
  await part(undefined, () => verifyTokens(db, on));
  await part(undefined, () => verifyPilot(db, on));
  await part(undefined, () => verifyAudit(db, on));
  await part(undefined, () => verifyTimes(db, on));
  const unread: EncryptedVerified = { decrypted: 0, undecrypted: new Map() };
  const encrypted =
    encryptor && (await part(unread, () => verifyEncrypted(db, encryptor, ENCRYPTED_COLUMNS, on)));
  return { position, versions, events_without_version, deductions, roster_facts, runs, requests, encrypted };
}

/** Tables whose only row the migrations insert. Without it, updates change nothing and locks lock nothing. */
const TABLES_OF_ONE_ROW = ['payroll_head', 'circuit_breaker', 'retention', 'notification_head'] as const;

async function verifyOnlyRows(db: Db, { report }: Verifying): Promise<void> {
  for (const table of TABLES_OF_ONE_ROW) {
    if ((await countRows(db, [table])) === 0) report(table, '1', 'id', 'is missing');
  }
}

/** States that only an action with an audit record brings about. */
const STATES = [...EVENT_STATES, ...SYNC_STATES, ...CHANGE_STATES];

const HASHED_COLUMNS = [
  { table: 'outbox', column: 'body_hash', has: 'hash' },
  { table: 'staged_censuses', column: 'fingerprint_key', has: 'key-id' },
] as const;

/** All encrypted columns, the hash key first. */
export const ENCRYPTED_COLUMNS = [
  HASH_KEY,
  ...ENCRYPTED_REQUESTS,
  ENCRYPTED_CHUNKS,
  ENCRYPTED_ORGANIZATION,
  ENCRYPTED_NAMES,
] as const;
