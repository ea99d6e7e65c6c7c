/** Notifications that no transaction decides: what is computed is compared with what was told last, once a minute. */
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { forget, knownBy, notifyOnce } from './known.ts';
import { isTold, notify } from './store.ts';
import { type DataOf, type NotificationType, subjectOf } from './types.ts';

/** What a subject is now: `told` while there is something to tell, else how its end is told, or null for not at all. */
export type State<T extends NotificationType> =
  | { told: DataOf<T> }
  | { ended: DataOf<T> | null; subject: string };

export type Computed<T extends NotificationType = NotificationType> = {
  type: T;
  /**
   * Yields the subjects that may have changed, each once. `known`: what was told of each subject and has not ended. It pauses
   * between steps, because requests are served by the same thread, and may continue with the next subjects the next time.
   */
  states(db: Db, now: Date, known: ReadonlyMap<string, DataOf<T>>): AsyncIterable<State<T>>;
};

/** Tells what changed, if the type is told: otherwise nothing is computed. */
export async function tellComputed<T extends NotificationType>(
  db: Db,
  { type, states }: Computed<T>,
  now: Date,
): Promise<void> {
  if (!(await isTold(db, type))) return;
  const stored = await knownBy(db, type);
  const known = new Map([...stored].map(([subject, data]) => [subject, JSON.parse(data) as DataOf<T>]));
  for await (const state of states(db, now, known)) {
    if ('told' in state) {
      const { told } = state;
      if (stored.get(subjectOf(type, told)) === JSON.stringify(told)) continue;
      await transact(db, (trx) => notifyOnce(trx, type, told, now.toISOString()));
    } else if (stored.has(state.subject)) {
      await transact(db, async (trx) => {
        // Another sidecar may have told it.
        if ((await forget(trx, state.subject, type)) && state.ended !== null)
          await notify(trx, type, state.ended, now.toISOString());
      });
    }
  }
}
