/** What the private listener is built from: `sidecar.ts` makes it and hands it in. */
import type { CensusFrom } from '../census/source.ts';
import type { Clock } from '../clock.ts';
import type { ReadinessLimits } from '../config.ts';
import type { Db } from '../database/tables.ts';
import type { NotReady } from '../operations/health.ts';
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
  /** The configuration's `API_TOKEN`, allowed everything; null: none. */
  readonly firstToken: string | null;
  /** Where censuses come from: payroll brings them, or they are fetched when the service asks for one. */
  readonly censusFrom: CensusFrom;
  /** What this is, for the reference: the package's version. */
  readonly version: string;
  /** Why this process can't commit now; null when it can. */
  readonly whyNotReady: () => Promise<NotReady | null>;
  /** What the other threads have counted. Rejects with the code THREAD_SILENT. */
  readonly receiving: () => Promise<Receiving>;
  /** What the thread of this listener counts of itself, and of its work. */
  readonly thread: () => ThreadCounts;
  readonly counts: PrivateCounts;
  /** From which on requests are refused. */
  readonly pressure: PressureLimits;
  /** Called when events are pending again. */
  readonly wakeApply: () => void;
  /** Called when a census upload may be owed. */
  readonly wakeSend: () => void;
  /** The storage failed in a way that a retry can't mend: the process ends. */
  readonly onFatal: (error: unknown) => void;
};
