import { piecesOf } from '../../database/bulk.ts';

/** A page of the console waits for about six turns of the event loop, and may wait for 50 ms in all. */
const EMPLOYEES_PER_TURN = 16;

/** Yields slices of employees, and lets other requests proceed after each. */
export async function* inTurns<Employee>(employees: readonly Employee[]): AsyncGenerator<Employee[]> {
  for (const slice of piecesOf(employees, EMPLOYEES_PER_TURN)) {
    yield slice;
    await new Promise(setImmediate);
  }
}
