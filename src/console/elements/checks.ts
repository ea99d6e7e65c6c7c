/** Readiness checks, each with a link to the page that fixes it, and the notice that sending is paused. */
import type { ResultOf } from '../../api/operation.ts';
import { getActivity } from '../../api/operations/activity.ts';
import { getReadiness, textsOfCheck, titleOfCheck } from '../../api/operations/readiness.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { state } from './facts.ts';
import { idsIn } from './fields.ts';
import { actionOn, findingIn, placeOf, type Run } from './finding.ts';
import { actorName, clock, count, since, withInstants } from './format.ts';
import * as links from './links.ts';

type Readiness = ResultOf<typeof getReadiness>;
type Check = Readiness['checks'][number];

/** The quarantined events that need a decision. */
export const QUARANTINED = links.address('/events', { state: 'quarantined', dismissed: 'false' });
const FINDINGS_SHOWN = 5;

/** Names checks: `Lines have no payroll code; Deductions total less than zero`. */
export function checkNames(ids: readonly string[]): string {
  return ids.map(titleOfCheck).join('; ');
}

/** Prefix of a check's checkbox, followed by the ID of the check. */
const ACCEPT = 'accept-';

export function acceptanceId(checkId: string): string {
  return ACCEPT + checkId;
}

export function acceptedIn(form: links.Query): string[] {
  return idsIn(form, ACCEPT);
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
  if (accepting?.results.includes(result) !== true || textsOfCheck(id).isBlocking) return false;
  return result !== 'warn' || accepting.findings.has(id);
}

/** Lists failed checks, then warnings, accepted findings, and the passed checks. */
export function checkList(
  { checks, checked_at }: Readiness,
  visit: Visit,
  run?: Run,
  accepting?: Accepting,
): Html {
  const { pass = [], warn = [], fail = [], accepted = [] } = Object.groupBy(checks, ({ result }) => result);
  const problems = [...fail, ...warn, ...accepted];
  return html`
    ${problems.length > 0 && html`<ul class="checks">${problems.map((check) => checkOf(check, visit, run, accepting))}</ul>`}
    <details class="passed">
      <summary>${`${pass.length} of ${checks.length} checks passed`}</summary>
      <ul>${pass.map(({ advice }) => html`<li>${withInstants(advice)}</li>`)}</ul>
      <p class="hint">${'Checked at '}${clock(checked_at)}.</p>
    </details>
  `;
}

function checkOf(check: Check, visit: Visit, run?: Run, accepting?: Accepting): Html {
  const { id, result, advice, count: number, findings, accepted } = check;
  const { link, obstacle } = placeOf(id, visit, run);
  const shown =
    accepting?.findings.get(id) ??
    findings
      .slice(0, FINDINGS_SHOWN)
      .map(
        (finding) =>
          html`${findingIn(finding, visit, run, check.unapplied)} ${actionOn(finding, visit, run)}`,
      );
  const more =
    number > shown.length &&
    shown.length > 0 &&
    findings.every(({ text }) => text !== undefined) &&
    html`<li class="soft">${`and ${count(number - shown.length)} more`}</li>`;
  return html`
    <li id=${`check-${id}`}>
      <p class="what">
        ${isChoice(check, accepting) ? choiceOf(check, accepting) : html`${state(result)} <strong>${titleOfCheck(id)}</strong>`}
        ${number > 1 && html`<span class="soft">${`(${count(number)})`}</span>`}
        ${link}
      </p>
      <p>${advice}</p>
      ${obstacle !== null && html`<p class="hint">${obstacle}</p>`}
      ${shown.length > 0 && html`<ul class="examples">${shown.map((finding) => html`<li>${finding}</li>`)}${more}</ul>`}
      ${accepted.slice(0, FINDINGS_SHOWN).map(({ reason, accepted_by, ...finding }) => html`<p class="hint">${`Accepted by ${actorName(accepted_by)}: `}${findingIn(finding, visit, run)}${`, ${reason}`}</p>`)}
    </li>
  `;
}

function choiceOf({ id, result }: Check, accepting: Accepting | undefined): Html {
  const name = acceptanceId(id);
  const isSelected = accepting?.selected.includes(id) === true;
  return html`<input type="checkbox" name=${name} id=${name} value="yes" checked=${isSelected} /> ${state(result)} <label for=${name}>${titleOfCheck(id)}</label>`;
}

/** Explains why sending is paused or off; null while it is active, or for a user who may not see it. */
export async function pausedNotice({ api, may, now, caller }: Visit): Promise<Html | null> {
  if (may('metrics:read')) {
    const { circuit_breaker, sending_off_since } = await api.perform(getActivity);
    if (sending_off_since !== null) return OFF;
    const { state, reason, paused_at } = circuit_breaker;
    return state === 'active' ? null : notice([reason, paused_at && [', since ', since(paused_at, now)]]);
  }
  if (!may('ledger:read')) return null;
  // A token limited to employers gets the report of one of them. These two checks are the same in each.
  const { checks } = await api.perform(getReadiness, { query: { employer_id: caller?.employers?.[0] } });
  if (checks.some(({ id, result }) => id === 'sending-off' && result !== 'pass')) return OFF;
  const check = checks.find(({ id }) => id === 'circuit-breaker-paused');
  // The finding includes the time. A limited token gets no text.
  return check === undefined || check.result === 'pass' ? null : notice(check.findings[0]?.text);
}

/** The banner of each page shows that this is a pilot. */
const OFF = html`
  <section class="problem paused" aria-labelledby="sending-off">
    <h2 id="sending-off">Sending is off</h2>
    <p>Censuses and changes fill the roster and are not sent. Syncs end as dismissed, changes as canceled.</p>
  </section>
`;

function notice(reason: Content): Html {
  return html`
    <section class="problem paused" aria-labelledby="sending-paused">
      <h2 id="sending-paused">Sending is paused</h2>
      ${reason !== undefined && html`<p>${reason}</p>`}
      <p>${'The service rejects the base address or the API key. Correct '}<code>BENEFITS_BASE_URL</code>${' or '}<code>BENEFITS_API_KEY</code>${'. Sending resumes automatically, and no request is lost.'}</p>
    </section>
  `;
}
