/** Follows deliveries, which `events list --follow` prints. */
import type { ResultOf } from '../api/operation.ts';
import type { listEventDeliveries } from '../api/operations/event-deliveries.ts';

type Deliveries = ResultOf<typeof listEventDeliveries>;
type Followed = Pick<Deliveries, 'data' | 'refused' | 'has_more'>;

/**
 * Returns a function that returns the deliveries since its last call, at first since now, each once. `refused`: the number of
 * requests since the last call. `read` gets the deliveries after a cursor.
 */
export async function createFollower(
  read: (cursor?: string) => Promise<Deliveries>,
): Promise<() => Promise<Followed>> {
  let last = await read();
  let before = last;
  return async () => {
    const page = await read(last.next_cursor);
    const known = new Set([...before.data, ...last.data].map(({ id }) => id));
    const counts = new Map(last.refused.map(({ cause, refused }) => [cause, refused]));
    [before, last] = [last, page];
    return {
      data: page.data.filter(({ id }) => !known.has(id)),
      has_more: page.has_more,
      refused: page.refused.flatMap((counted) => {
        const refused = counted.refused - (counts.get(counted.cause) ?? 0);
        return refused > 0 ? [{ ...counted, refused }] : [];
      }),
    };
  };
}
