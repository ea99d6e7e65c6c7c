/** The ledger's rules in their plainest form: each event looks at all before it. What the real fold is held to. */
import fc from 'fast-check';
import { toInstant } from '../../src/contract/instant.ts';
import type { IncomingDeduction, Version } from '../../src/ledger/fold.ts';
import { incoming } from './incoming.ts';

/** Shown in the test's output and taken from the environment, so that a failure can be made again. */
export const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31);

export type Expected = Pick<Version, 'event_id' | 'version' | 'decided_by' | 'late' | 'tie_changed'> & {
  /** Where the version before it stands among the events, or null. */
  previous: number | null;
};

export function timeOf({ createdAt, receivedAt }: IncomingDeduction): string {
  return toInstant(createdAt ?? receivedAt) as string;
}

/** What each event's version must be, in order. */
export function expectedVersions(events: readonly IncomingDeduction[]): Expected[] {
  return events.map((event, index) => {
    const same = (other: IncomingDeduction) => other.deduction.id === event.deduction.id;
    const before = events.slice(0, index).filter(same);
    const rival = before.findLast((other) => timeOf(other) === timeOf(event));
    const isTie = event.createdAt !== null && rival !== undefined;
    return {
      event_id: event.eventId,
      version: before.length + 1,
      previous: before.length === 0 ? null : events.findLastIndex((other, at) => at < index && same(other)),
      decided_by: event.createdAt === null ? 'receipt' : isTie ? 'tie' : 'created_at',
      late: before.some((other) => timeOf(other) > timeOf(event)) ? 1 : 0,
      tie_changed: isTie && JSON.stringify(rival.deduction) !== JSON.stringify(event.deduction) ? 1 : 0,
    };
  });
}

/** Where the latest state of each deduction stands among the events. */
export function expectedLatest(events: readonly IncomingDeduction[]): Map<string, number> {
  const latest = new Map<string, number>();
  events.forEach((event, index) => {
    const at = latest.get(event.deduction.id);
    const standing = at === undefined ? undefined : events[at];
    if (standing === undefined || timeOf(event) >= timeOf(standing)) latest.set(event.deduction.id, index);
  });
  return latest;
}

/** One instant in several spellings, another 1 ns later, and others: ties and late ones are frequent. */
const createdAt = fc.constantFrom(
  null,
  '2026-03-01T12:00:00Z',
  '2026-03-01T12:00:00.000Z',
  '2026-03-01T07:00:00-05:00',
  '2026-03-01T12:00:00.000000001Z',
  '2026-03-01T11:59:59Z',
  '2026-03-02T00:00:00+14:00',
  '2026-02-28T23:59:59Z',
);

/** Some events of few deductions, in order of receipt; `prefix` keeps apart what shares a database. */
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

/** Cuts a list into pieces at some places. */
export function cut<E>(list: readonly E[], places: readonly number[]): E[][] {
  const ends = [...new Set(places.map((place) => place % list.length))].sort((a, b) => a - b);
  return [...ends, list.length].map((end, index) => list.slice(index === 0 ? 0 : ends[index - 1], end));
}
