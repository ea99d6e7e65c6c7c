/** The first page: can payroll trust the ledger, does anything come in, is anything stuck? */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../api/problem.ts';
import { live } from '../elements/live.ts';
import { whatHappened } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { page, type Visit } from '../page.ts';
import type { ConsoleParts } from '../parts.ts';
import { charts, numbers } from './overview/activity.ts';
import { firstSteps } from './overview/first-steps.ts';
import { readinessCard } from './overview/readiness.ts';
import { newestSyncs, SYNCS_LOOKED_AT } from './overview/syncs.ts';

export function overviewPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/', scope: 'any' }, async (visit) => {
    const { readiness, activity, syncs } = await asked(visit);
    const isFresh = activity?.data !== undefined && activity.data.events.last_received_at === null;
    const isCensusKnown = (activity?.data?.position ?? 0) > 0 || (syncs?.data?.data.length ?? 0) > 0;
    return {
      title: 'Overview',
      place: 'overview',
      body: live(
        { id: 'overview', path: '/' },
        html`
        <div>
          ${isFresh && firstSteps(isCensusKnown)}
          ${part('Readiness', readiness, (found) => readinessCard(found, visit))}
          ${part('What waits', activity, (found) => numbers(found, visit))}
          ${part('The last hour', activity?.data === undefined ? null : activity, charts)}
          ${part('Census syncs', syncs, ({ data }) => newestSyncs(data))}
          ${
            readiness === null &&
            activity === null &&
            syncs === null &&
            html`<p class="hint">Your token has no part of this page: ledger:read, metrics:read and census:read have one each. What it may see is in the navigation.</p>`
          }
        </div>
      `,
      ),
    };
  });
}

/** Each part with its own scope: null where the token lacks it. */
async function asked({ api, may }: Visit) {
  const query = { limit: SYNCS_LOOKED_AT };
  const [readiness, activity, syncs] = await Promise.all([
    may('ledger:read') ? api.GET('/v1/readiness') : null,
    may('metrics:read') ? api.GET('/v1/activity') : null,
    may('census:read') ? api.GET('/v1/census-syncs', { params: { query } }) : null,
  ]);
  return { readiness, activity, syncs };
}

/** What can't be told now leaves the other parts standing: this page is looked at when something is wrong. */
function part<T>(
  name: string,
  answer: { data?: T; error?: unknown } | null,
  show: (data: T) => Html,
): Html | null {
  if (answer === null) return null;
  if (answer.data !== undefined) return show(answer.data);
  const problem = answer.error as ProblemDetails;
  return html`
    <section class="card bad">
      <h2>${name}</h2>
      <p>${`Not known now: ${problem.title}.`}</p>
      ${whatHappened(problem)}
    </section>
  `;
}
