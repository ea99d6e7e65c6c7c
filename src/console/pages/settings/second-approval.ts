/** Whether an employer requires a second approval: requires it, and stops requiring it with two persons. */
import type { ResultOf } from '../../../api/operation.ts';
import { getSecondApproval, putSecondApproval } from '../../../api/operations/payroll-run-approvals.ts';
import { facts } from '../../elements/facts.ts';
import { hiddenFields, reasonField } from '../../elements/fields.ts';
import { actorName, instant } from '../../elements/format.ts';
import { address } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';
import { type Console, mayApprove, type Visit } from '../../page.ts';

type Change = Pick<ResultOf<typeof getSecondApproval>, 'required' | 'switching_off'>;

const PATH = '/settings/second-approval';
const REQUIRE = { required: 'true', label: 'Require a second approval' };
const KEEP = { required: 'true', label: 'Keep requiring it' };
const REQUEST = { required: 'false', label: 'Request to stop requiring it' };
const STOP = { required: 'false', label: 'Stop requiring it' };

export function secondApprovalActions({ action }: Console): void {
  action(PATH, 'runs:approve', async ({ api, form }) => {
    const { employer_id = '', required, reason = '' } = form;
    const body = { required: required === 'true', reason };
    await api.perform(putSecondApproval, { params: { employer_id }, body });
    return { go: address('/settings', { employer_id, saved: 'second-approval' }) };
  });
}

export async function secondApprovalOf(visit: Visit, employer_id: string): Promise<Html> {
  const { api, may } = visit;
  const setting = await api.perform(getSecondApproval, { params: { employer_id } });
  const { required, set_by, set_at, switching_off: off } = setting;
  return html`
    <p>${required ? 'Another person must approve each run before it is finalized or voided.' : 'Each run is finalized and voided by one person.'}</p>
    ${facts([
      ['Set by', set_by && actorName(set_by)],
      ['Set', set_at && instant(set_at)],
      ['Stop requested by', off && actorName(off.requested_by)],
      ['Stop requested', off && instant(off.requested_at)],
    ])}
    ${may('runs:approve') && changeForm(employer_id, setting, visit)}
  `;
}

function changeForm(employer_id: string, { required, switching_off }: Change, visit: Visit): Html {
  const buttons = switching_off !== null ? [STOP, KEEP] : [required ? REQUEST : REQUIRE];
  const isAllowed = (button: typeof STOP) =>
    button.required === 'true' || (mayApprove(visit) && switching_off?.is_yours !== true);
  const hint = hintOf({ required, switching_off }, visit);
  const allowed = buttons.filter(isAllowed);
  if (allowed.length === 0) return html`<p class="hint">${hint}</p>`;
  return html`
    <form class="decision" hx-post=${PATH}>
      ${hiddenFields({ employer_id })}
      ${reasonField('Reason', PATH)}
      ${allowed.map((button) => html`<button type="submit" class="quiet" name="required" value=${button.required}>${button.label}</button>`)}
      <p class="hint">${hint}</p>
    </form>
  `;
}

function hintOf({ required, switching_off }: Change, visit: Visit): string {
  if (!required)
    return 'It takes effect at once, also for open runs. To stop requiring it later, two persons are needed.';
  if (!mayApprove(visit)) return 'To stop requiring it, sign in as a person: your token names none.';
  if (switching_off === null) return 'It stays required until another person confirms the request here.';
  return switching_off.is_yours
    ? 'You requested to stop requiring it, so another person must confirm it here.'
    : 'It stops once you confirm the request.';
}
