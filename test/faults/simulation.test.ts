/** The simulation itself: a seed decides everything, and the invariants hold. */
import t from 'tap';
import { simulate } from '../simulation/simulation.ts';
import { firstDifference } from '../simulation/trace.ts';

t.test('the same seed gives the same steps and rows, also after another seed', async (t) => {
  const folder = t.testdir();
  const run = (seed: number, name: string) => simulate({ seed, days: 1, folder: `${folder}/${name}` });
  // In a day, each of these seeds crashes, has other faults, nine and twelve, and finalizes a payroll run.
  const first = await run(17, 'first');
  const other = await run(19, 'other');
  const again = await run(17, 'again');
  t.equal(first.breach, null);
  t.equal(firstDifference(first.steps, again.steps), null);
  t.not(firstDifference(first.steps, other.steps), null);
});
