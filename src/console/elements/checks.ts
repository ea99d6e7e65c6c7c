/** Readiness checks, each with a link to the page that fixes it, and the notice that sending is paused. */
import type { Schemas } from '../../client.ts';
import type { Scope } from '../../security/tokens.ts';
import { need } from '../api-client.ts';
import { type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { state } from './facts.ts';
import { count, money, since } from './format.ts';
import { address, censusPath, employeeLink, eventLink, idLink, runLink, runPath } from './links.ts';

type Readiness = Schemas['Readiness'];
type Check = Readiness['checks'][number];

/** Examples shown of each check. */
const EXAMPLES_SHOWN = 5;

/** How a finding is named, and where one example (`one`) and all of them (`all`) are fixed. */
export type Known = {
  found: string;
  scope?: Scope;
  one?: (example: string) => Html;
  all?: string;
  /** The text of the link to `all`, if it isn't a list of the findings. */
  label?: string;
};
const events = { scope: 'events:read', one: eventLink } as const;
const changes = { scope: 'changes:read' } as const;
const employees = { scope: 'ledger:read', one: employeeLink } as const;
const census = { scope: 'census:read', all: '/census', label: 'Census' } as const;

/** The checks of the ledger. */
export const KNOWN: Readonly<Record<string, Known>> = {
  'data-loss': { found: 'The database lost data' },
  'events-pending': { found: 'Events are not applied yet', ...events, all: '/events?state=pending' },
  'events-quarantined': {
    found: 'Events are quarantined',
    ...events,
    all: address('/events', { state: 'quarantined', dismissed: 'false' }),
  },
  'events-in-conflict': {
    found: 'One event ID arrived with two bodies',
    ...events,
    all: '/events?conflict=true',
  },
  'ties-changed-content': { found: 'Two events of the same time disagree', ...events },
  'events-future-dated': { found: 'Events are dated in the future', ...events },
  'events-unattributed': {
    found: 'Events belong to no known employer',
    scope: 'ledger:read',
    all: '/',
    label: 'Readiness of all employers',
  },
  'events-stale': {
    found: 'No events received for longer than EVENTS_SILENT_AFTER',
    scope: 'events:read',
    all: '/events',
    label: 'Events',
  },
  'signatures-refused': { found: 'Webhook deliveries were rejected' },
  'circuit-breaker-paused': { found: 'Sending is paused: the service rejects the address or the API key' },
  'sending-stalled': { found: 'Sending to the service is stalled' },
  'requests-rejected': {
    found: 'The service rejected employment changes',
    ...changes,
    all: '/changes?state=rejected',
  },
  'requests-stuck': {
    found: 'Employment changes are waiting to be sent',
    ...changes,
    all: '/changes?state=pending',
  },
  'census-syncs': { found: 'A census upload is due', ...census },
  'deductions-unmatched': {
    found: 'Deductions of employees in no census',
    ...employees,
    all: '/ledger?matched=false',
  },
  'employer-unknown': { found: 'This employer is unknown', ...census },
  'disk-space': { found: 'The disk is almost full' },
  'employees-with-two-employers': { found: 'Employees are active with two employers', ...employees },
};

/** Links the id of an example such as `emp-1: -3.00`, and formats an amount after it. */
const withText = (link: (id: string) => Html) => (example: string) => {
  const at = example.lastIndexOf(': ');
  return at === -1
    ? link(example)
    : html`<span>${link(example.slice(0, at))}${`: ${money(example.slice(at + 2))}`}</span>`;
};

/** The checks of a payroll run: an employee links to their lines in the run, a check to the lines with its flag. */
export function knownOf({
  id,
  employer_id,
}: {
  readonly id: string;
  readonly employer_id: string;
}): Readonly<Record<string, Known>> {
  const path = runPath(id);
  const one = (employee_id: string) => idLink(address(path, { employee_id }), employee_id);
  const flagged = (flag: string) => ({ one, all: `${address(path, { flag })}#lines` });
  const settings = { all: address('/settings', { employer_id }), label: 'Payroll settings' };
  const censusOfEmployer = { scope: 'census:read', all: censusPath(employer_id), label: 'Census' } as const;
  return {
    'employees-with-two-employers': { found: 'Employees are active with two employers', one },
    'census-completed': { found: 'The service has not processed a census recently', ...censusOfEmployer },
    'ledger-empty': { found: 'No employee of this employer has ever had a deduction', ...censusOfEmployer },
    'employees-without-frequency': {
      found: 'Employees have no known pay frequency',
      ...censusOfEmployer,
      one,
    },
    'employees-without-pay-group': { found: 'Employees have no known pay group', ...censusOfEmployer, one },
    overlap: { found: 'Two deductions for one line of coverage', ...flagged('overlap') },
    'periods-overlap': { found: 'Another run already pays days of this pay period', one: withText(runLink) },
    'employees-not-scheduled': {
      found: 'Employees with deductions are on no pay schedule',
      ...settings,
      one,
    },
    'population-narrowed': { found: 'Employees of this pay frequency are left out' },
    'start-moved': { found: 'A moved start date needs a decision', one: withText(one) },
    'start-corrected': { found: 'Start dates moved to a later date', one },
    'missed-checks': { found: 'Employees missed a paycheck', ...flagged('missed_check') },
    'retro-pre-tax': { found: 'Pre-tax deductions rise for past paychecks', ...flagged('retro_pre_tax') },
    'negative-total': { found: 'Deductions total less than zero', one: withText(one) },
    'coverage-beyond-last-check': {
      found: 'Coverage continues after the last paycheck',
      ...flagged('coverage_beyond_last_check'),
    },
    'termination-contradicted': { found: 'A census contradicts a termination', ...censusOfEmployer, one },
    'codes-missing': { found: 'Lines have no payroll code', ...settings },
    'calendar-assumed': { found: 'The pay dates of the year are assumed', ...settings },
    'calendar-differs': { found: 'The pay dates changed since the previous run', ...settings },
    'policy-differs': { found: 'The payroll policy changed since the previous run', ...settings },
    'pay-date-skipped': { found: 'Earlier pay dates have no finalized run', ...settings },
    'period-differs-from-schedule': { found: 'The pay schedule has a different pay period', ...settings },
    'open-after-termination': {
      found: 'Deductions continue after employment ended',
      ...flagged('open_after_termination'),
    },
    'absent-from-census': {
      found: 'Employees are missing from the newest census',
      ...flagged('absent_from_census'),
    },
    'frequency-mismatch': {
      found: 'Deductions are for a different pay frequency',
      ...flagged('frequency_mismatch'),
    },
  };
}

/** Names checks of a run: `Lines have no payroll code; Deductions total less than zero`. */
export function checkNames(ids: readonly string[], run: Parameters<typeof knownOf>[0]): string {
  const known = { ...KNOWN, ...knownOf(run) };
  return ids.map((id) => known[id]?.found ?? id).join('; ');
}

/** Renders whether a run can be finalized. */
export function readinessOf(
  readiness: Readiness,
  run: { readonly id: string; readonly employer_id: string },
  visit: Pick<Visit, 'may'>,
): Html {
  const { ready } = readiness;
  return html`
    <section id="readiness" class=${`card readiness ${ready ? 'good' : 'bad'}`} aria-labelledby="readiness-title">
      <h2 id="readiness-title">${ready ? 'Ready to finalize' : 'Not ready'}</h2>
      ${!ready && html`<p>Fix the failed checks, or accept their findings with a reason when you finalize.</p>`}
      ${checkList(readiness, visit, { ...KNOWN, ...knownOf(run) })}
    </section>
  `;
}

/** Lists failed checks, then warnings, then the passed ones. */
export function checkList(
  { checks, checked_at }: Readiness,
  visit: Pick<Visit, 'may'>,
  known: Readonly<Record<string, Known>> = KNOWN,
): Html {
  const passed = checks.filter(({ result }) => result === 'pass');
  const found = checks
    .filter(({ result }) => result !== 'pass')
    .sort((one, other) => Number(other.result === 'fail') - Number(one.result === 'fail'));
  return html`
    ${found.length > 0 && html`<ul class="checks">${found.map((check) => checkOf(check, visit, known[check.id]))}</ul>`}
    <details class="passed">
      <summary>${`${passed.length} of ${checks.length} checks passed`}</summary>
      <ul>${passed.map(({ advice }) => html`<li>${advice}</li>`)}</ul>
      <p class="hint">${`Checked at ${checked_at.slice(11, 19)} UTC.`}</p>
    </details>
  `;
}

function checkOf(check: Check, { may }: Pick<Visit, 'may'>, known: Known = { found: check.id }): Html {
  const { result, advice, count: number, examples } = check;
  const { found, scope, one, all, label = 'Show all' } = known;
  const isLinked = scope === undefined || may(scope);
  const shown = examples.slice(0, EXAMPLES_SHOWN);
  return html`
    <li>
      <p class="what">
        ${state(result)} <strong>${found}</strong>
        ${number > 1 && html`<span class="soft">${`(${count(number)})`}</span>`}
        ${isLinked && all !== undefined && html`<a href=${all}>${label}</a>`}
      </p>
      <p>${advice}</p>
      ${!isLinked && html`<p class="hint">${`To fix this, your token needs the scope ${scope}.`}</p>`}
      ${
        shown.length > 0 &&
        html`<ul class="examples">
          ${shown.map((example) => html`<li>${isLinked && one !== undefined ? one(example) : html`<code>${example}</code>`}</li>`)}
          ${examples.length > shown.length && html`<li class="soft">${`and ${count(number - shown.length)} more`}</li>`}
        </ul>`
      }
    </li>
  `;
}

/** Explains why sending is paused; null while it is active, or for a user who may not see it. */
export async function pausedNotice({ api, may, now }: Visit): Promise<Html | null> {
  if (may('metrics:read')) {
    const { state, reason, paused_at } = need(await api.GET('/v1/activity')).circuit_breaker;
    return state === 'active' ? null : notice(reason, paused_at && since(paused_at, now));
  }
  if (!may('ledger:read')) return null;
  const { checks } = need(await api.GET('/v1/readiness'));
  const check = checks.find(({ id }) => id === 'circuit-breaker-paused');
  // The example of this check includes the time.
  return check === undefined || check.result === 'pass' ? null : notice(check.examples[0] ?? null, null);
}

function notice(reason: string | null, pausedSince: Html | '' | null): Html {
  return html`
    <section class="problem paused" aria-labelledby="sending-paused">
      <h2 id="sending-paused">Sending is paused</h2>
      <p>${reason}${pausedSince && [', since ', pausedSince]}</p>
      <p>
        ${'The service rejects the base address or the API key. Correct '}<code>BENEFITS_BASE_URL</code>${' or '}<code>BENEFITS_API_KEY</code>${'. Sending resumes automatically, and no request is lost.'}
      </p>
    </section>
  `;
}
