import { EventEmitter, once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Test } from 'tap';
import type { SimulatorOptions } from '../../src/simulator/simulator.ts';
import { stubService } from '../outbox/stub-service.ts';
import { start } from './start.ts';

export type Arrival = { headers: IncomingHttpHeaders; text: string };

/** The response to the nth arrival, starting at 0: a status with headers, or none. */
type Plan = (nth: number) => { status: number; headers?: Record<string, string> } | 'silence';

/** A webhook receiver over real HTTP, closed when the test ends. */
export async function receive(t: Test, plan: Plan = () => ({ status: 204 })) {
  const arrivals: Arrival[] = [];
  const news = new EventEmitter();
  const { url } = await stubService(t, (response, { headers, body }, nth) => {
    arrivals.push({ headers, text: body });
    news.emit('arrival');
    const answer = plan(nth);
    if (answer !== 'silence') response.writeHead(answer.status, answer.headers).end();
  });
  /** Resolves when this many events have arrived. */
  const arrived = async (count: number): Promise<void> => {
    while (arrivals.length < count) await once(news, 'arrival');
  };
  return { url: `${url}/webhooks`, arrivals, arrived };
}

/** A receiver and a simulator that delivers to it. */
export async function subscribed(t: Test, plan?: Plan, options: Partial<SimulatorOptions> = {}) {
  const receiver = await receive(t, plan);
  const simulator = await start(t, options);
  simulator.subscribe(receiver.url);
  return { simulator, ...receiver };
}
