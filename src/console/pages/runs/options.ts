/** A run's options, each with what it means. */
import { facts } from '../../elements/facts.ts';
import { type Html, html } from '../../html.ts';
import * as words from './words.ts';

/** Ids that are listed; a run may name a hundred thousand. */
const LISTED = 50;

export function options(run: words.Run): Html {
  return facts([
    ['Kind', said(run.kind, words.RUN_KINDS[run.kind])],
    ['Pay frequency', run.pay_frequency],
    ['Pay group', run.pay_group ?? 'employees of any, or of none'],
    ['Scheme', said(run.scheme, words.SCHEMES[run.scheme])],
    ['Remainder', said(run.remainder, words.REMAINDERS[run.remainder])],
    ['Extra paycheck', said(run.extra_paycheck, words.EXTRA_PAYCHECKS[run.extra_paycheck])],
    ['Day that counts', said(run.applies_on, words.APPLIES_ON[run.applies_on])],
    ['Adjustments', said(run.adjustments, words.ADJUSTMENTS[run.adjustments])],
    ['Arrears', said(run.arrears, words.ARREARS[run.arrears])],
    ['Reason to differ from the policy', run.policy_reason],
    ['Pay dates', listed(run.pay_dates)],
    ['Only these employees', listed(run.employee_ids)],
    ['Only these deductions', listed(run.deductions)],
    ['Last paychecks', listed(run.final_checks)],
  ]);
}

function said(word: string, meaning: string): Html {
  return html`<span><strong>${word}</strong>${` – ${meaning}`}</span>`;
}

function listed(ids: readonly string[] | null): string | null {
  if (ids === null || ids.length === 0) return null;
  const more = ids.length - LISTED;
  return ids.slice(0, LISTED).join(', ') + (more > 0 ? `, and ${more} more` : '');
}
