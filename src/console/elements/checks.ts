/** What readiness found: each check in words, and where it is mended. */
import type { Schemas } from '../../client.ts';
import type { Scope } from '../../security/tokens.ts';
import { type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { count } from './facts.ts';
import { employeeLink, eventLink } from './links.ts';
import { address } from './pager.ts';
import { state } from './state.ts';

type Readiness = Schemas['Readiness'];
type Check = Readiness['checks'][number];

/** Of the API's examples: enough to begin with. */
const EXAMPLES_SHOWN = 5;

/** What a check found, in words, and how to come from an example, or from all of them, to where it is mended. */
export type Known = {
  found: string;
  scope?: Scope;
  one?: (example: string) => Html;
  all?: string;
};
const events = { scope: 'events:read', one: eventLink } as const;
const changes = { scope: 'changes:read' } as const;
const employees = { scope: 'ledger:read', one: employeeLink } as const;
/** The checks of the ledger. Those of a payroll run are told on its page. */
export const KNOWN: Readonly<Record<string, Known>> = {
  'tail-lost': { found: 'The database lost what it had' },
  'events-pending': { found: 'Events are not applied yet', ...events, all: '/events?state=pending' },
  'events-quarantined': {
    found: 'Events were not understood',
    ...events,
    all: address('/events', { state: 'quarantined', dismissed: 'false' }),
  },
  'events-in-conflict': {
    found: 'An event id came with two bodies',
    ...events,
    all: '/events?conflict=true',
  },
  'ties-changed-content': { found: 'Two events of one instant say different things', ...events },
  'event-times-ahead': { found: 'Events came from the future', ...events },
  'events-unattributed': { found: 'Events lead to no employer', ...events },
  'events-silent': { found: 'No event for longer than EVENTS_SILENT_AFTER' },
  'signatures-refused': { found: 'Deliveries were refused' },
  'gate-closed': { found: 'Nothing is sent: the service refuses the address or the key' },
  'sending-stalled': { found: 'Sending to the service is stalled' },
  'requests-rejected': {
    found: 'The service refused employment changes',
    ...changes,
    all: '/changes?state=rejected',
  },
  'requests-stuck': {
    found: 'Employment changes wait to be sent',
    ...changes,
    all: '/changes?state=pending',
  },
  'census-syncs': { found: 'A census is owed', scope: 'census:read', all: '/census' },
  'deductions-unmatched': {
    found: 'Deductions are of employees in no census',
    ...employees,
    all: '/ledger?matched=false',
  },
  'employer-unknown': { found: 'Nothing is known of this employer' },
  'disk-space': { found: 'The disk fills' },
  'employees-with-two-employers': { found: 'Employees are active with two employers', ...employees },
};

/** What was found, what fails before what warns; then what passed. `known` tells of checks that only some readiness has. */
export function checkList(
  { checks, checked_at }: Readiness,
  visit: Pick<Visit, 'may'>,
  known: Readonly<Record<string, Known>> = KNOWN,
): Html {
  const found = checks.filter(({ result }) => result !== 'pass').sort(byWeight);
  return html`
    <div>
      ${found.length > 0 && html`<ul class="checks">${found.map((check) => checkOf(check, visit, known[check.id]))}</ul>`}
      <details class="passed">
        <summary>${`${checks.length - found.length} of ${checks.length} checks passed`}</summary>
        <ul>${checks.filter(({ result }) => result === 'pass').map(({ advice }) => html`<li>${advice}</li>`)}</ul>
        <p class="hint">${`Looked at ${checked_at.slice(11, 19)} UTC.`}</p>
      </details>
    </div>
  `;
}

function checkOf(check: Check, { may }: Pick<Visit, 'may'>, known: Known = { found: check.id }): Html {
  const { result, advice, count: number, examples } = check;
  const { found, scope, one, all } = known;
  const linked = scope === undefined || may(scope);
  // More is said only where the API names more: an example may be a count itself, `timestamp: 2`.
  const shown = examples.slice(0, EXAMPLES_SHOWN);
  return html`
    <li>
      <p class="what">
        ${state(result)} <strong>${found}</strong>
        ${number > 1 && html`<span class="soft">${`(${count(number)})`}</span>`}
        ${linked && all !== undefined && html`<a href=${all}>Look at them</a>`}
      </p>
      <p>${advice}</p>
      ${
        shown.length > 0 &&
        html`<ul class="examples">
          ${shown.map((example) => html`<li>${linked && one !== undefined ? one(example) : html`<code>${example}</code>`}</li>`)}
          ${examples.length > shown.length && html`<li class="soft">${`and ${count(number - shown.length)} more`}</li>`}
        </ul>`
      }
    </li>
  `;
}

/** What fails stands before what warns. */
function byWeight(one: Check, other: Check): number {
  return Number(other.result === 'fail') - Number(one.result === 'fail');
}
