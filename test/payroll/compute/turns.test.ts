import t from 'tap';
import { inTurns } from '../../../src/payroll/compute/turns.ts';

/** Counts turns of the event loop until the work has ended. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  const working = work();
  let turns = 0;
  let isRunning = true;
  const counting = (async () => {
    for (; isRunning; turns += 1) await new Promise(setImmediate);
  })();
  await working;
  isRunning = false;
  await counting;
  return turns;
}

t.test('other requests proceed when a slice of employees took long', async (t) => {
  const compute = (msPerSlice: number) =>
    turnsDuring(async () => {
      let ms = 0;
      for await (const employees of inTurns(Array.from({ length: 80 }), () => ms)) {
        t.equal(employees.length, 16);
        ms += msPerSlice;
      }
    });
  t.ok((await compute(5)) >= 5);
  t.ok((await compute(0)) < 5, 'short work is not interrupted');
});
