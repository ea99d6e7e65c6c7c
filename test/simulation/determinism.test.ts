/** The simulation itself: a seed decides everything, and the invariants hold. */
import t from 'tap';
import { simulate } from './simulation.ts';
import { firstDifference } from './trace.ts';

const DAYS = 5;

t.test('the same seed gives the same steps and rows, also after another seed', async (t) => {
  const folder = t.testdir();
  const run = (seed: number, name: string) => simulate({ seed, days: DAYS, folder: `${folder}/${name}` });
  const first = await run(7, 'first');
  const other = await run(8, 'other');
  const again = await run(7, 'again');
  t.equal(first.breach, null);
  t.equal(firstDifference(first.steps, again.steps), null);
  t.not(firstDifference(first.steps, other.steps), null);
});
