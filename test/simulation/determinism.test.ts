/** The simulation itself: a seed decides everything, and the invariants hold. */
import t from 'tap';
import { simulate } from './simulation.ts';
import { firstDifference } from './trace.ts';

/** Long enough for a crash of the seed, nine other faults, payroll runs, and acceptances at several employers. */
const DAYS = 2;

t.test('the same seed gives the same steps and rows, also after another seed', async (t) => {
  const folder = t.testdir();
  const run = (seed: number, days: number, name: string) =>
    simulate({ seed, days, folder: `${folder}/${name}` });
  const first = await run(3, DAYS, 'first');
  const other = await run(8, 1, 'other');
  const again = await run(3, DAYS, 'again');
  t.equal(first.breach, null);
  t.equal(firstDifference(first.steps, again.steps), null);
  t.not(firstDifference(first.steps, other.steps), null);
});
