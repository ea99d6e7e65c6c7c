import type { Sealer } from '../security/encryption.ts';
import { CHANGE_KINDS } from './manual.ts';
import { placeOf } from './queue.ts';
import type { Patience, Sender, Senders } from './sender.ts';

/** A change is a few hundred bytes: a service that needs longer is in trouble, and the request comes again. */
const PATIENCE: Patience = { silenceMs: 30_000, wholeMs: 60_000 };

/** Sends the four employment changes: the path by the kind, the body as it was accepted. */
export function createChangeSenders(sealer: Sealer): Senders {
  const sender: Sender = {
    async prepare(claim) {
      const reason = 'has no body';
      if (claim.body === null) {
        return { kind: 'not-now', settle: async () => ({ outcome: 'cancelled', reason }) };
      }
      return {
        kind: 'post',
        path: ['employee-changes', claim.kind],
        idempotencyKey: claim.requestId,
        body: sealer.open(claim.body, placeOf(claim.requestId, 'body')),
        patience: PATIENCE,
      };
    },
  };
  return Object.fromEntries(CHANGE_KINDS.map((kind) => [kind, sender]));
}
