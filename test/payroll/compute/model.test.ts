/** Compares runs of random worlds with the model. */
import { deepStrictEqual, ok } from 'node:assert/strict';
import { scratch } from '../../database/scratch.ts';
import { onEitherEngine } from '../../support/engine.ts';
import { body, linesOf, verified } from '../../support/payroll.ts';
import fc, { SEED } from '../../support/seeded.ts';
import { assertBalanced } from './model-balance.ts';
import { messages, SmallWorld, step } from './model-worlds.ts';
import { FIRST_MONDAY, years } from './model-years.ts';

/** Worlds of up to 16 steps, each with about four finalized runs whose lines are all compared. */
const WORLDS = { numRuns: 60 };
/** Worlds whose messages arrive in two orders. */
const SHUFFLED = { numRuns: 15 };

/** Years whose finalized runs are all compared: a second of CPU time each. `YEARS=500` in the environment runs more. */
const YEARS = { numRuns: Number(process.env.YEARS ?? 2) };

const steps = fc.array(step, { minLength: 4, maxLength: 16 });
const schedules = fc.nat({ max: 2 });

onEitherEngine('every run has the lines of the model, and every finalized run can be verified', async (t) => {
  const { db } = await scratch(t);
  let worlds = 0;
  await fc.assert(
    fc.asyncProperty(schedules, steps, async (count, given) => {
      worlds += 1;
      const world = new SmallWorld(db, `w${worlds}`, count);
      await world.begin();
      for (const one of given) await world.take(one);
      for (const employer_id of ['acme', 'other']) {
        const last = await world.put(body(6, { employer_id, adjustments: 'include' }));
        deepStrictEqual(last.is, last.should);
      }
      for (const run of world.runs) {
        const { identical, differences } = await verified(db, run.id);
        ok(identical, JSON.stringify(differences));
      }
    }),
    WORLDS,
  );
  t.pass(`${worlds} worlds`);
});

onEitherEngine('every run of a year has the lines of the model', async (t) => {
  const { db } = await scratch(t);
  let worlds = 0;
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(years, async ({ schedules: count, steps: given }) => {
      worlds += 1;
      const world = new SmallWorld(db, `y${worlds}`, count, FIRST_MONDAY);
      await world.begin();
      for (const one of given) await world.take(one);
      runs += world.runs.length;
      for (const employer of ['acme', 'other']) await assertBalanced(world, world.id(employer));
    }),
    YEARS,
  );
  t.pass(`${worlds} years with ${runs} runs, seed ${SEED}`);
});

onEitherEngine('the order of messages never matters to a new run and its adjustments', async (t) => {
  const { db } = await scratch(t);
  let worlds = 0;
  await fc.assert(
    fc.asyncProperty(schedules, messages, fc.infiniteStream(fc.nat()), async (count, given, keys) => {
      worlds += 1;
      const shuffled = given
        .map((message) => ({ message, key: keys.next().value }))
        .sort((one, other) => one.key - other.key)
        .map(({ message }) => message);
      const seen: string[] = [];
      for (const [index, order] of [given, shuffled].entries()) {
        const prefix = `o${worlds}-${index}`;
        const world = new SmallWorld(db, prefix, count);
        await world.begin();
        // All that is due for the first run is an adjustment. It is the last one before an employee leaves.
        await world.take({ does: 'run', body: body(1) });
        for (const message of order) await world.send(message);
        const fact = { source: 'termination', termination_date: '2026-01-20' } as const;
        await world.learn({ employee: 'e0', employer: 'acme', passed: 60, fact });
        const { id } = await world.put(body(2, { adjustments: 'include', final_checks: ['e0'] }));
        const lines = await linesOf(db, id);
        // A version is numbered by its place in order of receipt, and a cause names the event that was received.
        const shown = lines.map((line) => ({
          ...line,
          ...{ version: null, because: null },
          ...(line.kind === 'adjustment' && { explanation: '' }),
        }));
        seen.push(JSON.stringify(shown).replaceAll(prefix, ''));
      }
      deepStrictEqual(seen[0], seen[1]);
    }),
    SHUFFLED,
  );
  t.pass(`${worlds} worlds`);
});
