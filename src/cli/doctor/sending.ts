/** Whether a pilot keeps this program from sending anything to the benefits service. */
import { readDatabaseUrl, readSending } from '../../config.ts';
import { engineOfUrl, tableExists } from '../../database/engine.ts';
import { databaseExists, openDatabase, sqlitePath } from '../../database/open.ts';
import type { Environment } from '../../environment.ts';
import { isSendingOff } from '../../outbox/pilot.ts';
import { pass, unknown, type Verdict, warn } from './finding.ts';

export type SendingState = 'on' | 'off' | 'unknown';

/** Returns `off` if the database has a pilot or SENDING would start one, and `unknown` if either cannot be read. */
export async function readSendingState(env: Environment): Promise<SendingState> {
  try {
    if (readSending(env) === 'off') return 'off';
    const url = readDatabaseUrl(env);
    if (engineOfUrl(url) === 'sqlite' && !databaseExists(sqlitePath(url))) return 'on';
    const db = openDatabase(url);
    try {
      return (await tableExists(db, 'pilot')) && (await isSendingOff(db)) ? 'off' : 'on';
    } finally {
      await db.destroy();
    }
  } catch {
    // The checks of the configuration and the database report why.
    return 'unknown';
  }
}

export function checkSending(state: SendingState): Verdict {
  if (state === 'on') return pass('requests are sent to the benefits service');
  if (state === 'unknown') return unknown('not checked: it needs SENDING and the database');
  return warn(
    'sending is off: this is a pilot, and nothing is sent to the benefits service',
    'End the pilot with "benefits-sidecar sending on" (docs/pilot.md).',
  );
}

/** Instead of the checks of the service. */
export const NOT_ASKED: Verdict = unknown(
  'not checked: nothing is sent to it unless sending is known to be on',
);
