/** Why nothing is sent: shown where people look after what goes out. */
import { type Html, html } from '../html.ts';
import { need } from '../own-api.ts';
import type { Visit } from '../page.ts';
import { since } from './time.ts';

/** What closed the gate; null while it is open, or where the person may not see it. */
export async function gateBox({ api, may, now }: Visit): Promise<Html | null> {
  if (may('metrics:read')) {
    const { gate } = need(await api.GET('/v1/activity'));
    return gate.state === 'open' ? null : box(gate.reason, gate.since && since(gate.since, now));
  }
  if (!may('ledger:read')) return null;
  const { checks } = need(await api.GET('/v1/readiness'));
  const gate = checks.find(({ id }) => id === 'gate-closed');
  // Here the example has its since in it.
  return gate === undefined || gate.result === 'pass' ? null : box(gate.examples[0] ?? null, null);
}

function box(reason: string | null, closedSince: Html | '' | null): Html {
  return html`
    <section class="problem gate" aria-labelledby="gate-closed">
      <h2 id="gate-closed">Nothing is sent: the gate is closed</h2>
      <p>${reason}${closedSince && [', closed since ', closedSince]}</p>
      <p>
        ${'The service refuses the address or the key. Mend '}<code>BENEFITS_BASE_URL</code>${' or '}<code>BENEFITS_API_KEY</code>${': sending resumes by itself, and nothing is lost meanwhile.'}
      </p>
    </section>
  `;
}
