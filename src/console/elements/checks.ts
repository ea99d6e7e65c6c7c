/** Readiness checks, each with a link to the page that fixes it, and the notice that sending is paused. */
import type { ResultOf } from '../../api/operation.ts';
import { getActivity } from '../../api/operations/activity.ts';
import { getReadiness, isBlocking, titleOfCheck } from '../../api/operations/readiness.ts';
import type { Scope } from '../../security/scopes.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { state } from './facts.ts';
import { actorName, clock, count, lacksScope, plain, sentence, since, withInstants } from './format.ts';
import * as links from './links.ts';
import { unappliedNotice } from './unapplied.ts';

type Readiness = ResultOf<typeof getReadiness>;
type Check = Readiness['checks'][number];
export type Run = { readonly id: string; readonly employer_id: string };

/** The quarantined events that need a decision. */
export const QUARANTINED = links.address('/events', { state: 'quarantined', dismissed: 'false' });
const EXAMPLES_SHOWN = 5;
/** The API shows these examples to a user who may not see the finding. They name no record to link. */
const HIDDEN: ReadonlySet<string> = new Set(['another employer', 'not visible to this token']);

/**
 * Where one example (`example`) and all findings (`all`) of a check are fixed. `label`: the text of the link to `all`.
 * `ofAllEmployers`: on a page that refuses users who are limited to employers.
 */
type Fixed = {
  scope?: Scope;
  example?: (example: string) => Html;
  all?: string;
  label?: string;
  ofAllEmployers?: true;
};
export type Fixes = Readonly<Partial<Record<string, Fixed>>>;

const events = (all?: string): Fixed => ({
  scope: 'events:read',
  ofAllEmployers: true,
  example: links.eventLink,
  ...(all && { all }),
});
const census = (all: string): Fixed => ({
  ...{ scope: 'census:read', all, label: 'Census' },
  example: ofEmployer,
});
/** The requests that are not delivered, of an employer or of all. */
const requests = (employer_id?: string): Fixes => {
  const changes = (state: string): Fixed => ({
    scope: 'changes:read',
    all: links.address('/changes', { state, employer_id }),
    example: request,
  });
  return {
    'requests-rejected': changes('rejected'),
    'requests-held': changes('pending'),
    'requests-stuck': changes('pending'),
  };
};

/** Links the employer of an example such as `acme: waiting, requested 2026-07-13T09:00:00.000Z`, which may also be the employer alone. */
function ofEmployer(example: string): Html {
  const [, employer = example, text = ''] = /^(.*?)(: .*)$/s.exec(example) ?? [];
  return html`<span>${links.censusLink(employer)}${withInstants(text)}</span>`;
}

/** Links an example such as `termination chg_1: status 422` to the change, or `census of acme: status 404` to the census. */
function request(example: string): Html {
  const [, kind = '', id = '', text = ''] = /^(census of|\S+) (.*)(: .*)$/s.exec(example) ?? [];
  if (id === '') return html`<span>${example}</span>`;
  const link = kind === 'census of' ? links.censusLink(id) : links.idLink(links.changePath(id), id);
  return html`<span>${`${kind} `}${link}${withInstants(text)}</span>`;
}

const allEmployers: Fixed = {
  scope: 'ledger:read',
  ofAllEmployers: true,
  all: '/operations',
  label: 'Readiness of all employers',
};

/** Links the event of an example such as `msg_1: emp-1, medical`, which may also be the event alone. */
function quarantined(example: string): Html {
  const [, event = example, names = ''] = /^(.*?)(: .*)$/s.exec(example) ?? [];
  return html`<span>${links.eventLink(event)}${names}</span>`;
}

/** Links an example such as `emp-1: deduction ded-3` to the employee and to the assignment of the deduction. */
function unassigned(example: string): Html {
  const at = example.lastIndexOf(': deduction ');
  const deduction = example.slice(at + ': deduction '.length);
  const path = links.pathOf('/deductions', deduction);
  if (at === -1 || path === null) return html`<span>${example}</span>`;
  const link = links.idLink(links.address(path, { assign: 'true' }), deduction);
  return html`<span>${links.employeeLink(example.slice(0, at))}${': deduction '}${link}</span>`;
}

type LinkTo = (id: string) => Html;

/**
 * Links the id of an example such as `emp-1: medical -3.00`, and formats the amounts and days after it. `action`: what can
 * be done about it.
 */
const withText =
  (link: LinkTo, action: LinkTo | false = false) =>
  (example: string) => {
    const at = example.lastIndexOf(': ');
    if (at === -1) return link(example);
    const id = example.slice(0, at);
    return html`<span>${link(id)}${sentence(example.slice(at))}${action !== false && html` ${action(id)}`}</span>`;
  };

/** The checks of the ledger whose findings are fixed on a page of the console. */
export const LEDGER_FIXES: Fixes = {
  'events-pending': events('/events?state=pending'),
  'events-quarantined': { ...events(QUARANTINED), example: quarantined },
  'events-in-conflict': events('/events?conflict=true'),
  'ties-changed-content': events(),
  'events-future-dated': events(),
  'events-unattributed': allEmployers,
  'events-stale': { scope: 'events:read', ofAllEmployers: true, all: '/events', label: 'Events' },
  ...requests(),
  'census-syncs': census('/census'),
  'census-held': census('/census?state=held'),
  'deductions-unmatched': { scope: 'ledger:read', example: unmatched, all: '/ledger?matched=false' },
  'never-in-effect': { scope: 'ledger:read', example: withText(links.employeeLink) },
  'starts-far-ahead': { scope: 'ledger:read', example: withText(links.employeeLink) },
  'employer-unknown': census('/census'),
  'employees-with-two-employers': { scope: 'ledger:read', example: unassigned },
};

/** Links an example such as `00123: the census has 123`; not `2 of no known employer`. */
function unmatched(example: string): Html {
  return / of no known employer$/.test(example)
    ? html`<span>${example}</span>`
    : withText(links.employeeLink)(example);
}

/** Renders an example such as `vision pre_tax employee` as `vision, pre-tax, employee`. */
function uncoded(example: string): Html {
  return html`<span>${example.split(' ').map(plain).join(', ')}</span>`;
}

/**
 * The same with the checks of a run: an employee links to their lines in the run, a check to the lines with its flag.
 * `may`: what the user may do; a link to a form is left out for users who may not send it.
 */
export function runFixes({ id, employer_id }: Run, may: Visit['may'] = () => false): Fixes {
  const path = links.runPath(id);
  const example = (employeeId: string) => links.runEmployeeLink(id, employeeId);
  const flagged = (flag: string): Fixed => ({ example, all: `${links.address(path, { flag })}#lines` });
  const override = (employee_id: string) => {
    const path = links.address(links.runPath(id, '/override'), { employee_id });
    return html`<a class="on-screen" href=${path}>Override one of them<span class="hidden-label">${` for ${employee_id}`}</span></a>`;
  };
  const items = (example: (text: string) => Html): Fixed => ({
    example,
    all: links.address('/open-items', { employer_id }),
    label: 'Decide about open items',
  });
  const settings: Fixed = {
    example: (text) => html`<span>${sentence(text)}</span>`,
    all: links.address('/settings', { employer_id }),
    label: 'Payroll settings',
  };
  const ofRun: Fixed = { ...census(links.censusPath(employer_id)), example: withInstants };
  return {
    ...LEDGER_FIXES,
    ...requests(employer_id),
    'census-syncs': ofRun,
    'census-held': ofRun,
    'census-completed': ofRun,
    'employer-unknown': ofRun,
    'ledger-empty': ofRun,
    'employees-without-frequency': { ...ofRun, example },
    'employees-without-pay-group': { ...ofRun, example },
    overlap: { example: withText(example, may('runs:write') && override) },
    'pay-date-taken': { example: links.runLink },
    'periods-overlap': { example: withText(links.runLink) },
    'employees-not-scheduled': { ...settings, example },
    'start-moved': { example: withText(example) },
    'renewal-erased': { example: withText(example) },
    'one-day-window': { example: withText(example, may('runs:write') && override) },
    'end-at-midnight': { example: withText(example, may('runs:write') && override) },
    'first-month-ahead': { example: withText(example) },
    'transfer-unknown': { example: withText(example) },
    'refund-waits': items(withText(example)),
    'start-corrected': { example },
    'missed-checks': items(example),
    'retro-pre-tax': items(withText(example)),
    'retro-refund': items(withText(example)),
    'paid-after-termination': { example: withText(example) },
    'negative-total': items(withText(example)),
    'override-outdated': { example: withText(example) },
    'coverage-beyond-last-check': { ...flagged('coverage_beyond_last_check'), example: withText(example) },
    'final-check-empty': { example },
    'termination-contradicted': { ...ofRun, example },
    'codes-missing': { ...settings, example: uncoded },
    'no-pay-schedule': settings,
    'short-year': settings,
    'calendar-differs': settings,
    'pay-date-skipped': settings,
    'check-beyond-year': settings,
    'period-differs-from-schedule': settings,
    'open-after-termination': { ...flagged('open_after_termination'), example: withText(example) },
    'absent-from-census': { example },
    'frequency-moved': { example: withText(example) },
  };
}

/** Names checks: `Lines have no payroll code; Deductions total less than zero`. */
export function checkNames(ids: readonly string[]): string {
  return ids.map(titleOfCheck).join('; ');
}

/** Prefix of a check's checkbox, followed by the ID of the check. */
const ACCEPT = 'accept-';

/** Returns the ID of the checkbox that accepts the findings of a check. */
export function acceptanceId(checkId: string): string {
  return ACCEPT + checkId;
}

/** Returns the IDs of the checks whose findings a user accepts. */
export function acceptedIn(form: Visit['query']): string[] {
  return Object.keys(form).flatMap((name) => (name.startsWith(ACCEPT) ? [name.slice(ACCEPT.length)] : []));
}

/** The findings and checkboxes of checks on a page where a user accepts them. */
export type Accepting = {
  readonly findings: ReadonlyMap<string, readonly Html[]>;
  /** The results that a user may accept; none if the user may not. */
  readonly results: readonly Check['result'][];
  /** The checks that are selected. */
  readonly selected: readonly string[];
};

/** Reports whether a user may select a check. Of the warnings, only those with a finding that can be remembered. */
export function isChoice({ id, result }: Check, accepting: Accepting | undefined): boolean {
  if (accepting?.results.includes(result) !== true || isBlocking(id)) return false;
  return result !== 'warn' || accepting.findings.has(id);
}

/** Lists failed checks, then warnings, accepted findings, and the passed checks. */
export function checkList(
  { checks, checked_at }: Readiness,
  visit: Visit,
  fixes = LEDGER_FIXES,
  nameOf: (employeeId: string) => Html = links.employeeLink,
  accepting?: Accepting,
): Html {
  const { pass = [], warn = [], fail = [], accepted = [] } = Object.groupBy(checks, ({ result }) => result);
  const problems = [...fail, ...warn, ...accepted];
  const unapplied = checks.flatMap((check) => check.unapplied ?? []);
  return html`
    ${problems.length > 0 && html`<ul class="checks">${problems.map((check) => checkOf(check, visit, fixes, accepting))}</ul>`}
    ${unappliedNotice(unapplied, visit, nameOf)}
    <details class="passed">
      <summary>${`${pass.length} of ${checks.length} checks passed`}</summary>
      <ul>${pass.map(({ advice }) => html`<li>${withInstants(advice)}</li>`)}</ul>
      <p class="hint">${'Checked at '}${clock(checked_at)}.</p>
    </details>
  `;
}

function checkOf(check: Check, { may, caller }: Visit, fixes: Fixes, accepting?: Accepting): Html {
  const { id, result, advice, count: number, examples, accepted } = check;
  const { scope, example: linked, all, label = 'Show all', ofAllEmployers = false } = fixes[id] ?? {};
  const isRefused = ofAllEmployers && caller?.employers != null;
  const isLinked = !isRefused && (scope === undefined || may(scope));
  const obstacle = isRefused
    ? 'To fix this, ask an operator: you are limited to employers.'
    : scope !== undefined && lacksScope('To fix this', scope);
  const shown =
    accepting?.findings.get(id) ??
    examples
      .slice(0, EXAMPLES_SHOWN)
      .map((example) => (isLinked ? linkedExample(linked, example) : withInstants(example)));
  const more =
    number > shown.length &&
    shown.length > 0 &&
    html`<li class="soft">${`and ${count(number - shown.length)} more`}</li>`;
  return html`
    <li id=${`check-${id}`}>
      <p class="what">
        ${isChoice(check, accepting) ? choiceOf(check, accepting) : html`${state(result)} <strong>${titleOfCheck(id)}</strong>`}
        ${number > 1 && html`<span class="soft">${`(${count(number)})`}</span>`}
        ${isLinked && all !== undefined && html`<a class="on-screen" href=${all}>${label}</a>`}
      </p>
      <p>${advice}</p>
      ${!isLinked && html`<p class="hint">${obstacle}</p>`}
      ${shown.length > 0 && html`<ul class="examples">${shown.map((example) => html`<li>${example}</li>`)}${more}</ul>`}
      ${accepted.slice(0, EXAMPLES_SHOWN).map(({ example, reason, accepted_by }) => html`<p class="hint">${`Accepted by ${actorName(accepted_by)}: ${sentence(example)}, ${reason}`}</p>`)}
    </li>
  `;
}

/** Renders the example of a finding with the links of its check. */
export function linkedExample(linked: Fixed['example'], example: string): Html {
  return linked === undefined || HIDDEN.has(example) ? withInstants(example) : linked(example);
}

function choiceOf({ id, result }: Check, accepting: Accepting | undefined): Html {
  const name = acceptanceId(id);
  const isSelected = accepting?.selected.includes(id) === true;
  return html`<input type="checkbox" name=${name} id=${name} value="yes" checked=${isSelected} /> ${state(result)} <label for=${name}>${titleOfCheck(id)}</label>`;
}

/** Explains why sending is paused; null while it is active, or for a user who may not see it. */
export async function pausedNotice({ api, may, now, caller }: Visit): Promise<Html | null> {
  if (may('metrics:read')) {
    const { state, reason, paused_at } = (await api.perform(getActivity)).circuit_breaker;
    return state === 'active' ? null : notice([reason, paused_at && [', since ', since(paused_at, now)]]);
  }
  if (!may('ledger:read')) return null;
  // A token limited to employers gets the report of one of them. This check is the same in each.
  const { checks } = await api.perform(getReadiness, { query: { employer_id: caller?.employers?.[0] } });
  const check = checks.find(({ id }) => id === 'circuit-breaker-paused');
  // The example of this check includes the time. A limited token gets none.
  return check === undefined || check.result === 'pass' ? null : notice(check.examples[0]);
}

function notice(reason: Content): Html {
  return html`
    <section class="problem paused" aria-labelledby="sending-paused">
      <h2 id="sending-paused">Sending is paused</h2>
      ${reason !== undefined && html`<p>${reason}</p>`}
      <p>${'The service rejects the base address or the API key. Correct '}<code>BENEFITS_BASE_URL</code>${' or '}<code>BENEFITS_API_KEY</code>${'. Sending resumes automatically, and no request is lost.'}</p>
    </section>
  `;
}
