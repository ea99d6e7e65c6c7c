/** A real OpenID Connect provider on http://localhost, whose responses a test can falsify. */
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import type { Test } from 'tap';
import type { ProviderConfig } from '../../src/sign-in-config.ts';

const CONSOLE_URL = 'http://127.0.0.1:8081';

/** The person who signs in at the provider, and the claims about them. */
export type Account = { sub: string } & Record<string, unknown>;

export type TestProvider = {
  issuer: string;
  config: ProviderConfig;
  /** Returns the query with which the provider sends the browser back from a sign-in. */
  signIn(address: string): Promise<string>;
  /** Replaces the ID token of the next token responses; null: as the provider signed it. */
  falsify: ((jwt: Jwt, key: KeyObject) => string) | null;
  /** Paths at which the provider never responds. */
  silent: Set<string>;
  /** Paths at which the provider closes the connection. */
  broken: Set<string>;
  account: Account;
  /** Every path that was requested. */
  requested: string[];
};

type Jwt = { header: Record<string, unknown>; claims: Record<string, unknown> };

const CLIENT = { client_id: 'sidecar', client_secret: 'client-secret-canary' };

export async function startProvider(t: Test, consoleUrl = CONSOLE_URL): Promise<TestProvider> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const server = createServer((request, response) => handle(request, response));
  server.listen(0, 'localhost');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const world: TestProvider = {
    issuer,
    config: {
      issuer,
      clientId: CLIENT.client_id,
      clientSecret: CLIENT.client_secret,
      scopes: 'openid profile payroll',
      consoleUrl,
      roleClaim: 'groups',
      roles: new Map([
        ['payroll', ['payroll-specialist']],
        ['Audit, internal', ['auditor']],
      ]),
      employerClaim: 'employers',
    },
    signIn: (address) => followSignIn(address, consoleUrl),
    falsify: null,
    silent: new Set(),
    broken: new Set(),
    account: { sub: 'ann', name: 'Ann Example', groups: ['payroll'], employers: ['acme'] },
    requested: [],
  };
  const provider = new Provider(issuer, configurationOf(world, consoleUrl, privateKey));
  provider.on('server_error', (_context, error) => t.comment(String(error.stack)));
  const callback = provider.callback();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').replace(/\?.*$/s, '');
    world.requested.push(path);
    if (world.silent.has(path)) return;
    if (world.broken.has(path)) return void request.socket.destroy();
    if (path.startsWith('/interaction/')) {
      const login = { accountId: world.account.sub };
      await provider.interactionFinished(request, response, { login });
      return;
    }
    if (path === '/token') falsifyBody(response, world, privateKey);
    await callback(request, response);
  }
  return world;
}

function configurationOf(world: TestProvider, consoleUrl: string, key: KeyObject): Configuration {
  return {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [`${consoleUrl}/sign-in/callback`],
        post_logout_redirect_uris: [`${consoleUrl}/`],
      },
    ],
    jwks: { keys: [{ ...key.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' } as never] },
    cookies: { keys: ['cookie-key'] },
    claims: { openid: ['sub'], profile: ['name'], payroll: ['groups', 'employers'] },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        // The default page loads a font from the internet.
        logoutSource: async (context, form) => {
          const button = '<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>';
          context.body = `<html lang="en"><title>Sign out</title>${form}${button}</html>`;
        },
      },
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: async () => ({ ...world.account, sub: accountId }),
    }),
    async loadExistingGrant({ oidc }) {
      const { client, session } = oidc;
      const grant = new oidc.provider.Grant({
        clientId: client?.clientId as string,
        accountId: session?.accountId as string,
      });
      grant.addOIDCScope('openid profile payroll');
      await grant.save();
      return grant;
    },
    ttl: { Session: 3_600, Grant: 3_600, Interaction: 600, AccessToken: 600, IdToken: 600 },
  };
}

/** Replaces the ID token in the response that the provider is about to send. */
function falsifyBody(response: ServerResponse, world: TestProvider, key: KeyObject): void {
  const end = response.end.bind(response) as (body: string) => ServerResponse;
  response.end = ((body: string) => {
    if (world.falsify === null || response.statusCode !== 200) return end(body);
    const tokens = JSON.parse(body);
    const [header, claims] = tokens.id_token.split('.').slice(0, 2).map(decoded);
    const text = JSON.stringify({ ...tokens, id_token: world.falsify({ header, claims }, key) });
    response.setHeader('content-length', Buffer.byteLength(text));
    return end(text);
  }) as typeof response.end;
}

const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');

export function signed({ header, claims }: Jwt, key: KeyObject): string {
  const text = `${encoded(header)}.${encoded(claims)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`;
}

export function unsigned({ claims }: Jwt): string {
  return `${encoded({ alg: 'none' })}.${encoded(claims)}.`;
}

/** Follows the provider's redirects as a browser does, up to the console. */
async function followSignIn(address: string, consoleUrl: string): Promise<string> {
  const cookies = new Map<string, string>();
  let url = address;
  while (!url.startsWith(consoleUrl)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] as string).split('=');
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${response.status} at ${url}: ${await response.text()}`);
    url = new URL(location, url).href;
  }
  return new URL(url).search;
}
