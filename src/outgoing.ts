/** How requests leave the process: directly, or through the proxies that the environment names. */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
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
