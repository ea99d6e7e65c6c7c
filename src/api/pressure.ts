/**
 * Refuses requests while the private side has more to do than it can, before the receiver suffers: the two share the
 * machine's cores, its memory and the database (bench/findings.md).
 */
import { getHeapStatistics } from 'node:v8';
import underPressure from '@fastify/under-pressure';
import type { PrivateCounts } from '../telemetry/api-counts.ts';
import type { Log } from '../telemetry/log.ts';
import { rateLimited } from '../telemetry/rate-limited-log.ts';
import { Refusal } from './problem.ts';
import type { Api } from './schemas.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered however much there is to do: what tells how this process is. */
    alwaysAnswered?: boolean;
  }
}

/**
 * By how much timers may fire late, on average over a second: each turn of the thread takes so long then, and a request
 * takes several. The largest run alone, a file of all its lines, or twenty callers who page as quickly as they can, stay
 * below 100 ms on two cores (bench/findings.md).
 */
const LOOP_DELAY_MS = 500;
/**
 * Connections up to which none is refused for that: more than payroll's programs and people have. With fewer the thread
 * is late because the machine is, or has one long work, and to refuse would help nobody. Connections, because what
 * they ask waits on them, where nobody can count it, until the thread has time.
 */
const FEW_CONNECTIONS = 64;
/** Of the memory that V8 gives this thread. Where it ends the process does, and the receiver with it. */
const HEAP_SHARE = 0.85;
/** How often it is looked at: a single slow query, which a second has room for, is no pressure. */
const LOOK_EVERY_MS = 1_000;
/** The next look has been by then. */
const RETRY_AFTER_SECONDS = 2;

/**
 * From which on requests are refused: milliseconds that timers fire late while there are more than so many connections,
 * and bytes in use. 0 milliseconds or bytes: not looked at.
 */
export type PressureLimits = { loopDelayMs: number; connections: number; heapBytes: number };

/** Those of the thread that calls it. */
export function pressureLimits(): PressureLimits {
  return {
    loopDelayMs: LOOP_DELAY_MS,
    connections: FEW_CONNECTIONS,
    heapBytes: getHeapStatistics().heap_size_limit * HEAP_SHARE,
  };
}

/** There was too much to do. Told once a second, and counted: a flood must not flood the log. */
export class Shed extends Refusal {
  constructor(
    detail = 'Too many requests at once. Send the request again later.',
    seconds = RETRY_AFTER_SECONDS,
  ) {
    super('unavailable', detail, { headers: { 'retry-after': String(seconds) } });
  }
}

/** To be called before anything else is done with a request: what is refused should cost nothing. */
export function shedLoad(
  app: Api,
  { log, counts, pressure }: { log: Log; counts: PrivateCounts; pressure: PressureLimits },
): void {
  const tell = rateLimited(({ code, count }) => {
    log.warn({ reason: code, count }, 'requests were refused: the private side has too much to do');
  });
  let connections = 0;
  app.server.on('connection', (socket) => {
    connections += 1;
    socket.once('close', () => {
      connections -= 1;
    });
  });
  app.register(underPressure, {
    maxEventLoopDelay: pressure.loopDelayMs,
    maxHeapUsedBytes: pressure.heapBytes,
    sampleInterval: LOOK_EVERY_MS,
    pressureHandler: async (request) => {
      if (request.routeOptions.config.alwaysAnswered === true) return;
      // It looks at the delay first, and collecting garbage in a full memory makes a thread late, too.
      const isFull = pressure.heapBytes > 0 && app.memoryUsage().heapUsed > pressure.heapBytes;
      if (!isFull && connections <= pressure.connections) return;
      const reason = isFull ? 'heap' : 'event-loop';
      counts.shed[reason] += 1;
      tell({ code: reason, count: 1 });
      throw new Shed();
    },
  });
}
