/** Acts on each payroll that the user selected in a list, one after the other, and lists the outcomes. */
import { type ProblemDetails, Refusal } from '../../api/problem.ts';
import { idsIn } from '../elements/fields.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Act } from '../page.ts';
import { type Payroll, payrollsOf } from './payrolls.ts';
import { nameOf } from './runs/labels.ts';

/** The name of a payroll's box is this prefix and the id of the run. */
const RUN = 'run:';

/** Renders the box that selects a payroll. `etag`: of what the page shows of its run. */
export function payrollBox({ run_id, employer_id, pay_group }: Payroll, etag: string): Html {
  const label = ['Select', employer_id, pay_group].filter((part) => part !== null).join(' ');
  return html`<input type="checkbox" name=${RUN + run_id} value=${etag} aria-label=${label} />`;
}

/** Calls `work` for the run of each selected payroll, with the ETag of its box, and lists the outcomes above `links`. */
export async function eachSelected(
  act: Act,
  work: (run_id: string, etag: string) => Promise<Content>,
  links: Html,
): Promise<Html> {
  const chosen = idsIn(act.form, RUN);
  if (chosen.length === 0) throw new Refusal('INVALID_REQUEST', 'Select at least one payroll.');
  const payrolls = new Map((await payrollsOf(act)).map((payroll) => [payroll.run_id, payroll]));
  const outcomes: Html[] = [];
  for (const runId of chosen) {
    const outcome = await work(runId, act.form[RUN + runId] ?? '');
    const payroll = payrolls.get(runId);
    outcomes.push(html`<li>${payroll === undefined ? runId : nameOf(payroll)}${': '}${outcome}</li>`);
  }
  return html`
    <section aria-labelledby="outcomes" role="status">
      <h2 id="outcomes">What happened</h2>
      <ul>${outcomes}</ul>
      <p>${links}</p>
    </section>
  `;
}

/** Returns why nothing was done with a payroll, as a sentence. */
export function sentenceOf({ title, detail }: ProblemDetails): string {
  return detail ?? `${title}.`;
}
