/** The page on which people sign in. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Html, html } from './html.ts';
import type { ConsoleParts, Page } from './page.ts';
import { SIGN_IN_PATH } from './sign-in-cookies.ts';

export const START_PATH = `${SIGN_IN_PATH}/provider`;

/** Returns the address that starts a sign-in, on the host to which the provider sends the browser back. */
export function startAddress(consoleUrl: string, next: string): string {
  return `${consoleUrl}${START_PATH}?next=${encodeURIComponent(next)}`;
}

/** Makes the browser send the form's origin, which also shows whether it used https. */
export function withReferrer(reply: FastifyReply): FastifyReply {
  return reply.header('referrer-policy', 'same-origin');
}

/**
 * Returns whether a request comes from this site: another site must not be able to sign a user in as someone else.
 * Browsers send `Sec-Fetch-Site` only over trustworthy connections, and `Origin` with every form.
 */
export function isSameOrigin({ headers }: FastifyRequest): boolean {
  const { origin, referer, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const from = origin ?? referer;
  return from === undefined || (URL.canParse(from) && new URL(from).host === host);
}

export function signInPage(
  { signIn: { provider, withToken } }: ConsoleParts,
  next: string,
  problem: string | null = null,
): Page {
  const body = html`
    <div class="sign-in card">
      ${problem !== null && html`<p class="problem" role="alert">${problem}</p>`}
      ${provider !== null && html`<p><a class="button" href=${startAddress(provider.consoleUrl, next)}>Sign in with your organization</a></p>`}
      ${withToken && tokenForm(next, provider === null)}
      <p class="hint">Your session ends after 30 minutes without activity, and after 12 hours at the latest.</p>
    </div>
  `;
  return { title: 'Sign in', body };
}

function tokenForm(next: string, autofocus: boolean): Html {
  return html`
    <form method="post" action=${SIGN_IN_PATH}>
      <input type="hidden" name="next" value=${next} />
      <label for="token">API token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus=${autofocus} />
      <p class="hint">Ask an administrator of this sidecar for a token. Its scopes decide what you can see and do.</p>
      <button type="submit">Sign in</button>
    </form>
  `;
}
