/** The first page: can payroll trust the ledger, does anything come in, is anything stuck? */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../api/problem.ts';
import type { Scope } from '../../security/tokens.ts';
import { live } from '../elements/live.ts';
import { whatHappened } from '../errors.ts';
import { type Html, html } from '../html.ts';
import { page, type Visit } from '../page.ts';
import type { ConsoleParts } from '../parts.ts';
import { charts, numbers } from './overview/activity.ts';
import { firstSteps } from './overview/first-steps.ts';
import { readinessCard } from './overview/readiness.ts';
import { newestSyncs, SYNCS_LOOKED_AT } from './overview/syncs.ts';

/** What of the page each scope shows. */
const PARTS: readonly { scope: Scope; shows: string }[] = [
  { scope: 'ledger:read', shows: 'whether payroll can trust the ledger' },
  { scope: 'metrics:read', shows: 'what waits and the last hour' },
  { scope: 'census:read', shows: 'the census syncs' },
];

export function overviewPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/', scope: 'any' }, async (visit) => {
    const { readiness, activity, syncs, staged } = await asked(visit);
    const isFresh = activity?.data !== undefined && activity.data.events.last_received_at === null;
    const isCensusKnown = [syncs, staged].some((list) => (list?.data?.data.length ?? 0) > 0);
    const isEmpty = isFresh && !isCensusKnown && activity.data.position === 0;
    const hidden = PARTS.filter(({ scope }) => !visit.may(scope));
    return {
      title: 'Overview',
      place: 'overview',
      body: live(
        { id: 'overview', path: '/' },
        html`
        <div>
          ${isFresh && firstSteps(!isEmpty, visit.origin)}
          ${part('Readiness', readiness, (found) => readinessCard(found, visit, isEmpty))}
          ${part('What waits', activity, (found) => numbers(found, visit))}
          ${part('The last hour', activity?.data === undefined ? null : activity, charts)}
          ${part('Census syncs', syncs, ({ data }) => newestSyncs(data))}
          ${hidden.length > 0 && html`<p class="hint">${hiddenInWords(hidden)}</p>`}
        </div>
      `,
      ),
    };
  });
}

/** Nobody should take what a token may not see for what there is not. */
function hiddenInWords(hidden: typeof PARTS): string {
  const parts = hidden.map(({ scope, shows }) => `${shows} (${scope})`);
  const all = hidden.length === PARTS.length ? ' What it may see is in the navigation.' : '';
  return `Not shown here, because your token lacks the scope: ${parts.join(', ')}.${all}`;
}

/** Each part with its own scope: null where the token lacks it. */
async function asked({ api, may }: Visit) {
  const query = { limit: SYNCS_LOOKED_AT };
  const [readiness, activity, syncs, staged] = await Promise.all([
    may('ledger:read') ? api.GET('/v1/readiness') : null,
    may('metrics:read') ? api.GET('/v1/activity') : null,
    may('census:read') ? api.GET('/v1/census-syncs', { params: { query } }) : null,
    may('census:read') ? api.GET('/v1/censuses', { params: { query: { limit: 1 } } }) : null,
  ]);
  return { readiness, activity, syncs, staged };
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
