/** Whether a pilot keeps this program from sending anything to the benefits service. */
import { readDatabaseUrl, readSending } from '../../config.ts';
import { engineOfUrl, tableExists } from '../../database/engine.ts';
import { databaseExists, openDatabase, sqlitePath } from '../../database/open.ts';
import type { Environment } from '../../environment.ts';
import { readPilot } from '../../outbox/pilot.ts';
import { fail, pass, unknown, type Verdict, warn } from './finding.ts';

export type SendingState = 'on' | 'off' | 'ended' | 'unknown';

/** Returns `off` during a pilot and if SENDING would start one, and `ended` if SENDING is still off after a pilot. */
export async function readSendingState(env: Environment): Promise<SendingState> {
  try {
    const configured = readSending(env);
    const url = readDatabaseUrl(env);
    if (engineOfUrl(url) === 'sqlite' && !databaseExists(sqlitePath(url))) return configured;
    const db = openDatabase(url);
    try {
      const pilot = (await tableExists(db, 'pilot')) ? await readPilot(db) : null;
      if (pilot === null) return configured;
      if (pilot.ended_at === null) return 'off';
      return configured === 'off' ? 'ended' : 'on';
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
  if (state === 'ended') {
    return fail('SENDING is off, but the pilot of this database ended: no sidecar starts', 'Unset SENDING.');
  }
  return warn(
    'sending is off: this is a pilot, and nothing is sent to the benefits service',
    'End the pilot with "benefits-sidecar sending on" (docs/pilot.md).',
  );
}

/** Instead of the checks of the service. */
export const NOT_ASKED: Verdict = unknown(
  'not checked: nothing is sent to it unless sending is known to be on',
);
