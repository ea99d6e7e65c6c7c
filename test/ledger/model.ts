/**
 * The ledger's rules in their simplest form, to compare the real fold with: each event looks at all events
 * before it.
 */
import { toInstant } from '../../src/contract/instant.ts';
import type { IncomingDeduction, Version } from '../../src/ledger/fold.ts';
import fc from '../support/seeded.ts';
import { incoming } from './incoming.ts';

type Expected = Pick<Version, 'event_id' | 'version' | 'ordered_by' | 'late' | 'tie_changed'> & {
  /** The index of the previous version's event, or null. */
  previous_position: number | null;
};

const isTimed = ({ createdAt }: IncomingDeduction) => createdAt !== null && createdAt >= '2000';

function timeOf(event: IncomingDeduction): string {
  return toInstant((isTimed(event) ? event.createdAt : event.receivedAt) as string) as string;
}

/** Returns the expected version of each event, in order. */
export function expectedVersions(events: readonly IncomingDeduction[]): Expected[] {
  return events.map((event, index) => {
    const same = (other: IncomingDeduction) => other.deduction.id === event.deduction.id;
    const before = events.slice(0, index).filter(same);
    const rival = before.findLast((other) => timeOf(other) === timeOf(event));
    const isTie = isTimed(event) && rival !== undefined;
    return {
      event_id: event.eventId,
      version: before.length + 1,
      previous_position:
        before.length === 0 ? null : events.findLastIndex((other, at) => at < index && same(other)),
      ordered_by: !isTimed(event) ? 'receipt' : isTie ? 'tie' : 'created_at',
      late: before.some((other) => timeOf(other) > timeOf(event)) ? 1 : 0,
      tie_changed: isTie && JSON.stringify(rival.deduction) !== JSON.stringify(event.deduction) ? 1 : 0,
    };
  });
}

/** Returns the index of the event with the latest state, by deduction. */
export function expectedLatest(events: readonly IncomingDeduction[]): Map<string, number> {
  const latest = new Map<string, number>();
  events.forEach((event, index) => {
    const at = latest.get(event.deduction.id);
    const standing = at === undefined ? undefined : events[at];
    if (standing === undefined || timeOf(event) >= timeOf(standing)) latest.set(event.deduction.id, index);
  });
  return latest;
}

/**
 * One instant written in several ways, another one 1 ns later, and others, so that ties and late events are
 * frequent.
 */
const createdAt = fc.constantFrom(
  null,
  '0001-01-01T00:00:00Z',
  '2026-03-01T12:00:00Z',
  '2026-03-01T12:00:00.000Z',
  '2026-03-01T07:00:00-05:00',
  '2026-03-01T12:00:00.000000001Z',
  '2026-03-01T11:59:59Z',
  '2026-03-02T00:00:00+14:00',
  '2026-02-28T23:59:59Z',
);

/** Events of a few deductions in order of receipt. `prefix` separates runs that share a database. */
export function someEvents(prefix: () => string): fc.Arbitrary<IncomingDeduction[]> {
  const event = fc.record({
    id: fc.constantFrom('a', 'b', 'c'),
    createdAt,
    receivedAt: fc.constantFrom('2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.001Z'),
    member_contribution: fc.constantFrom('1', '1.0', '2'),
    employee_id: fc.constantFrom('emp-1', 'emp-2'),
  });
  return fc.array(event, { minLength: 1, maxLength: 25 }).map((events) => {
    const of = prefix();
    return events.map(({ id, createdAt: time, receivedAt, ...changes }, index) =>
      incoming(`${of}${index}`, time, { id: `${of}${id}`, ...changes }, receivedAt),
    );
  });
}

export function cut<E>(list: readonly E[], places: readonly number[]): E[][] {
  const ends = [...new Set(places.map((place) => place % list.length))].sort((a, b) => a - b);
  return [...ends, list.length].map((end, index) => list.slice(index === 0 ? 0 : ends[index - 1], end));
}
