import t from 'tap';
import { previewRun } from '../../../src/payroll/lifecycle/results.ts';
import { scratch } from '../../database/scratch.ts';
import { hireMany, runOn } from '../../support/payroll.ts';

/** Counts turns of the event loop until the work has ended. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isRunning = true;
  const counting = (async () => {
    for (; isRunning; turns += 1) await new Promise(setImmediate);
  })();
  await work;
  isRunning = false;
  await counting;
  return turns;
}

t.test('other requests proceed after every 16 employees of a computation', async (t) => {
  const { db } = await scratch(t);
  const turnsOf = () => turnsDuring(previewRun(db, null, runOn('2026-07-17')));
  await hireMany(db, 16);
  const fewer = await turnsOf();
  await hireMany(db, 96);
  t.ok((await turnsOf()) >= fewer + 2 * 5, 'lines are computed and added up in turns');
});
