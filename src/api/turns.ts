import type { Log } from '../telemetry/log.ts';
import { tellSeldom } from '../telemetry/rate-limited-log.ts';
import { Shed } from './pressure.ts';

/** What comes in such numbers is read within this. */
const RETRY_AFTER_SECONDS = 5;

export type Turns = <T>(read: () => Promise<T>) => Promise<T>;

/** Lets some be read at once. Throws a `Shed` for one more: its bytes wait at the caller's. `what` names them. */
export function createTurns(atOnce: number, what: string, log: Log): Turns {
  const tell = tellSeldom(({ count }) =>
    log.warn({ reason: what, count }, 'requests were refused: too many of them at once'),
  );
  let reading = 0;
  return async (read) => {
    if (reading === atOnce) {
      const detail = `${atOnce} ${what} are being read, no more at once: nothing was changed, send it again`;
      tell({ code: '', count: 1 });
      throw new Shed(detail, RETRY_AFTER_SECONDS);
    }
    reading += 1;
    try {
      return await read();
    } finally {
      reading -= 1;
    }
  };
}
