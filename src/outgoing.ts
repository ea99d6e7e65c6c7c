/** How requests leave the process: directly, or through the proxies that the environment names. */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { Listener } from './config.ts';
import type { ProxyConfig } from './proxy-config.ts';

/** Returns an agent over sockets, with HTTP/1.1: a broken connection fails one request, not all that share it. */
export function createAgent(
  { http, https, except }: ProxyConfig,
  options: Omit<Agent.Options, 'allowH2'> = {},
): Dispatcher {
  const all = { ...options, allowH2: false };
  if (http === null && https === null) return new Agent(all);
  // Empty texts, because the agent would read the environment of the process instead of a missing one.
  return new EnvHttpProxyAgent({ ...all, httpProxy: http ?? '', httpsProxy: https ?? '', noProxy: except });
}

/** A wildcard address can't be connected to; the loopback address can. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Returns the address of a listener on this machine, such as `http://127.0.0.1:8080`. */
export function addressToReach({ host, port }: Listener): string {
  const reached = EVERYWHERE[host] ?? host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}
