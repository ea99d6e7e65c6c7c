import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { SimulatorOptions } from '../../src/simulator/simulator.ts';
import { start } from './start.ts';

export type Arrival = { headers: IncomingHttpHeaders; text: string };

/** The response to the nth arrival, starting at 0: a status with headers, or none. */
type Plan = (nth: number) => { status: number; headers?: Record<string, string> } | 'silence';

/** A webhook receiver over real HTTP, closed when the test ends. */
export async function receive(t: Test, plan: Plan = () => ({ status: 204 })) {
  const arrivals: Arrival[] = [];
  const news = new EventEmitter();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    arrivals.push({ headers: request.headers, text: Buffer.concat(chunks).toString() });
    news.emit('arrival');
    const answer = plan(arrivals.length - 1);
    if (answer !== 'silence') response.writeHead(answer.status, answer.headers).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  /** Resolves when this many events have arrived. */
  const arrived = async (count: number): Promise<void> => {
    while (arrivals.length < count) await once(news, 'arrival');
  };
  return { url: `http://127.0.0.1:${port}/webhooks`, arrivals, arrived };
}

/** A receiver and a simulator that delivers to it. */
export async function subscribed(t: Test, plan?: Plan, options: Partial<SimulatorOptions> = {}) {
  const receiver = await receive(t, plan);
  const simulator = await start(t, options);
  simulator.subscribe(receiver.url);
  return { simulator, ...receiver };
}
