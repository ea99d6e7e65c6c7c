import t from 'tap';
import { foldVersions, type Version } from '../../src/ledger/fold.ts';
import { appliesOn, knownAt, latestOf, stateOn, timelineOf } from '../../src/ledger/state.ts';
import { incoming } from './incoming.ts';

type Sent = { amount: string; start?: string; end?: string; at?: string };

/**
 * Versions of one deduction in the given order, each sent a day after the one before and recorded
 * immediately.
 */
function versions(...sent: Sent[]): Version[] {
  return sent.flatMap(({ amount, start, end, at = '' }, index) => {
    const day = `2026-02-${String(index + 1).padStart(2, '0')}`;
    const event = incoming(`e${index}`, at || `${day}T08:00:00Z`, {
      member_contribution: amount,
      effective_start: start ?? null,
      effective_end: end ?? null,
    });
    const recordedAt = `${day}T08:00:01.000Z`;
    return foldVersions([event], new Map(), new Map(), index, recordedAt).versions as Version[];
  });
}

/** The amount in effect on a day: '-' when no state has begun, `(amount)` when the state has ended. */
function stateText(known: Version[], day: string): string {
  const state = stateOn(known, day);
  if (state === null) return '-';
  return appliesOn(state, day) ? state.member_contribution : `(${state.member_contribution})`;
}

/** The examples in "State of a deduction on a day" of payroll.md. */
const examples: { name: string; sent: Sent[]; on: Record<string, string>; latest: string }[] = [
  {
    name: 'without dates a deduction is in effect on any day',
    sent: [{ amount: '1' }],
    on: { '0001-01-01': '1', '2026-03-01': '1', '9999-12-31': '1' },
    latest: '1',
  },
  {
    name: 'both ends are inclusive',
    sent: [{ amount: '1', start: '2026-03-01T00:00:00Z', end: '2026-03-31T00:00:00Z' }],
    on: { '2026-02-28': '-', '2026-03-01': '1', '2026-03-31': '1', '2026-04-01': '(1)' },
    latest: '1',
  },
  {
    name: 'one day only',
    sent: [{ amount: '1', start: '2026-03-01', end: '2026-03-01' }],
    on: { '2026-02-28': '-', '2026-03-01': '1', '2026-03-02': '(1)' },
    latest: '1',
  },
  {
    name: 'a day is the date part as written, whatever the time and the offset',
    sent: [{ amount: '1', start: '2026-03-01T23:59:59-11:00', end: '2026-03-31T00:00:00+14:00' }],
    on: { '2026-02-28': '-', '2026-03-01': '1', '2026-03-31': '1', '2026-04-01': '(1)' },
    latest: '1',
  },
  {
    name: 'a change sent today that starts next month does not erase this month',
    sent: [
      { amount: '100', start: '2026-01-01' },
      { amount: '120', start: '2026-04-01' },
    ],
    on: { '2025-12-31': '-', '2026-03-31': '100', '2026-04-01': '120' },
    latest: '120',
  },
  {
    name: 'a change that starts in the past applies from its start',
    sent: [
      { amount: '100', start: '2026-02-01' },
      { amount: '120', start: '2026-01-01' },
    ],
    on: { '2025-12-31': '-', '2026-01-01': '120', '2026-02-01': '120' },
    latest: '120',
  },
  {
    name: 'an end date ends an open deduction',
    sent: [
      { amount: '100', start: '2026-01-01' },
      { amount: '100', start: '2026-01-01', end: '2026-02-28' },
    ],
    on: { '2026-01-01': '100', '2026-02-28': '100', '2026-03-01': '(100)' },
    latest: '100',
  },
  {
    name: 'an ended state is not replaced by an older one that is still open',
    sent: [
      { amount: '100', start: '2026-01-01' },
      { amount: '120', start: '2026-02-01', end: '2026-02-28' },
    ],
    on: { '2026-01-31': '100', '2026-02-28': '120', '2026-03-01': '(120)' },
    latest: '120',
  },
  {
    name: 'an end before its start is never effective',
    sent: [{ amount: '1', start: '2026-03-31', end: '2026-03-01' }],
    on: { '2026-02-28': '-', '2026-03-01': '-', '2026-03-15': '-', '2026-03-31': '(1)', '2026-04-01': '(1)' },
    latest: '1',
  },
  {
    name: 'before a moved start the older state applies',
    sent: [
      { amount: '100', start: '2026-01-01' },
      { amount: '100.00', start: '2026-03-01' },
    ],
    on: { '2026-01-01': '100', '2026-02-28': '100', '2026-03-01': '100.00' },
    latest: '100.00',
  },
  {
    name: 'a version without a start always applies, if it is the latest',
    sent: [{ amount: '100', start: '2026-01-01' }, { amount: '120' }],
    on: { '2025-12-31': '120', '2026-01-01': '120' },
    latest: '120',
  },
  {
    name: 'a late version does not override a newer one',
    sent: [
      { amount: '100', at: '2026-02-10T00:00:00Z' },
      { amount: '80', at: '2026-02-09T00:00:00Z' },
    ],
    on: { '2026-03-01': '100' },
    latest: '100',
  },
  {
    name: 'a late version applies before a newer one starts',
    sent: [
      { amount: '100', start: '2026-03-01', at: '2026-02-10T00:00:00Z' },
      { amount: '80', start: '2026-01-01', at: '2026-02-09T00:00:00Z' },
    ],
    on: { '2025-12-31': '-', '2026-02-28': '80', '2026-03-01': '100' },
    latest: '100',
  },
  {
    name: 'of two versions with the same time the later received applies',
    sent: [
      { amount: '1', at: '2026-02-10T00:00:00Z' },
      { amount: '2', at: '2026-02-10T00:00:00Z' },
    ],
    on: { '2026-03-01': '2' },
    latest: '2',
  },
];

t.test('the state of a deduction on a day follows the rules', (t) => {
  for (const { name, sent, on, latest } of examples) {
    const known = versions(...sent);
    for (const [day, expected] of Object.entries(on))
      t.equal(stateText(known, day), expected, `${name}: ${day}`);
    t.equal(latestOf(known)?.member_contribution, latest, `${name}: latest`);
    const reversed = known.toReversed();
    for (const [day, expected] of Object.entries(on))
      t.equal(stateText(reversed, day), expected, 'in any order');
  }
  t.equal(latestOf([]), null);
  t.equal(stateOn([], '2026-03-01'), null);
  t.end();
});

t.test('a state that applies differs from one that ended or has not begun', (t) => {
  const [version] = versions({ amount: '1', start: '2026-03-01', end: '2026-03-31' }) as [Version];
  const days = { '2026-02-28': false, '2026-03-01': true, '2026-03-31': true, '2026-04-01': false };
  for (const [day, applies] of Object.entries(days)) t.equal(appliesOn(version, day), applies, day);
  const [inverted] = versions({ amount: '1', start: '2026-03-31', end: '2026-03-01' }) as [Version];
  for (const day of ['2026-03-01', '2026-03-15', '2026-03-31']) t.equal(appliesOn(inverted, day), false, day);
  t.end();
});

t.test('the state known at a time uses the versions recorded by then', (t) => {
  const known = versions(
    { amount: '100', start: '2026-01-01' },
    { amount: '120', start: '2026-01-01' },
    { amount: '80', start: '2026-01-01', at: '2026-01-15T00:00:00Z' },
    { amount: '140', start: '2026-04-01' },
  );
  const amounts: [instant: string, inMarch: string, latest: string | undefined][] = [
    ['2026-02-01T08:00:00.999Z', '-', undefined],
    ['2026-02-01T08:00:01.000Z', '100', '100'],
    ['2026-02-02T08:00:00.999Z', '100', '100'],
    ['2026-02-02T08:00:01.000Z', '120', '120'],
    ['2026-02-03T08:00:01.000Z', '120', '120'],
    ['2026-02-04T08:00:01.000Z', '120', '140'],
  ];
  for (const [instant, inMarch, latest] of amounts) {
    const then = knownAt(known, instant);
    t.equal(stateText(then, '2026-03-15'), inMarch, instant);
    t.equal(latestOf(then)?.member_contribution, latest, instant);
  }
  t.end();
});

type MovedCase = {
  name: string;
  sent: Sent[];
  decisions?: [version: number, decision: 'keep' | 'drop'][];
  corrected?: number[];
  undecided?: number[];
  on: Record<string, string>;
};

/** Tests "Corrected starts" of payroll.md. Versions are sent on the first days of February 2026. */
const moved: MovedCase[] = [
  {
    name: 'a start moved before it began, with the same contents, never applies',
    sent: [{ amount: '50' }, { amount: '60', start: '2026-07-01' }, { amount: '60.00', start: '2026-08-01' }],
    corrected: [2],
    on: { '2026-07-01': '50', '2026-07-31': '50', '2026-08-01': '60.00' },
  },
  {
    name: 'with other contents the first version applies until an operator decides',
    sent: [{ amount: '50' }, { amount: '60', start: '2026-07-01' }, { amount: '70', start: '2026-08-01' }],
    undecided: [2],
    on: { '2026-07-01': '60', '2026-08-01': '70' },
  },
  {
    name: 'a dropped version never applies',
    sent: [{ amount: '50' }, { amount: '60', start: '2026-07-01' }, { amount: '70', start: '2026-08-01' }],
    decisions: [
      [2, 'keep'],
      [2, 'drop'],
    ],
    corrected: [2],
    on: { '2026-07-01': '50', '2026-08-01': '70' },
  },
  {
    name: 'a kept version applies',
    sent: [
      { amount: '60', start: '2026-07-01' },
      { amount: '70', start: '2026-08-01' },
    ],
    decisions: [[1, 'keep']],
    on: { '2026-07-01': '60', '2026-08-01': '70' },
  },
  {
    name: 'a change sent on or after the first start is not a correction',
    sent: [
      { amount: '60', start: '2026-02-01' },
      { amount: '60', start: '2026-08-01', at: '2026-02-01T08:00:00Z' },
    ],
    on: { '2026-07-31': '60', '2026-08-01': '60' },
  },
  {
    name: 'two separate windows are a renewal',
    sent: [
      { amount: '60', start: '2026-07-01', end: '2026-07-31' },
      { amount: '70', start: '2026-08-01' },
    ],
    on: { '2026-07-31': '60', '2026-08-01': '70' },
  },
  {
    name: 'a version without a start has begun',
    sent: [{ amount: '60' }, { amount: '60', start: '2026-08-01' }],
    on: { '2026-07-31': '60' },
  },
  {
    name: 'a correction that ends before it starts has no effect',
    sent: [
      { amount: '60', start: '2026-07-01' },
      { amount: '60', start: '2026-08-01', end: '2026-07-01' },
    ],
    on: { '2026-07-31': '60' },
  },
  {
    name: 'a version replaced by a dropped one does not apply again',
    sent: [
      { amount: '55', start: '2026-07-10' },
      { amount: '60', start: '2026-07-01' },
      { amount: '60', start: '2026-08-01' },
    ],
    corrected: [2],
    on: { '2026-07-05': '-', '2026-07-10': '-', '2026-08-01': '60' },
  },
  {
    name: 'a start sent twice before it was moved never applies',
    sent: [
      { amount: '50' },
      { amount: '60', start: '2026-07-01' },
      { amount: '60', start: '2026-07-01' },
      { amount: '60', start: '2026-08-01' },
    ],
    corrected: [3],
    on: { '2026-07-01': '50', '2026-08-01': '60' },
  },
  {
    name: 'a start moved twice drops both versions',
    sent: [
      { amount: '60', start: '2026-07-01' },
      { amount: '60', start: '2026-08-01' },
      { amount: '60', start: '2026-09-01' },
    ],
    corrected: [1, 2],
    on: { '2026-07-01': '-', '2026-08-31': '-', '2026-09-01': '60' },
  },
];

t.test('a start that is corrected before it begins does not apply', (t) => {
  for (const { name, sent, decisions = [], corrected = [], undecided = [], on } of moved) {
    const known = versions(...sent);
    const timeline = timelineOf(
      known,
      decisions.map(([version, decision], index) => ({
        position: 100 + index,
        version_position: known[version - 1]?.position as number,
        decision,
        recorded_at: '2026-03-01T00:00:00.000Z',
      })),
    );
    const placesOf = (pairs: readonly { version: Version }[]) =>
      pairs.map(({ version }) => known.indexOf(version) + 1);
    t.strictSame(placesOf(timeline.corrected), corrected, `${name}: corrected`);
    t.strictSame(placesOf(timeline.undecided), undecided, `${name}: undecided`);
    for (const [day, expected] of Object.entries(on))
      t.equal(stateText([...timeline.counting], day), expected, `${name}: ${day}`);
  }
  t.end();
});
