import t from 'tap';
import type { Version } from '../../src/console/pages/ledger/versions.ts';
import { versionBefore } from '../../src/console/pages/ledger/versions.ts';

const version = (number: number, day: number, late = false) =>
  ({ version: number, event_time: `2026-01-0${day}T00:00:00.000000000Z`, late }) as Version;
const [first, second, third] = [version(1, 1), version(2, 3), version(3, 5)];
const late = version(4, 4, true);
const older = [third, second, first];

t.test(
  'a late version follows the one before it in time, not the one that was recorded before it',
  async (t) => {
    t.equal(versionBefore(late, older, true), second);
    t.equal(versionBefore(version(5, 3, true), older, true), second, 'of one instant the later recorded');
  },
);

t.test('after a late version the next one follows the latest', async (t) => {
  t.equal(versionBefore(version(5, 6), [late, ...older], true), third);
  t.equal(versionBefore(version(5, 6), [late, third], false), third, 'whatever else there is');
});

t.test('what was not read is not guessed', async (t) => {
  t.equal(versionBefore(first, [], true), null);
  t.equal(versionBefore(late, older, false), 'unknown');
  t.equal(versionBefore(version(5, 6), [late], false), 'unknown');
  t.equal(versionBefore(version(4, 1, true), [version(1, 2)], true), null, 'older than all');
});
