/** Makes what operations run with, for the listener and for commands. */
import { mayFetch } from '../census/source-dir.ts';
import type { Config } from '../config.ts';
import { createEmployeeSets } from '../ledger/employee-sets.ts';
import { createRunReviews } from '../readiness/run-reviews.ts';
import { createEncryptor } from '../security/encryption.ts';
import type { Parts } from './operation.ts';

type Settings = Pick<Config, 'dataKeys' | 'census' | 'silentAfterMs'>;

type Made =
  | 'employeeSets'
  | 'runReviews'
  | 'encryptor'
  | 'overdueMs'
  | 'silentAfterMs'
  | 'censusFrom'
  | 'censusMaxAgeMs'
  | 'mayFetch';

/** Reads each setting when an operation needs it: most commands need no DATA_KEYS. */
export function createParts(settings: Settings, connected: Omit<Parts, Made>): Parts {
  const { db } = connected;
  return {
    ...connected,
    employeeSets: createEmployeeSets(db),
    runReviews: createRunReviews(db),
    get encryptor() {
      return createEncryptor(settings.dataKeys);
    },
    get overdueMs() {
      return settings.census.overdueMs;
    },
    get silentAfterMs() {
      return settings.silentAfterMs;
    },
    get censusFrom() {
      return settings.census.source.kind;
    },
    get censusMaxAgeMs() {
      return settings.census.maxAgeMs;
    },
    mayFetch: (employerId) => mayFetch(settings.census.source, employerId),
  };
}
