import type { Test } from 'tap';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/simulator.ts';

export const API_KEY = 'a-key-of-the-simulator';
export const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
export const OTHER_SECRET = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;

/** A simulator that is closed when the test ends. */
export async function start(t: Test, options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const simulator = await startSimulator({ apiKey: API_KEY, secrets: [SECRET], ...options });
  t.teardown(simulator.close);
  return simulator;
}

type Answer = { status: number; body: { error?: string; details?: Record<string, string> } };

/** Posts JSON to an endpoint with the correct key; `headers` override. */
export async function post(
  simulator: Simulator,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(simulator.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}
