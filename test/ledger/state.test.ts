import t, { type Test } from 'tap';
import { foldVersions, type Version } from '../../src/ledger/fold.ts';
import { appliesOn, erasedStarts, knownAt, latestOf, stateOn, timelineOf } from '../../src/ledger/state.ts';
import { incoming } from './incoming.ts';

/**
 * Versions of one deduction in the given order, such as `100 from 2026-01-01 to 2026-01-31`. Each is sent a day after its
 * predecessor, or `at` a time, and recorded immediately.
 */
function versions(...sent: string[]): Version[] {
  return sent.flatMap((text, index) => {
    const [amount = '', ...words] = text.split(' ');
    const {
      from = null,
      to = null,
      at = '',
    } = Object.fromEntries(
      words.flatMap((word, place) => (place % 2 === 0 ? [[word, words[place + 1]]] : [])),
    );
    const day = `2026-02-${String(index + 1).padStart(2, '0')}`;
    const event = incoming(`e${index}`, at || `${day}T08:00:00Z`, {
      member_contribution: amount,
      effective_start: from,
      effective_end: to,
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

function assertStates(t: Test, known: Version[], expected: string, name: string): void {
  const days = expected.split(', ').map((line) => line.slice(0, 10));
  t.equal(days.map((day) => `${day} ${stateText(known, day)}`).join(', '), expected, name);
}

/** The versions → the amount of the latest one: the states on days. */
const STATES = {
  'without dates a deduction is in effect on any day': '1 → 1: 0001-01-01 1, 2026-03-01 1, 9999-12-31 1',
  'both ends are inclusive':
    '1 from 2026-03-01T00:00:00Z to 2026-03-31T00:00:00Z → 1: 2026-02-28 -, 2026-03-01 1, 2026-03-31 1, 2026-04-01 (1)',
  'one day only': '1 from 2026-03-01 to 2026-03-01 → 1: 2026-02-28 -, 2026-03-01 1, 2026-03-02 (1)',
  'a day is the date part as written, whatever the time and the offset':
    '1 from 2026-03-01T23:59:59-11:00 to 2026-03-31T00:00:00+14:00 → 1: 2026-02-28 -, 2026-03-01 1, 2026-03-31 1, 2026-04-01 (1)',
  'a change sent today that starts next month does not erase this month':
    '100 from 2026-01-01, 120 from 2026-04-01 → 120: 2025-12-31 -, 2026-03-31 100, 2026-04-01 120',
  'a change that starts in the past applies from its start':
    '100 from 2026-02-01, 120 from 2026-01-01 → 120: 2025-12-31 -, 2026-01-01 120, 2026-02-01 120',
  'an end date ends an open deduction':
    '100 from 2026-01-01, 100 from 2026-01-01 to 2026-02-28 → 100: 2026-01-01 100, 2026-02-28 100, 2026-03-01 (100)',
  'an ended state is not replaced by an older one that is still open':
    '100 from 2026-01-01, 120 from 2026-02-01 to 2026-02-28 → 120: 2026-01-31 100, 2026-02-28 120, 2026-03-01 (120)',
  'an end before its start is never effective':
    '1 from 2026-03-31 to 2026-03-01 → 1: 2026-02-28 -, 2026-03-01 -, 2026-03-15 -, 2026-03-31 (1), 2026-04-01 (1)',
  'before a moved start the older state applies':
    '100 from 2026-01-01, 100.00 from 2026-03-01 → 100.00: 2026-01-01 100, 2026-02-28 100, 2026-03-01 100.00',
  'a version without a start always applies, if it is the latest':
    '100 from 2026-01-01, 120 → 120: 2025-12-31 120, 2026-01-01 120',
  'a late version does not override a newer one':
    '100 at 2026-02-10T00:00:00Z, 80 at 2026-02-09T00:00:00Z → 100: 2026-03-01 100',
  'a late version applies before a newer one starts':
    '100 from 2026-03-01 at 2026-02-10T00:00:00Z, 80 from 2026-01-01 at 2026-02-09T00:00:00Z → 100: 2025-12-31 -, 2026-02-28 80, 2026-03-01 100',
  'of two versions with the same time the later received applies':
    '1 at 2026-02-10T00:00:00Z, 2 at 2026-02-10T00:00:00Z → 2: 2026-03-01 2',
};

t.test('the state of a deduction on a day follows the rules', async (t) => {
  for (const [rule, text] of Object.entries(STATES)) {
    const [sent = '', latest = '', on = ''] = text.split(/ → |(?<=→ \S+): /);
    const known = versions(...sent.split(', '));
    assertStates(t, known, on, rule);
    t.equal(latestOf(known)?.member_contribution, latest, `${rule}: latest`);
    assertStates(t, known.toReversed(), on, `${rule}: in any order`);
  }
  t.equal(latestOf([]), null);
  t.equal(stateOn([], '2026-03-01'), null);
});

t.test('the state known at a time uses the versions recorded by then', async (t) => {
  const known = versions(
    '100 from 2026-01-01',
    '120 from 2026-01-01',
    '80 from 2026-01-01 at 2026-01-15T00:00:00Z',
    '140 from 2026-04-01',
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
});

/** Corrected starts: versions sent on the first days of February 2026, those corrected or moved → the states. */
const MOVED = {
  'a start moved before it began, with the same contents, never applies':
    '50, 60 from 2026-07-01, 60.00 from 2026-08-01; corrected 2 → 2026-07-01 50, 2026-07-31 50, 2026-08-01 60.00',
  'a start moved with other contents leaves the first version until the new start':
    '50, 60 from 2026-07-01, 70 from 2026-08-01; moved 2 → 2026-06-30 50, 2026-07-01 60, 2026-07-31 60, 2026-08-01 70',
  'a change sent on or after the first start is not a correction':
    '60 from 2026-02-01, 60 from 2026-08-01 at 2026-02-01T08:00:00Z → 2026-07-31 60, 2026-08-01 60',
  'two separate windows are a renewal':
    '60 from 2026-07-01 to 2026-07-31, 60 from 2026-08-01 → 2026-07-31 60, 2026-08-01 60',
  'a version without a start has begun': '60, 60 from 2026-08-01 → 2026-07-31 60',
  'a correction that ends before it starts has no effect':
    '60 from 2026-07-01, 60 from 2026-08-01 to 2026-07-01 → 2026-07-31 60',
  'a version replaced by a dropped one does not apply again':
    '55 from 2026-07-10, 60 from 2026-07-01, 60 from 2026-08-01; corrected 2 → 2026-07-05 -, 2026-07-10 -, 2026-08-01 60',
  'a start sent twice before it was moved never applies':
    '50, 60 from 2026-07-01, 60 from 2026-07-01, 60 from 2026-08-01; corrected 3 → 2026-07-01 50, 2026-08-01 60',
  'a start moved twice drops both versions':
    '60 from 2026-07-01, 60 from 2026-08-01, 60 from 2026-09-01; corrected 1 2 → 2026-07-01 -, 2026-08-31 -, 2026-09-01 60',
};

t.test('a start that is corrected before it begins does not apply', async (t) => {
  for (const [rule, text] of Object.entries(MOVED)) {
    const [given = '', on = ''] = text.split(' → ');
    const [sent = '', ...facts] = given.split('; ');
    const known = versions(...sent.split(', '));
    const timeline = timelineOf(known);
    for (const word of ['corrected', 'moved'] as const) {
      const places = timeline[word].map(({ version }) => known.indexOf(version) + 1);
      const expected = facts.find((fact) => fact.startsWith(word)) ?? word;
      t.equal([word, ...places].join(' '), expected, rule);
    }
    assertStates(t, [...timeline.counting], on, rule);
  }
});

/** Versions sent on the first days of February 2026 → the erased ones, each with the version that erased it. */
const ERASED = {
  'a correction of the window before erases a renewal':
    '60 from 2025-01-01, 70 from 2027-01-01, 65 from 2025-01-01 to 2026-12-31 → 2 by 3',
  'a renewal that was sent again is not erased':
    '60 from 2025-01-01, 70 from 2027-01-01, 65 from 2025-01-01 to 2026-12-31, 70 from 2027-01-01 → ',
  'of a renewal that was changed the latest version is erased':
    '70 from 2027-01-01, 75 from 2027-01-01, 65 from 2025-01-01 to 2026-12-31 → 2 by 3',
  'a correction without an end, or with an end on the start, replaces the renewal':
    '70 from 2027-01-01, 65 from 2025-01-01 → ; 70 from 2027-01-01, 65 from 2025-01-01 to 2027-01-01 → ',
  'a version that had begun was ended':
    '70 from 2026-02-01, 65 from 2025-01-01 to 2025-12-31 at 2026-02-01T08:00:00Z → ',
  'a version that was never in effect is no renewal':
    '70 from 2027-01-01 to 2026-12-31, 65 from 2025-01-01 to 2026-12-31 → ',
};

t.test('a renewal that a later change of the window before left in effect on no day is erased', async (t) => {
  for (const [rule, texts] of Object.entries(ERASED))
    for (const text of texts.split('; ')) {
      const [sent = '', expected] = text.split(' → ');
      const known = versions(...sent.split(', '));
      const place = (version: Version) => known.indexOf(version) + 1;
      const erased = erasedStarts(known).map(({ version, by }) => `${place(version)} by ${place(by)}`);
      t.equal(erased.join(), expected, rule);
    }
});
