import { piecesOf } from '../../database/bulk.ts';

/** Employees between two looks at the clock. */
const SLICE = 16;
/** A page of the console waits for about six turns of the event loop, and may wait for 50 ms in all. */
const TURN_MS = 5;

/** Yields slices of employees, and lets other requests proceed when a turn has taken 5 ms. `now`: milliseconds of a clock. */
export async function* inTurns<Employee>(
  employees: readonly Employee[],
  now = () => performance.now(),
): AsyncGenerator<Employee[]> {
  let began = now();
  for (const slice of piecesOf(employees, SLICE)) {
    yield slice;
    if (now() - began < TURN_MS) continue;
    await new Promise(setImmediate);
    began = now();
  }
}
