/** What stands on the overview of a fresh installation: what to do, in order. */
import { command } from '../../elements/empty.ts';
import { type Html, html } from '../../html.ts';

/** `isCensusKnown`: a census has come, or was asked for, already; `origin`: the private listener's address. */
export function firstSteps(isCensusKnown: boolean, origin: string): Html {
  return html`
    <section class="card empty first-steps" aria-labelledby="first-title">
      <h2 id="first-title">No event has come in yet. What to do first</h2>
      <ol>
        <li>
          <p>
            <strong>Register the endpoint in the provider’s portal:</strong>
            ${' the address under which the public listener is reached from outside, with '}<code>/webhooks</code>${' at its end. Put the signing secret that the portal shows into '}<code>WEBHOOK_SECRETS</code>${', and have a test event sent.'}
          </p>
          ${command('https://your-host.example/webhooks')}
        </li>
        <li>
          <p><strong>Bring each employer’s census</strong>${isCensusKnown ? ' (one has come, or was asked for):' : ', so that the service can quote its employees and deductions find their employer:'}</p>
          ${command(`curl -H "Authorization: Bearer $TOKEN" -H 'content-type: application/json' \\
  -T census.json ${origin}/v1/employers/EMPLOYER/census`)}
        </li>
        <li>
          <p><strong>Make a token for each program and each person</strong>, with the scopes that they need:</p>
          ${command('benefits-sidecar token create --name payroll --scope ledger:read census:write runs:read runs:write')}
        </li>
        <li>
          <p>${'See that everything is set up right: '}<code>benefits-sidecar doctor</code></p>
        </li>
      </ol>
    </section>
  `;
}
