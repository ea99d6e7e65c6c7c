/** Reads the proxies through which requests leave. */
import { configError, type Environment, given } from './environment.ts';

/** `http` and `https`: the proxies for addresses of each kind, which may contain a password. `except`: hosts that need none. */
export type ProxyConfig = {
  readonly http: string | null;
  readonly https: string | null;
  readonly except: string;
};

export const NO_PROXY: ProxyConfig = Object.freeze({ http: null, https: null, except: '' });

/** Reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY. As elsewhere, the names in lower case come first. */
export function readProxy(env: Environment): ProxyConfig {
  const [http, https] = [proxy(env, 'HTTP_PROXY'), proxy(env, 'HTTPS_PROXY')];
  const except = given(env, 'no_proxy') ?? given(env, 'NO_PROXY') ?? '';
  return Object.freeze({ http, https: https ?? http, except });
}

function proxy(env: Environment, name: string): string | null {
  const variable = [name.toLowerCase(), name].find((candidate) => given(env, candidate) !== undefined);
  if (variable === undefined) return null;
  const text = given(env, variable) as string;
  const address = text.includes('://') ? text : `http://${text}`;
  const { protocol = '', pathname = '' } = URL.canParse(address) ? new URL(address) : {};
  if (/^https?:$/.test(protocol) && pathname === '/') return address;
  throw configError(
    variable,
    'must be the http:// or https:// address of a proxy, such as http://proxy:3128',
  );
}

/** Returns the host and port of the proxy for an address, without its user and password; null without a proxy. */
export function proxyFor(url: string, { http, https, except }: ProxyConfig): string | null {
  const { protocol, hostname, port } = new URL(url);
  const through = protocol === 'https:' ? https : http;
  const usual = protocol === 'https:' ? '443' : '80';
  return through === null || isExcepted(hostname, port || usual, except) ? null : new URL(through).host;
}

/**
 * Decides as the agent does: `*`, or a host with its subdomains, each with or without a port. An IPv6 address with a port has
 * brackets.
 */
function isExcepted(hostname: string, port: string, except: string): boolean {
  const host = hostname.replace(/^\[(.+)\]$/, '$1').replace(/\.$/, '');
  return except.split(/[,\s]+/).some((entry) => {
    const [, bare = entry, only = port] = /^([^:]*|\[.*\]):(\d+)$/.exec(entry) ?? [];
    const name = bare.replace(/^\[(.+)\]$/, '$1').toLowerCase();
    if (name === '' || only !== port) return false;
    const domain = name.replace(/^\*?\./, '').replace(/\.$/, '');
    const isItself = host === domain && !name.startsWith('*.');
    return name === '*' || isItself || host.endsWith(`.${domain}`);
  });
}
