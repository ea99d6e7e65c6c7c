import { deepStrictEqual } from 'node:assert/strict';
import { cut } from '../ledger/model.ts';
import { onEachEngine } from '../support/engine.ts';
import fc from '../support/seeded.ts';
import { type Body, startApplying } from './applying.ts';
import { deductionBody } from './bodies.ts';

/** Events of a few deductions with distinct times, in seconds of one day. */
const someEvents = fc.uniqueArray(
  fc.record({ second: fc.nat({ max: 59 }), deduction: fc.constantFrom('a', 'b', 'c') }),
  { selector: ({ second }) => second, minLength: 1, maxLength: 12 },
);

onEachEngine('deliveries in any order, batches and number give the same latest states', async (t) => {
  const { store, loop, db } = await startApplying(t);
  let runs = 0;
  const property = fc.asyncProperty(
    someEvents,
    fc.infiniteStream(fc.nat()),
    fc.array(fc.nat(), { maxLength: 4 }),
    async (events, random, places) => {
      const run = `run${runs++}`;
      const bodies = events.map(({ second, deduction }): Body => {
        const time = `2026-03-01T12:00:${String(second).padStart(2, '0')}Z`;
        const id = `${run}-${deduction}`;
        return [
          `${run}-${second}`,
          deductionBody({ id, member_contribution: String(second) }, { created_at: time }),
        ];
      });
      // Each is delivered once or twice, at any place.
      const deliveries = [...bodies, ...bodies.filter(() => draw(random) % 2 === 0)]
        .map((body) => ({ body, at: draw(random) }))
        .sort((one, other) => one.at - other.at)
        .map(({ body }) => body);
      for (const batch of cut(deliveries, places)) {
        await store(...batch);
        if (draw(random) % 2 === 0) await loop.runOnce();
      }
      await loop.runOnce();

      const latest = await db
        .selectFrom('deductions')
        .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.position')
        .select(['deductions.deduction_id', 'member_contribution', 'version_count'])
        .where('deductions.deduction_id', 'like', `${run}-%`)
        .orderBy('deductions.deduction_id')
        .execute();
      const expected = [...Map.groupBy(events, (event) => event.deduction)]
        .map(([deduction, own]) => ({
          deduction_id: `${run}-${deduction}`,
          member_contribution: String(Math.max(...own.map((event) => event.second))),
          version_count: own.length,
        }))
        .sort((one, other) => (one.deduction_id < other.deduction_id ? -1 : 1));
      deepStrictEqual(latest, expected);
    },
  );
  await fc.assert(property, { numRuns: 40 });
  t.ok(runs >= 40, `${runs} runs`);
});

function draw(random: Iterator<number>): number {
  return random.next().value as number;
}
