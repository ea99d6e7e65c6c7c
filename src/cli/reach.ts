import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Listener } from '../config.ts';

/** Listening everywhere is no address to call: the same machine's own is. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Where a listener of this machine is reached, such as `http://127.0.0.1:8080`. */
export function addressToReach({ host, port }: Listener): string {
  const reached = EVERYWHERE[host] ?? host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

/** Between two looks whether something listens: soon enough for whoever starts it, and no load. */
const LOOK_EVERY_MS = 500;

/** Resolves with true once something takes connections at the address, with false when the signal aborts. */
export async function untilItListens(url: string, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    if (await listens(new URL(url))) return true;
    await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return false;
}

function listens({ hostname, port, protocol }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (protocol === 'https:' ? 443 : 80),
      timeout: LOOK_EVERY_MS,
    });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });
}
