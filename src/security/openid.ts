/**
 * Signs people in at an OpenID Connect provider: authorization code with PKCE, state and nonce. A provider that is down,
 * slow or wrong is a result, never an exception, and no result holds a code or a token of a refused sign-in.
 */
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
// The agent belongs to this library, and Node's own fetch may be of another release of it.
import { type Dispatcher, fetch, type RequestInit } from 'undici';
import type { Elapsed } from '../clock.ts';
import { codeOf } from '../errors.ts';
import { CALLBACK_PATH, type ProviderConfig } from '../sign-in-config.ts';
import { type RefusedClaims, readClaims, type SignedInPerson } from './claims.ts';

/** For each of at most four requests. Browsers wait longer, but people try again. */
const RESPONSE_SECONDS = 5;
/** A provider's documents have a few KiB. */
const RESPONSE_MAX_BYTES = 512 * 1024;
/** After this time, changed endpoints and keys of the provider are found without a restart. */
const DISCOVERY_MS = 60 * 60_000;
/** Maximum difference between the provider's clock and ours. */
const CLOCK_TOLERANCE_SECONDS = 30;
/** Maximum number of callbacks that call the provider at once. Anyone who reaches the listener can send one. */
const CALLBACKS_MAX = 10;

/** The browser must present it at the callback. */
export type SignInAttempt = { readonly state: string; readonly nonce: string; readonly verifier: string };

/** Why a sign-in failed. `code` is for the log. */
export type SignInRefusal = {
  readonly cause:
    | RefusedClaims
    /** The callback belongs to another sign-in, or its code was used or has expired. */
    | 'stale'
    /** The provider did not sign the person in. */
    | 'denied'
    /** The provider's response breaks the protocol. */
    | 'invalid'
    | 'unavailable';
  readonly code: string;
};

export type SignedIn = { readonly person: SignedInPerson; readonly idToken: string };

export type OpenIdProvider = ReturnType<typeof createOpenIdProvider>;

/** Creates the client. It requests nothing before the first sign-in, so a provider that is down does not stop the start. */
export function createOpenIdProvider(
  provider: ProviderConfig,
  { now }: Pick<Elapsed, 'now'>,
  { agent, responseSeconds = RESPONSE_SECONDS }: { agent: Dispatcher; responseSeconds?: number },
) {
  const redirectUri = `${provider.consoleUrl}${CALLBACK_PATH}`;
  let discovered: { at: number; configuration: Promise<Configuration> } | null = null;
  let callbacks = 0;

  /** Discovers the provider once for concurrent callers, and again after an hour or a failure. */
  function configuration(): Promise<Configuration> {
    if (discovered !== null && now() - discovered.at < DISCOVERY_MS) return discovered.configuration;
    const discovering = { at: now(), configuration: discover(provider, responseSeconds, agent) };
    discovered = discovering;
    discovering.configuration.catch(() => {
      if (discovered === discovering) discovered = null;
    });
    return discovering.configuration;
  }

  return {
    /** Returns the address at which the person signs in. */
    async begin(): Promise<{ address: string; attempt: SignInAttempt } | SignInRefusal> {
      const attempt = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
      try {
        const url = buildAuthorizationUrl(await configuration(), {
          redirect_uri: redirectUri,
          scope: provider.scopes,
          state: attempt.state,
          nonce: attempt.nonce,
          code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
          code_challenge_method: 'S256',
        });
        return { address: url.href, attempt };
      } catch (error) {
        return refusalOf(error);
      }
    },

    /** Exchanges the code in the query of the callback for the person's claims. */
    async finish(
      search: string,
      { state, nonce, verifier }: SignInAttempt,
    ): Promise<SignedIn | SignInRefusal> {
      if (new URLSearchParams(search).get('state') !== state)
        return { cause: 'stale', code: 'STATE_MISMATCH' };
      if (callbacks >= CALLBACKS_MAX) return { cause: 'unavailable', code: 'TOO_MANY_CALLBACKS' };
      callbacks += 1;
      try {
        const client = await configuration();
        const tokens = await authorizationCodeGrant(client, new URL(redirectUri + search), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const { id_token: idToken = '', access_token: accessToken } = tokens;
        const asserted = tokens.claims() ?? { sub: '' };
        const claims = isComplete(asserted, provider)
          ? asserted
          : { ...(await userInfo(client, accessToken, asserted.sub)), ...asserted };
        const read = readClaims(claims, provider);
        return 'cause' in read ? read : { person: read, idToken };
      } catch (error) {
        return refusalOf(error);
      } finally {
        callbacks -= 1;
      }
    },

    /** Returns the address that signs the person out at the provider; null if it has none or is unavailable. */
    async logoutAddress(idToken: string | null): Promise<string | null> {
      try {
        const url = buildEndSessionUrl(await configuration(), {
          post_logout_redirect_uri: `${provider.consoleUrl}/`,
          ...(idToken !== null && { id_token_hint: idToken }),
        });
        return url.href;
      } catch {
        return null;
      }
    },
  };
}

async function discover(
  { issuer, clientId, clientSecret }: ProviderConfig,
  responseSeconds: number,
  agent: Dispatcher,
): Promise<Configuration> {
  const metadata = {
    [clockTolerance]: CLOCK_TOLERANCE_SECONDS,
    ...(clientSecret !== null && { client_secret: clientSecret }),
  };
  const isPlain = issuer.startsWith('http:');
  return discovery(new URL(issuer), clientId, metadata, clientSecret === null ? None() : undefined, {
    timeout: responseSeconds,
    [customFetch]: fetchThrough(agent),
    // Without it, the client would trust the connection to the token endpoint instead of the signature.
    execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
  });
}

async function userInfo(client: Configuration, accessToken: string, subject: string) {
  if (client.serverMetadata().userinfo_endpoint === undefined) return {};
  return fetchUserInfo(client, accessToken, subject);
}

/** Returns whether the ID token has every claim that the sidecar reads. Many providers keep some at `userinfo`. */
function isComplete(claims: object, { roleClaim, employerClaim }: ProviderConfig): boolean {
  return ['name', roleClaim, ...(employerClaim === null ? [] : [employerClaim])].every((name) =>
    Object.hasOwn(claims, name),
  );
}

/** Fetches a response of limited size. Redirects are errors to the client. */
function fetchThrough(dispatcher: Dispatcher): CustomFetch {
  return async (url, options) => {
    const { body, status, headers } = await fetch(url, { ...(options as RequestInit), dispatcher });
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of body ?? []) {
      bytes += part.length;
      if (bytes > RESPONSE_MAX_BYTES) throw new TypeError('the response is too long');
      parts.push(part);
    }
    return new Response(parts.length === 0 ? null : Buffer.concat(parts), { status, headers: [...headers] });
  };
}

/** The messages of the client may quote tokens, so only codes leave this file. */
function refusalOf(error: unknown): SignInRefusal {
  if (error instanceof AuthorizationResponseError) return { cause: 'denied', code: oauthCode(error.error) };
  if (error instanceof ResponseBodyError) {
    const code = oauthCode(error.error);
    if (code === 'invalid_grant') return { cause: 'stale', code };
    return { cause: error.status >= 500 ? 'unavailable' : 'invalid', code };
  }
  const code = codeOf(error) || 'UNKNOWN';
  const response = error instanceof Error ? error.cause : undefined;
  const isDown = response instanceof Response && response.status >= 500;
  const isNetwork = error instanceof TypeError || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT';
  return { cause: isDown || isNetwork ? 'unavailable' : 'invalid', code };
}

/** Returns an error code of RFC 6749 as the provider or a forged callback sent it, if it looks like one. */
function oauthCode(text: string): string {
  return /^[a-z_]{1,40}$/.test(text) ? text : 'unknown_error';
}
