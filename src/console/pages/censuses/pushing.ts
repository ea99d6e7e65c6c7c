/** How the first census comes in. */
import { command } from '../../elements/empty.ts';
import { type Html, html } from '../../html.ts';
import { censusPath } from './paths.ts';
import { shellWord } from './problems.ts';

/** The commands for this employer; `origin`: the private listener's address. */
export function pushing(employerId: string, origin: string): Html {
  return html`
    <div>
      <p>${'Push the employer and all of its active employees, in one file, where the sidecar runs:'}</p>
      ${command(`benefits-sidecar census stage census.json --employer ${shellWord(employerId)}`)}
      <p>or from anywhere, with a token that has census:write:</p>
      ${command(
        [
          'curl -X PUT -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\',
          `  --data-binary @census.json "${origin}${censusPath(employerId)}"`,
        ].join('\n'),
      )}
    </div>
  `;
}
