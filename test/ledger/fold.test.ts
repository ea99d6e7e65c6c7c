import { deepStrictEqual } from 'node:assert/strict';
import t from 'tap';
import { foldVersions, type LatestState, type VersionContent } from '../../src/ledger/fold.ts';
import fc from '../support/seeded.ts';
import { incoming, RECEIVED } from './incoming.ts';
import { expectedLatest, expectedVersions, someEvents } from './model.ts';

const EARLY = '2026-03-01T11:00:00Z';
const TIME = '2026-03-01T12:00:00Z';
const LATER = '2026-03-01T13:00:00Z';
const NOTHING: [ReadonlyMap<string, LatestState>, ReadonlyMap<string, VersionContent>] = [
  new Map(),
  new Map(),
];

/** Folds events into an empty ledger, with positions from 1. */
function fold(...events: Parameters<typeof foldVersions>[0]) {
  return foldVersions(events, ...NOTHING, 0, RECEIVED);
}

t.test('a first version keeps texts as sent and the date parts as written', async (t) => {
  const { versions, states } = fold(
    incoming('e1', '2026-03-01T07:00:00.5-05:00', {
      member_contribution: '0150.0',
      employer_contribution: '-0',
      effective_start: '2026-04-01T23:59:59-11:00',
      effective_end: '2026-12-31',
      description: ' two  blanks ',
    }),
  );
  t.strictSame(versions, [
    {
      ...{ deduction_id: 'ded-1', employee_id: 'emp-1', line_of_coverage: 'medical', coverage_type: null },
      ...{ member_contribution: '0150.0', employer_contribution: '-0', period: 'monthly' },
      ...{ taxability: 'pre_tax', description: ' two  blanks ' },
      ...{ effective_start: '2026-04-01T23:59:59-11:00', effective_end: '2026-12-31' },
      ...{ starts_on: '2026-04-01', ends_on: '2026-12-31' },
      ...{ position: 1, version: 1, previous_position: null, event_id: 'e1', recorded_at: RECEIVED },
      ...{ created_at: '2026-03-01T07:00:00.5-05:00', event_time: '2026-03-01T12:00:00.500000000Z' },
      ...{ ordered_by: 'created_at', late: 0, tie_changed: 0, future_dated: 0, moved: 0 },
    },
  ]);
  const latest = [...states.values()];
  t.match(latest, [{ position: 1, employee_id: 'emp-1', version_count: 1, last_received_position: 1 }]);
});

/** Events with their marks, in order of receipt → the amount of the latest state. */
const ORDERS = {
  'a newer event replaces an older one': '1 at TIME, 2 at LATER → 2',
  'an older event never overwrites a newer one, and is stored as a late version':
    '2 at LATER, 1 at TIME late, 0 at EARLY late → 2',
  'of two events with the same time the later received wins, and a change is marked':
    '1 at TIME, 2 at TIME tie changed → 2',
  'a tie with equal contents is marked as unchanged': '1 at TIME, 1 at TIME tie → 1',
  'equal amounts in different texts are a change': '1 at TIME, 1.0 at TIME tie changed → 1.0',
  'one instant written in two ways is a tie': '1 at TIME, 2 at 2026-03-01T23:00:00.0+11:00 tie changed → 2',
  'one nanosecond decides the order':
    '2 at 2026-03-01T12:00:00.000000002Z, 3 at 2026-03-01T12:00:00.000000003Z, 1 at TIME late → 3',
  'a late event may tie with an older version': '1 at TIME, 3 at LATER, 2 at TIME tie late changed → 3',
  'a tie is compared with the latest version at its time, not with the first':
    '1 at TIME, 2 at TIME tie changed, 2 at TIME tie → 2',
  'without created_at the time of receipt decides':
    '1 at EARLY, 2 at none receipt, 3 at TIME tie changed, 4 at EARLY tie late changed → 3',
};
const TIMES: Record<string, string | null> = { EARLY, TIME, LATER, none: null };

t.test('the versions of a deduction follow the rules', async (t) => {
  for (const [rule, text] of Object.entries(ORDERS)) {
    const [sent = '', latest = ''] = text.split(' → ');
    const events = sent.split(', ').map((event) => event.split(' ')) as [
      string,
      string,
      string,
      ...string[],
    ][];
    const { versions, states } = fold(
      ...events.map(([amount, , at], index) =>
        incoming(`e${index}`, TIMES[at] === undefined ? at : TIMES[at], { member_contribution: amount }),
      ),
    );
    for (const [index, { ordered_by, late, tie_changed }] of versions.entries()) {
      const order = ordered_by !== 'created_at' && ordered_by;
      const marks = [order, late === 1 && 'late', tie_changed === 1 && 'changed'].filter(Boolean);
      t.strictSame(marks, events[index]?.slice(3), `${rule}: event ${index + 1}`);
    }
    const state = states.get('ded-1') as LatestState;
    t.equal(versions.find(({ position }) => position === state.position)?.member_contribution, latest, rule);
    t.strictSame([state.version_count, state.last_received_position], [events.length, events.length], rule);
  }
});

t.test('an event more than five minutes after its receipt is marked future-dated', async (t) => {
  const isMarked = (createdAt: string | null) => fold(incoming('e1', createdAt)).versions[0]?.future_dated;
  for (const createdAt of [
    '2026-03-01T12:05:00.000000001Z',
    '2026-03-01T12:05:00-01:00',
    '9999-12-31T23:59:59Z',
  ])
    t.equal(isMarked(createdAt), 1, createdAt);
  for (const createdAt of ['2026-03-01T12:05:00Z', '2026-03-01T11:05:00-01:00', EARLY, null])
    t.equal(isMarked(createdAt), 0, String(createdAt));
});

t.test('a created_at before 2000 counts as absent', async (t) => {
  const orderOf = (createdAt: string) => {
    const { ordered_by, event_time, created_at, future_dated } = fold(incoming('e1', createdAt)).versions[0]!;
    t.equal(created_at, createdAt, 'the text is kept');
    return [ordered_by, event_time.slice(0, 19), future_dated];
  };
  const receipt = ['receipt', RECEIVED.slice(0, 19), 0];
  for (const createdAt of [
    '0001-01-01T00:00:00Z',
    '0001-01-01T00:00:00+14:00',
    '1900-01-01 00:00',
    '1970-01-01T00:00:00.000Z',
    '1999-12-31T23:59:59.999999999Z',
    '2000-01-01T00:59:59+01:00',
  ])
    t.strictSame(orderOf(createdAt), receipt, createdAt);
  for (const createdAt of ['2000-01-01T00:00:00Z', '1999-12-31T23:00:00-01:00'])
    t.strictSame(orderOf(createdAt), ['created_at', '2000-01-01T00:00:00', 0], createdAt);
});

t.test('an event without a valid time throws', async (t) => {
  t.throws(() => fold(incoming('e1', 'yesterday')), { message: /without an instant/ });
});

t.test('events in any order are marked as in a simple model', async (t) => {
  const property = fc.property(
    someEvents(() => ''),
    (events) => {
      const { versions, states } = fold(...events);
      const marked = versions.map(
        ({ event_id, version, previous_position, ordered_by, late, tie_changed }) => ({
          event_id,
          version,
          previous_position: previous_position == null ? null : previous_position - 1,
          ordered_by,
          late,
          tie_changed,
        }),
      );
      deepStrictEqual(marked, expectedVersions(events));
      const latest = new Map([...states].map(([id, state]) => [id, state.position - 1]));
      deepStrictEqual(latest, expectedLatest(events));
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300 }));
});
