/** What the private listener is built from: `sidecar.ts` makes it and hands it in. */
import type { Clock } from '../clock.ts';
import type { Db } from '../database/tables.ts';
import type { Log } from '../observe/log.ts';
import type { Sealer } from '../security/sealing.ts';

export type ApiParts = {
  readonly db: Db;
  readonly now: Clock;
  readonly log: Log;
  readonly sealer: Sealer;
  /** The configuration's `API_TOKEN`, allowed everything; null: none. */
  readonly firstToken: string | null;
  /** A census sync that is not completed after this long is overdue. */
  readonly overdueMs: number;
  /** What this is, for the reference: the package's version. */
  readonly version: string;
  /** Whether this process can commit now. */
  readonly isReady: () => Promise<boolean>;
  /** Called when events are pending again. */
  readonly wakeApply: () => void;
  /** Called when a census upload may be owed. */
  readonly wakeSend: () => void;
  /** The storage failed in a way that a retry can't mend: the process ends. */
  readonly onFatal: (error: unknown) => void;
};
