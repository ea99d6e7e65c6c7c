import { Refusal } from './problem.ts';

/** What comes in such numbers is read within this. */
const RETRY_AFTER_SECONDS = 5;

export type Turns = <T>(read: () => Promise<T>) => Promise<T>;

/** Lets some be read at once. Throws a `Refusal` for one more: its bytes wait at the caller's. `what` names them. */
export function createTurns(atOnce: number, what: string): Turns {
  let reading = 0;
  return async (read) => {
    if (reading === atOnce) {
      const detail = `${atOnce} ${what} are being read, no more at once: nothing was changed, send it again`;
      throw new Refusal('unavailable', detail, { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } });
    }
    reading += 1;
    try {
      return await read();
    } finally {
      reading -= 1;
    }
  };
}
