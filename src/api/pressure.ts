/** Refuses requests while the API thread is overloaded, before the receiver is affected (docs/internals/benches/findings.md). */

import { getHeapStatistics } from 'node:v8';
import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import type { PrivateCounts } from '../telemetry/counts.ts';
import type { Log } from '../telemetry/log.ts';
import { rateLimited } from '../telemetry/rate-limited-log.ts';
import { Refusal } from './problem.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route responds under any load, because it reports the state of this process. */
    neverShed?: boolean;
  }
}

/** The average delay of timers over a second. The largest run, or twenty callers who page, stay below 100 on two cores. */
const LOOP_DELAY_MS = 500;
/**
 * With at most this many connections, more than payroll's programs and people have, no request is refused for delay: the
 * machine is slow or has one long task. Requests cannot be counted until the thread reads them.
 */
const FEW_CONNECTIONS = 64;
/** The share of this thread's V8 heap in use. A full heap ends the process, and with it the receiver. */
const HEAP_SHARE = 0.85;
/** How often the load is measured. A single slow query fits into this time and is no overload. */
const LOOK_EVERY_MS = 1_000;

export type PressureLimits = ReturnType<typeof pressureLimits>;

/** Returns the limits of the calling thread. 0 milliseconds or bytes disable a limit. */
export function pressureLimits() {
  return {
    loopDelayMs: LOOP_DELAY_MS,
    connections: FEW_CONNECTIONS,
    heapBytes: getHeapStatistics().heap_size_limit * HEAP_SHARE,
  };
}

/** Adds the load limits. Call it before other hooks, because a refused request should cost nothing. */
export function shedLoad(
  app: FastifyInstance,
  { log, counts, pressure }: { log: Log; counts: PrivateCounts; pressure: PressureLimits },
): void {
  const warn = rateLimited(({ code, count }) =>
    log.warn({ reason: code, count }, 'requests were refused: the API thread is overloaded'),
  );
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
      if (request.routeOptions.config.neverShed === true) return;
      // The plugin checks the delay first, and garbage collection in a full heap also delays the thread.
      const isFull = pressure.heapBytes > 0 && app.memoryUsage().heapUsed > pressure.heapBytes;
      if (!isFull && connections <= pressure.connections) return;
      const reason = isFull ? 'heap' : 'event-loop';
      counts.shed[reason] += 1;
      warn({ code: reason, count: 1 });
      throw new Refusal('UNAVAILABLE', 'Too many requests at once.', { headers: { 'retry-after': '2' } });
    },
  });
}
