/** The sentence at the top of a deduction: its amounts in paychecks now, and their reason. */
import type { ResultOf } from '../../../api/operation.ts';
import type { getTimelineOfDeduction } from '../../../api/operations/deductions.ts';
import { dayText } from '../../elements/format.ts';
import { eventOf } from '../../elements/links.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import {
  changeList,
  changesBetween,
  type Deduction,
  employerAdvice,
  sentence,
  spanOf,
  stateOn,
} from './terms.ts';

export type Timeline = ResultOf<typeof getTimelineOfDeduction>['versions'];

/** Renders that sentence. `timeline`: the versions that are in effect on some day, in the order of their days. */
export function deductedNow(
  deduction: Deduction,
  timeline: Timeline,
  visit: Pick<Visit, 'today' | 'may'>,
): Html {
  if (deduction.employer_id === null) {
    const advice = html`<p>${employerAdvice(deduction)}</p>`;
    return card('Payroll deducts nothing: its runs skip this deduction.', advice);
  }
  const { today } = visit;
  const place = timeline.findIndex(({ in_effect }) => stateOn(in_effect, today)[0] === 'in effect');
  const [current, previous] = [timeline[place], timeline[place - 1]];
  const next = timeline.find(({ in_effect: { from } }) => from !== null && from > today);
  if (current === undefined) return card(nothingNow(deduction, next, today));
  const change =
    next !== undefined &&
    html`<p>${`Then: ${sentence(next, next.in_effect)}, because of event `}${eventOf(next.event_id, visit)}.</p>`;
  return card(`Payroll deducts ${sentence(current, current.in_effect)}.`, [
    reasonOf(current, previous, eventOf(current.event_id, visit)),
    change,
  ]);
}

function card(lead: string, rest: Content = null): Html {
  return html`
    <section class="card" aria-label="What payroll deducts now">
      <p class="lead">${lead}</p>
      ${rest}
    </section>
  `;
}

/** Names the event of the version in effect, and what it changed since the version before. */
function reasonOf(current: Timeline[number], previous: Timeline[number] | undefined, event: Html): Html {
  if (previous === undefined)
    return html`<p>${'Because of event '}${event}${current.version === 1 && ', the first of this deduction'}.</p>`;
  return html`<div><p>${'Because of event '}${event}, which changed:</p>${changeList(changesBetween(previous, current))}</div>`;
}

function nothingNow(deduction: Deduction, next: Timeline[number] | undefined, today: string): string {
  if (next !== undefined) return `Payroll deducts nothing now. Later: ${sentence(next, next.in_effect)}.`;
  const { until } = spanOf(deduction);
  return until !== null && until < today
    ? `Payroll deducts nothing: the deduction ended on ${dayText(until)}.`
    : 'Payroll deducts nothing: the deduction is in effect on no date.';
}
