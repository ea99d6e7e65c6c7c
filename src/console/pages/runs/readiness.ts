/** Whether a run can be finalized: each check that found something, with what to do about it. */
import type { Schemas } from '../../../client.ts';
import { checkList, KNOWN, type Known } from '../../elements/checks.ts';
import { idLink } from '../../elements/links.ts';
import { address } from '../../elements/pager.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { runPath } from './run-path.ts';

export function readinessOf(
  readiness: Schemas['Readiness'],
  run: { readonly run_id: string; readonly employer_id: string },
  visit: Pick<Visit, 'may'>,
): Html {
  const { ready } = readiness;
  return html`
    <section id="readiness" class=${`card readiness ${ready ? 'good' : 'bad'}`} aria-labelledby="readiness-title">
      <h2 id="readiness-title">${ready ? 'Ready to be finalized' : 'Not ready'}</h2>
      ${!ready && html`<p>A failed check stops finalizing. Fix what it names, or accept its findings with a reason.</p>`}
      ${checkList(readiness, visit, { ...KNOWN, ...knownOf(run) })}
    </section>
  `;
}

/** The checks of a run: an employee leads to the lines that it has in this run, a check to the lines with its flag. */
export function knownOf({
  run_id,
  employer_id,
}: {
  readonly run_id: string;
  readonly employer_id: string;
}): Readonly<Record<string, Known>> {
  const path = runPath(run_id);
  const one = (employee_id: string) => idLink(address(path, { employee_id }), employee_id);
  const flagged = (flag: string) => ({ one, all: `${address(path, { flag })}#lines` });
  const settings = address('/settings', { employer_id });
  return {
    'employees-with-two-employers': { found: 'Employees are active with two employers', one },
    'census-completed': {
      found: 'The service took in no census lately',
      scope: 'census:read',
      all: '/census',
    },
    'ledger-empty': { found: 'Nobody of this employer ever had a deduction' },
    'employees-without-frequency': { found: 'Of employees it is not known how often they are paid', one },
    'employees-without-pay-group': { found: 'Of employees the pay group is not known', one },
    overlap: { found: 'Two deductions for one line of coverage', ...flagged('overlap') },
    'periods-overlap': { found: 'Days of this pay period are paid already' },
    'employees-not-scheduled': {
      found: 'Employees with deductions are on no pay schedule',
      one,
      all: settings,
    },
    'population-narrowed': { found: 'Employees of this pay frequency are left out' },
    'start-moved': { found: 'A moved start needs a decision' },
    'start-corrected': { found: 'Starts were moved to a later date' },
    'missed-checks': { found: 'Employees missed a check', ...flagged('missed_check') },
    'retro-pre-tax': { found: 'Pre-tax deductions rise for past checks', ...flagged('retro_pre_tax') },
    'negative-total': { found: 'Deductions sum to less than zero' },
    'coverage-beyond-last-check': {
      found: 'Coverage lasts beyond the last check',
      ...flagged('coverage_beyond_last_check'),
    },
    'termination-contradicted': { found: 'A census contradicts a termination', one },
    'codes-missing': { found: 'Lines lack their payroll code', all: settings },
    'calendar-assumed': { found: 'The pay dates of the year are assumed', all: settings },
    'calendar-differs': { found: 'The pay dates changed since the previous run', all: settings },
    'policy-differs': { found: 'The previous run has another policy', all: settings },
    'pay-date-skipped': { found: 'Earlier pay dates have no finalized run', all: settings },
    'period-differs-from-schedule': { found: 'The pay schedule has another pay period', all: settings },
    'open-after-termination': {
      found: 'Deductions go on after the employment',
      ...flagged('open_after_termination'),
    },
    'absent-from-census': { found: 'The newest census lacks employees', ...flagged('absent_from_census') },
    'frequency-mismatch': {
      found: 'Deductions are for another pay frequency',
      ...flagged('frequency_mismatch'),
    },
  };
}
