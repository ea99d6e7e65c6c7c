import type { Trx } from '../database/tables.ts';
import { closeGate, openGate, probeFailed, reserveProbe } from './circuit-breaker.ts';

/** What an attempt says about the gate. `answered`: null when the service was asked nothing. */
export type Said = {
  readonly probe: boolean;
  readonly closes: boolean;
  readonly answered: boolean | null;
  readonly reason: string;
};

/**
 * Moves the gate by what attempts say, in their order; answers what each of them did to it. Comes last in a
 * transaction's locks (docs/architecture.md).
 */
export async function tellGate(
  trx: Trx,
  all: readonly Said[],
  now: Date,
): Promise<('opened' | 'closed' | null)[]> {
  const moves: ('opened' | 'closed' | null)[] = [];
  /** Whether it is known to be open: then most answers need no statement. */
  let isOpen = false;
  for (const { probe, closes, answered, reason } of all) {
    if (closes) {
      if (probe) await probeFailed(trx, now);
      moves.push((await closeGate(trx, reason, now)) ? 'closed' : null);
      isOpen = false;
    } else if (answered) {
      moves.push(!isOpen && (await openGate(trx)) ? 'opened' : null);
      isOpen = true;
    } else {
      if (probe && answered === false) await probeFailed(trx, now);
      // It asked the service nothing: another request may probe at once.
      if (probe && answered === null) await reserveProbe(trx, now);
      moves.push(null);
    }
  }
  return moves;
}
