/** How requests leave the process: directly, or through the proxies that the environment names. */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { Listener } from './config.ts';
import { codeOf } from './errors.ts';
import { NO_PROXY, type ProxyConfig } from './proxy-config.ts';

/** A reachable service accepts a connection within this time. */
const CONNECT_MS = 10_000;
/** Within one burst of requests, not between bursts. */
const KEEP_ALIVE_MS = 10_000;

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

/** How requests leave the process. `timeout` returns a signal that aborts after this time, for a whole attempt. */
export type Transport = { dispatcher: Dispatcher; timeout: (ms: number) => AbortSignal };

/** Returns the transport over sockets. */
export function createTransport(proxy: ProxyConfig = NO_PROXY): Transport {
  const connect = { timeout: CONNECT_MS };
  const dispatcher = createAgent(proxy, { connect, keepAliveTimeout: KEEP_ALIVE_MS });
  return { dispatcher, timeout: (ms) => AbortSignal.timeout(ms) };
}

/** A wildcard address can't be connected to; the loopback address can. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Returns the address of a listener on this machine, such as `http://127.0.0.1:8080`. */
export function addressToReach({ host, port }: Listener): string {
  const reached = EVERYWHERE[host] ?? host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

/** A proxy that opens no tunnel. The rest of the code is its status, such as 407 for a wrong password. */
export const PROXY_REFUSAL = 'PROXY_RESPONSE_';

/** Returns the code of a failed request, without its message, which may quote what was sent. */
export function failureCode(error: unknown): string {
  const [, status] = /^Proxy response \((\d{3})\)/.exec(error instanceof Error ? error.message : '') ?? [];
  if (status !== undefined) return PROXY_REFUSAL + status;
  return error instanceof Error && error.name === 'TimeoutError' ? 'TIMEOUT' : codeOf(error) || 'UNKNOWN';
}
