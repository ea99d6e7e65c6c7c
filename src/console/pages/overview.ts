/** The overview: readiness, what is pending, the last hour, and the latest census syncs. */
import type { Schemas } from '../../client.ts';
import type { Scope } from '../../security/tokens.ts';
import { attempt } from '../api-client.ts';
import { checkList } from '../elements/checks.ts';
import { empty, live, state } from '../elements/facts.ts';
import { instant } from '../elements/format.ts';
import { censusLink } from '../elements/links.ts';
import { table } from '../elements/table.ts';
import { problemBody } from '../errors.ts';
import { type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { charts, numbers } from './activity.ts';

type Sync = Schemas['CensusSync'];

/** The parts of the page by the scope they need. */
const PARTS: readonly { scope: Scope; shows: string }[] = [
  { scope: 'ledger:read', shows: 'readiness' },
  { scope: 'metrics:read', shows: 'activity' },
  { scope: 'census:read', shows: 'census syncs' },
];
/** The API lists syncs by time, so an employer's latest sync is searched among this many. */
const SYNCS_READ = 100;

export function overviewPages({ page }: Console): void {
  page('/', 'any', async (visit) => {
    const { readiness, activity, syncs, staged } = await read(visit);
    const hasNoEvents = activity?.data !== undefined && activity.data.events.last_received_at === null;
    const hasCensus = [syncs, staged].some((list) => (list?.data?.data.length ?? 0) > 0);
    const isEmpty = hasNoEvents && !hasCensus && activity.data.position === 0;
    return {
      title: 'Overview',
      body: live(
        { id: 'overview', path: '/' },
        html`
          ${hasNoEvents && firstSteps(isEmpty)}
          ${part('Readiness', readiness, (found) => readinessCard(found, visit, isEmpty))}
          ${part('Activity', activity, (found) => numbers(found, visit))}
          ${activity?.data && charts(activity.data)}
          ${part('Census syncs', syncs, ({ data }) => latestSyncs(data))}
          ${hiddenParts(visit)}
        `,
      ),
    };
  });
}

/** Reads each part with its own scope; null where the token lacks it. */
async function read({ api, may }: Visit) {
  const [readiness, activity, syncs, staged] = await Promise.all([
    may('ledger:read') ? attempt(api.get('/v1/readiness')) : null,
    may('metrics:read') ? attempt(api.get('/v1/activity')) : null,
    may('census:read') ? attempt(api.get('/v1/census-syncs', { limit: SYNCS_READ })) : null,
    may('census:read') ? attempt(api.get('/v1/censuses', { limit: 1 })) : null,
  ]);
  return { readiness, activity, syncs, staged };
}

/** A part that cannot be read leaves the others visible: people open this page when something is wrong. */
function part<T extends object>(
  name: string,
  response: Awaited<ReturnType<typeof attempt<T>>> | null,
  show: (data: T) => Html,
): Html | null {
  if (response === null) return null;
  const { data, problem } = response;
  if (problem === undefined) return show(data);
  return html`
    <section class="card bad">
      <h2>${name}</h2>
      <p>${`Unavailable: ${problem.title}.`}</p>
      ${problemBody(problem)}
    </section>
  `;
}

/** A hidden part must not look like an empty one. */
function hiddenParts({ may }: Visit): Html | null {
  const hidden = PARTS.filter(({ scope }) => !may(scope)).map(({ scope, shows }) => `${shows} (${scope})`);
  if (hidden.length === 0) return null;
  return html`<p class="hint">${`Hidden, because your token lacks the scope: ${hidden.join(', ')}.`}</p>`;
}

function firstSteps(isEmpty: boolean): Html {
  return html`
    <section class="card empty first-steps" aria-labelledby="first-title">
      <h2 id="first-title">No events received yet</h2>
      <ol>
        <li>
          <p>
            <strong>Register the webhook endpoint</strong>
            ${' in the provider’s portal: the public address of this sidecar followed by '}<code>/webhooks</code>${'. Set the signing secret from the portal as '}<code>WEBHOOK_SECRETS</code>${', then send a test event.'}
          </p>
        </li>
        <li>
          <p>
            <strong>Upload the census of each employer</strong>${isEmpty ? ' on the page ' : '. One has been uploaded or requested: see '}<a href="/census">Census</a>.
          </p>
        </li>
        <li>
          <p><strong>Create an API token</strong> for each program and person, with the scopes they need.</p>
        </li>
      </ol>
    </section>
  `;
}

/** An installation without data passes every check but is not ready for payroll. */
function readinessCard(readiness: Schemas['Readiness'], visit: Visit, isEmpty: boolean): Html {
  const noData = 'No event and no census has arrived, so there is nothing to run payroll from.';
  const [title, explanation, tone] = !readiness.ready
    ? ['Not ready', 'Fix these before you run payroll.', 'bad']
    : isEmpty
      ? ['No data yet', noData, 'plain']
      : ['Ready', 'Payroll runs can use the ledger.', 'good'];
  return html`
    <section class=${`card readiness ${tone}`} aria-labelledby="readiness-title">
      <h2 id="readiness-title" class="figure">${title}</h2>
      <p>${explanation}</p>
      ${checkList(readiness, visit)}
    </section>
  `;
}

/** `syncs`: newest first. */
function latestSyncs(syncs: readonly Sync[]): Html {
  const caption = 'Latest census sync by employer';
  const latest = [...new Map(syncs.toReversed().map((sync) => [sync.employer_id, sync])).values()].sort(
    (one, other) => (one.employer_id < other.employer_id ? -1 : 1),
  );
  return html`
    <h2>${caption}</h2>
    ${
      latest.length === 0
        ? empty(
            'No census syncs yet',
            html`<p>${'The service requests a census when it needs one. You can '}<a href="/census">upload one</a> now.</p>`,
          )
        : table(latest, { caption, stacked: true, captionHidden: true }, [
            ['Employer', ({ employer_id }) => censusLink(employer_id), 'name'],
            ['State', stateOf],
            ['Requested', ({ requested_at }) => instant(requested_at), 'date'],
            ['Uploaded', ({ uploaded_at }) => instant(uploaded_at), 'date'],
            ['Completed', ({ completed_at }) => instant(completed_at), 'date'],
            ['Reason', ({ reason }) => reason],
          ])
    }
    ${syncs.length === SYNCS_READ && html`<p class="hint">${`From the latest ${SYNCS_READ} syncs. `}<a href="/census">All syncs</a></p>`}
  `;
}

function stateOf(sync: Sync): Html {
  return html`<span>${state(sync.state)}${sync.overdue && html`<span> ${state('overdue')}</span>`}</span>`;
}
