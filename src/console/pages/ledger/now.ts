/** The sentence at the top of a deduction: its amounts in paychecks now, and their reason. */
import type { Schemas } from '../../../client.ts';
import { dayText } from '../../elements/format.ts';
import { eventOf } from '../../elements/links.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { changeList, changesBetween, employerAdvice, sentence, spanOf, stateOn } from './terms.ts';

type Deduction = Schemas['Deduction'];
export type Timeline = Schemas['DeductionTimeline']['versions'];

/** `timeline`: the versions that are in effect on some day, in the order of their days. */
export function deductedNow(
  deduction: Deduction,
  timeline: Timeline,
  visit: Pick<Visit, 'today' | 'may'>,
): Html {
  const { today } = visit;
  const place = timeline.findIndex(({ in_effect }) => stateOn(in_effect, today)[0] === 'in effect');
  const [current, previous] = [timeline[place], timeline[place - 1]];
  const next = timeline.find(({ in_effect: { from } }) => from !== null && from > today);
  const isSkipped = deduction.employer_id === null;
  const reason: Content =
    current === undefined
      ? null
      : previous === undefined
        ? html`<p>${'Because of event '}${eventOf(current.event_id, visit)}${current.version === 1 && ', the first of this deduction'}.</p>`
        : html`<div><p>${'Because of event '}${eventOf(current.event_id, visit)}, which changed:</p>${changeList(changesBetween(previous, current))}</div>`;
  return html`
    <section class="card" aria-label="What payroll deducts now">
      <p class="lead">${isSkipped ? 'Payroll deducts nothing: its runs skip this deduction.' : current === undefined ? nothingNow(deduction, next, today) : `Payroll deducts ${sentence(current, current.in_effect)}.`}</p>
      ${isSkipped && html`<p>${employerAdvice(deduction)}</p>`}
      ${!isSkipped && reason}
      ${!isSkipped && current !== undefined && next !== undefined && html`<p>${`Then: ${sentence(next, next.in_effect)}, because of event `}${eventOf(next.event_id, visit)}.</p>`}
    </section>
  `;
}

function nothingNow(deduction: Deduction, next: Timeline[number] | undefined, today: string): string {
  if (next !== undefined) return `Payroll deducts nothing now. Later: ${sentence(next, next.in_effect)}.`;
  const { until } = spanOf(deduction);
  return until !== null && until < today
    ? `Payroll deducts nothing: the deduction ended on ${dayText(until)}.`
    : 'Payroll deducts nothing: the deduction is in effect on no date.';
}
