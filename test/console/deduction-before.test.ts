import t from 'tap';
import type { Version } from '../../src/console/pages/ledger/versions.ts';
import { previousVersion } from '../../src/console/pages/ledger/versions.ts';

const version = (number: number, day: number, late = false) =>
  ({ version: number, event_time: `2026-01-0${day}T00:00:00.000000000Z`, late }) as Version;
const [first, second, third] = [version(1, 1), version(2, 3), version(3, 5)];
const late = version(4, 4, true);
const older = [third, second, first];

t.test(
  'a late version is compared with the one before it in time, not the one recorded before it',
  async (t) => {
    t.equal(previousVersion(late, older, true), second);
    t.equal(previousVersion(version(5, 3, true), older, true), second, 'of one instant the later recorded');
  },
);

t.test('a version after a late one is compared with the latest', async (t) => {
  t.equal(previousVersion(version(5, 6), [late, ...older], true), third);
  t.equal(previousVersion(version(5, 6), [late, third], false), third, 'whatever else there is');
});

t.test('the previous version is unknown when it was not read', async (t) => {
  t.equal(previousVersion(first, [], true), null);
  t.equal(previousVersion(late, older, false), 'unknown');
  t.equal(previousVersion(version(5, 6), [late], false), 'unknown');
  t.equal(previousVersion(version(4, 1, true), [version(1, 2)], true), null, 'older than all');
});
