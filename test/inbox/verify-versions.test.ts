import { deepStrictEqual } from 'node:assert/strict';
import t from 'tap';
import { verifyVersions } from '../../src/inbox/verify-versions.ts';
import { readPosition } from '../../src/ledger/position.ts';
import { differencesOf } from '../support/differences.ts';
import { countingReads } from '../support/reads.ts';
import fc from '../support/seeded.ts';
import { type Body, startApplying } from './applying.ts';
import { deductionBody } from './bodies.ts';

const someEvents = fc.array(
  fc.record({
    id: fc.constantFrom('a', 'b', 'c'),
    second: fc.nat({ max: 20 }),
    member_contribution: fc.constantFrom('1', '2'),
  }),
  { minLength: 1, maxLength: 40 },
);

t.test('versions from events in any order are verified without reading their history', async (t) => {
  const { store, loop, db } = await startApplying(t);
  let runs = 0;
  const property = fc.asyncProperty(someEvents, async (events) => {
    const run = `run${runs++}`;
    const bodies = events.map(({ id, second, member_contribution }, index): Body => {
      const created_at = `2026-03-01T12:00:${String(second).padStart(2, '0')}Z`;
      return [`${run}-${index}`, deductionBody({ id: `${run}-${id}`, member_contribution }, { created_at })];
    });
    await store(...bodies);
    await loop.runOnce();
    const position = await readPosition(db);
    deepStrictEqual(await differencesOf((on) => verifyVersions(db, position, on)), []);
  });
  await fc.assert(property, { numRuns: 30 });
  const versions = await readPosition(db);
  const counted = countingReads(db);
  await differencesOf((on) => verifyVersions(counted.db, versions, on));
  const pages = Math.ceil(versions / 500) + 1;
  t.ok(counted.reads.rows <= 2 * versions, `${counted.reads.rows} rows for ${versions} versions`);
  t.ok(counted.reads.statements <= 4 * pages, `${counted.reads.statements} statements`);
});
