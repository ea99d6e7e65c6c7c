/** Readiness checks, each with a link to the page that fixes it, and the notice that sending is paused. */
import type { Schemas } from '../../client.ts';
import type { Scope } from '../../security/tokens.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { state } from './facts.ts';
import { count, money, since } from './format.ts';
import * as links from './links.ts';
import { unappliedNotice } from './unapplied.ts';

type Readiness = Schemas['Readiness'];
type Run = { readonly id: string; readonly employer_id: string };

/** The quarantined events that need a decision. */
export const QUARANTINED = links.address('/events', { state: 'quarantined', dismissed: 'false' });
const EXAMPLES_SHOWN = 5;

/** Where one example (`one`) and all findings (`all`) of a check are fixed. `label`: the text of the link to `all`. */
type Fixed = { scope?: Scope; one?: (example: string) => Html; all?: string; label?: string };
type Names = Readonly<Record<string, readonly [found: string, fixed?: Fixed]>>;

const TWO_EMPLOYERS = 'Employees are active with two employers';
const events = (all?: string): Fixed => ({ scope: 'events:read', one: links.eventLink, ...(all && { all }) });
const changes = (all: string): Fixed => ({ scope: 'changes:read', all });
const employees: Fixed = { scope: 'ledger:read', one: links.employeeLink };
const census = (all: string): Fixed => ({ scope: 'census:read', all, label: 'Census' });

const allEmployers: Fixed = { scope: 'ledger:read', all: '/', label: 'Readiness of all employers' };

/** Links the event of an example such as `msg_1: emp-1, medical`, which may also be the event alone. */
function quarantined(example: string): Html {
  const [, event = example, names = ''] = /^(.*?)(: .*)$/s.exec(example) ?? [];
  return html`<span>${links.eventLink(event)}${names}</span>`;
}

/** The checks of the ledger. */
export const KNOWN: Names = {
  'data-loss': ['The database lost data'],
  'events-pending': ['Events are not applied yet', events('/events?state=pending')],
  'events-quarantined': ['Events are quarantined', { ...events(QUARANTINED), one: quarantined }],
  'events-in-conflict': ['One event ID arrived with two bodies', events('/events?conflict=true')],
  'ties-changed-content': ['Two events with the same time have different contents', events()],
  'events-future-dated': ['Events are dated in the future', events()],
  'events-unattributed': ['Events belong to no known employer', allEmployers],
  'events-stale': [
    'No events received for longer than EVENTS_SILENT_AFTER',
    { scope: 'events:read', all: '/events', label: 'Events' },
  ],
  'signatures-refused': ['Webhook deliveries were rejected'],
  'circuit-breaker-paused': ['Sending is paused: the service rejects the address or the API key'],
  'sending-stalled': ['Sending to the service is stalled'],
  'requests-rejected': ['The service rejected employment changes', changes('/changes?state=rejected')],
  'requests-stuck': ['Employment changes are waiting to be sent', changes('/changes?state=pending')],
  'census-syncs': ['A census upload is due', census('/census')],
  'deductions-unmatched': [
    'Deductions of employees in no census',
    { ...employees, all: '/ledger?matched=false' },
  ],
  'employer-unknown': ['This employer is unknown', census('/census')],
  'disk-space': ['The disk is almost full'],
  clock: ['The clock of the sidecar may be wrong'],
  'employees-with-two-employers': [TWO_EMPLOYERS, employees],
};

/** Links the id of an example such as `emp-1: -3.00`, and formats an amount after it. */
const withText = (link: (id: string) => Html) => (example: string) => {
  const at = example.lastIndexOf(': ');
  return at === -1
    ? link(example)
    : html`<span>${link(example.slice(0, at))}${`: ${money(example.slice(at + 2))}`}</span>`;
};

/** Links an example such as `emp-1: deduction ded-3, version 1 of 2026-07-01 or 2 of 2026-08-01` to the decision. */
function startDecision(example: string): Html {
  const [idAt, versionAt] = [example.lastIndexOf(': deduction '), example.lastIndexOf(', version ')];
  const employee = example.slice(0, idAt);
  const deduction = example.slice(idAt + ': deduction '.length, versionAt);
  const [, version, starts] = /^, version (\d+) of (\S+ or \d+ of \S+)$/.exec(example.slice(versionAt)) ?? [];
  const path = links.pathOf('/deductions', deduction);
  if (version === undefined || path === null) return html`<span>${example}</span>`;
  return html`<span>${`${employee}: deduction `}${links.idLink(links.address(path, { decide: version }), deduction)}${`, version ${version} of ${starts}`}</span>`;
}

/** The checks of a payroll run: an employee links to their lines in the run, a check to the lines with its flag. */
export function knownOf({ id, employer_id }: Run): Names {
  const path = links.runPath(id);
  const one = (employeeId: string) => links.runEmployeeLink(id, employeeId);
  const flagged = (flag: string): Fixed => ({ one, all: `${links.address(path, { flag })}#lines` });
  const settings: Fixed = { all: links.address('/settings', { employer_id }), label: 'Payroll settings' };
  const ofEmployer = census(links.censusPath(employer_id));
  return {
    'employees-with-two-employers': [TWO_EMPLOYERS, { one }],
    'census-completed': ['The service has not processed a census recently', ofEmployer],
    'ledger-empty': ['No employee of this employer has ever had a deduction', ofEmployer],
    'employees-without-frequency': ['Employees have no known pay frequency', { ...ofEmployer, one }],
    'employees-without-pay-group': ['Employees have no known pay group', { ...ofEmployer, one }],
    overlap: ['Two deductions for one line of coverage', flagged('overlap')],
    'periods-overlap': ['Another run covers days of this pay period', { one: withText(links.runLink) }],
    'employees-not-scheduled': ['Employees with deductions are on no pay schedule', { ...settings, one }],
    'population-narrowed': ['Employees of this pay frequency are left out'],
    'start-moved': ['A moved start date needs a decision', { scope: 'ledger:read', one: startDecision }],
    'start-corrected': ['Start dates moved to a later date', { one }],
    'missed-checks': ['Employees missed a paycheck', flagged('missed_check')],
    'retro-pre-tax': ['Pre-tax deductions rise for past paychecks', flagged('retro_pre_tax')],
    'negative-total': ['Deductions total less than zero', { one: withText(one) }],
    'coverage-beyond-last-check': [
      'Coverage continues after the last paycheck',
      flagged('coverage_beyond_last_check'),
    ],
    'termination-contradicted': ['A census contradicts a termination', { ...ofEmployer, one }],
    'codes-missing': ['Lines have no payroll code', settings],
    'calendar-assumed': ['The pay dates of the year are assumed', settings],
    'calendar-differs': ['The pay dates changed since the previous run', settings],
    'policy-differs': ['The payroll policy changed since the previous run', settings],
    'pay-date-skipped': ['Earlier pay dates have no finalized run', settings],
    'period-differs-from-schedule': ['The pay schedule has a different pay period', settings],
    'open-after-termination': [
      'Deductions continue after employment ended',
      flagged('open_after_termination'),
    ],
    'absent-from-census': ['Employees are missing from the newest census', flagged('absent_from_census')],
    'frequency-mismatch': ['Deductions are for a different pay frequency', flagged('frequency_mismatch')],
  };
}

/** Names checks of a run: `Lines have no payroll code; Deductions total less than zero`. */
export function checkNames(ids: readonly string[], run: Run): string {
  const names = { ...KNOWN, ...knownOf(run) };
  return ids.map((id) => names[id]?.[0] ?? id).join('; ');
}

export function readinessOf(readiness: Readiness, run: Run, visit: Visit): Html {
  const { ready } = readiness;
  return html`
    <section id="readiness" class=${`card readiness ${ready ? 'good' : 'bad'}`} aria-labelledby="readiness-title">
      <h2 id="readiness-title">${ready ? 'Ready to finalize' : 'Not ready'}</h2>
      ${!ready && html`<p>Fix the failed checks, or accept their findings with a reason when you finalize.</p>`}
      ${checkList(readiness, visit, { ...KNOWN, ...knownOf(run) }, (id) => links.runEmployeeLink(run.id, id))}
    </section>
  `;
}

/** Lists failed checks, then warnings, then the passed ones. */
export function checkList(
  { checks, checked_at }: Readiness,
  visit: Visit,
  names = KNOWN,
  nameOf: (employeeId: string) => Html = links.employeeLink,
): Html {
  const { pass = [], warn = [], fail = [] } = Object.groupBy(checks, ({ result }) => result);
  const found = [...fail, ...warn];
  const unapplied = checks.flatMap((check) => check.unapplied ?? []);
  return html`
    ${found.length > 0 && html`<ul class="checks">${found.map((check) => checkOf(check, visit, names))}</ul>`}
    ${unappliedNotice(unapplied, visit, nameOf)}
    <details class="passed">
      <summary>${`${pass.length} of ${checks.length} checks passed`}</summary>
      <ul>${pass.map(({ advice }) => html`<li>${advice}</li>`)}</ul>
      <p class="hint">${`Checked at ${checked_at.slice(11, 19)} UTC.`}</p>
    </details>
  `;
}

function checkOf(check: Readiness['checks'][number], { may }: Visit, names: Names): Html {
  const { id, result, advice, count: number, examples } = check;
  const [found, { scope, one, all, label = 'Show all' } = {}] = names[id] ?? [id];
  const isLinked = scope === undefined || may(scope);
  const shown = examples.slice(0, EXAMPLES_SHOWN).map((example) => {
    return html`<li>${isLinked && one !== undefined ? one(example) : html`<code>${example}</code>`}</li>`;
  });
  const more =
    examples.length > shown.length &&
    html`<li class="soft">${`and ${count(number - shown.length)} more`}</li>`;
  return html`
    <li>
      <p class="what">
        ${state(result)} <strong>${found}</strong>
        ${number > 1 && html`<span class="soft">${`(${count(number)})`}</span>`}
        ${isLinked && all !== undefined && html`<a href=${all}>${label}</a>`}
      </p>
      <p>${advice}</p>
      ${!isLinked && html`<p class="hint">${`To fix this, your token needs the scope ${scope}.`}</p>`}
      ${shown.length > 0 && html`<ul class="examples">${shown}${more}</ul>`}
    </li>
  `;
}

/** Explains why sending is paused; null while it is active, or for a user who may not see it. */
export async function pausedNotice({ api, may, now }: Visit): Promise<Html | null> {
  if (may('metrics:read')) {
    const { state, reason, paused_at } = (await api.get('/v1/activity')).circuit_breaker;
    return state === 'active' ? null : notice([reason, paused_at && [', since ', since(paused_at, now)]]);
  }
  if (!may('ledger:read')) return null;
  const { checks } = await api.get('/v1/readiness');
  const check = checks.find(({ id }) => id === 'circuit-breaker-paused');
  // The example of this check includes the time.
  return check === undefined || check.result === 'pass' ? null : notice(check.examples[0]);
}

function notice(reason: Content): Html {
  return html`
    <section class="problem paused" aria-labelledby="sending-paused">
      <h2 id="sending-paused">Sending is paused</h2>
      <p>${reason}</p>
      <p>${'The service rejects the base address or the API key. Correct '}<code>BENEFITS_BASE_URL</code>${' or '}<code>BENEFITS_API_KEY</code>${'. Sending resumes automatically, and no request is lost.'}</p>
    </section>
  `;
}
