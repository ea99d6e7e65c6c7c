/** The dependencies of the private listener, created by the API thread. */
import type { CensusFrom } from '../census/source.ts';
import type { Clock } from '../clock.ts';
import type { ReadinessLimits } from '../config.ts';
import type { NotReady } from '../database/errors.ts';
import type { Db } from '../database/tables.ts';
import type { Encryptor } from '../security/encryption.ts';
import type { PrivateCounts } from '../telemetry/api-counts.ts';
import type { Log } from '../telemetry/log.ts';
import type { Receiving } from '../telemetry/receiver-counts.ts';
import type { ThreadCounts } from '../telemetry/thread-counts.ts';
import type { PressureLimits } from './pressure.ts';

export type ApiParts = ReadinessLimits & {
  readonly db: Db;
  readonly now: Clock;
  readonly log: Log;
  readonly encryptor: Encryptor;
  /** The configuration's `API_TOKEN`, which has every scope; null without one. */
  readonly firstToken: string | null;
  /** The census source: payroll stages censuses, or each sync fetches one. */
  readonly censusFrom: CensusFrom;
  /** The package version, shown in the API reference. */
  readonly version: string;
  /** Returns why this process cannot commit now; null if it can. */
  readonly whyNotReady: () => Promise<NotReady | null>;
  /** Returns the counts of the other threads. Rejects with the code THREAD_SILENT. */
  readonly receiving: () => Promise<Receiving>;
  /** Returns the counts of this thread and its work. */
  readonly thread: () => ThreadCounts;
  readonly counts: PrivateCounts;
  /** The load above which requests are refused. */
  readonly pressure: PressureLimits;
  /** Called when events are pending again. */
  readonly wakeApply: () => void;
  /** Called when a census upload may be due. */
  readonly wakeSend: () => void;
  /** Ends the process after a storage failure that no retry can fix. */
  readonly onFatal: (error: unknown) => void;
};
