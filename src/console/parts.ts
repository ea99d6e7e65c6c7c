/** What the console is built from, beside the API that it asks. */
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Db } from '../database/tables.ts';
import type { Log } from '../telemetry/log.ts';

export type ConsoleParts = {
  /** For sessions; everything else comes from the API. */
  readonly db: Db;
  readonly now: Clock;
  readonly log: Log;
  /** The storage failed in a way that a retry can't mend: the process ends. */
  readonly onFatal: (error: unknown) => void;
  /** The configuration's `API_TOKEN`, with which a person may sign in too; null: none. */
  readonly firstToken: string | null;
  /** Shown on every page: nobody should take the one for the other. */
  readonly environment: Config['environment'];
};
