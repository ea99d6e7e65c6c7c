/** Whether payroll can trust the ledger now: what is wrong, in words, and where it is mended. */
import type { Schemas } from '../../../client.ts';
import { checkList } from '../../elements/checks.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';

/** `isEmpty`: no event and no census has come yet. That nothing is wrong with nothing must not look like leave to go. */
export function readinessCard(readiness: Schemas['Readiness'], visit: Visit, isEmpty: boolean): Html {
  const verdict =
    readiness.ready && isEmpty
      ? {
          word: 'Nothing here yet',
          says: 'No event and no census has come: there is nothing that a payroll run could be made of.',
          tone: 'plain',
        }
      : readiness.ready
        ? { word: 'Ready', says: 'A payroll run can trust the ledger now.', tone: 'good' }
        : { word: 'Not ready', says: 'Mend this before payroll is run.', tone: 'bad' };
  return html`
    <section class=${`card readiness ${verdict.tone}`} aria-labelledby="readiness-title">
      <h2 id="readiness-title" class="figure">${verdict.word}</h2>
      <p>${verdict.says}</p>
      ${checkList(readiness, visit)}
    </section>
  `;
}
