/** Compares runs of random years with the model. */
import { ok } from 'node:assert/strict';
import { scratch } from '../../database/scratch.ts';
import { onEitherEngine } from '../../support/engine.ts';
import { verified } from '../../support/payroll.ts';
import fc, { SEED } from '../../support/seeded.ts';
import { assertBalanced } from './model-balance.ts';
import { RecordedWorld } from './model-world.ts';
import { FIRST_MONDAY, play, years } from './model-years.ts';

/** Years whose finalized runs are all compared: three seconds of CPU time each. `YEARS=500` in the environment runs more. */
const YEARS = { numRuns: Number(process.env.YEARS ?? 3) };

onEitherEngine('every run of a year has the lines of the model, and can be verified', async (t) => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(years, async (year) => {
      const { db } = await scratch(t);
      const world = new RecordedWorld(db, year.schedules, FIRST_MONDAY);
      await play(world, year);
      for (const { id } of world.runs) {
        const { identical, differences } = await verified(db, id);
        ok(identical, JSON.stringify(differences));
      }
      runs += world.runs.length;
      for (const employer of ['acme', 'other']) await assertBalanced(world, employer);
    }),
    YEARS,
  );
  t.pass(`${runs} runs, seed ${SEED}`);
});
