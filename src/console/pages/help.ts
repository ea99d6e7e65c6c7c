/** Help: how to finish a payroll, and the words of the console. */
import { facts } from '../elements/facts.ts';
import { html } from '../html.ts';
import type { Console } from '../page.ts';

const WORDS = [
  [
    'Benefits service',
    'The service that decides who pays which deduction. It sends each change to this system.',
  ],
  ['Deduction', 'What one employee pays, and the employer adds, for one line of coverage such as medical.'],
  [
    'Payroll run',
    'The deductions of one employer for one pay date. Payroll takes the amounts once the run is finalized.',
  ],
  [
    'Finding',
    'What a check of a run reports. A failed check stops the run until it is fixed or accepted with a reason.',
  ],
  [
    'Open item',
    'An amount that payroll still owes or is owed: an adjustment, arrears, a missed paycheck, or an amount from before the first run.',
  ],
  ['Adjustment', 'A correction of an earlier paycheck, after a change with a start date in the past.'],
  ['Arrears', 'An amount that payroll reported as not taken.'],
  ['Override', 'An amount that a person sets for one paycheck instead of the computed one.'],
  ['Census', 'The list of an employer’s employees. It is staged here, then synced to the benefits service.'],
  [
    'Change',
    'A hire, a termination or another change of an employee that payroll reports to the benefits service.',
  ],
  ['Event', 'A message from the benefits service, such as a new amount of a deduction.'],
  [
    'Quarantined',
    'An event that could not be applied. Payroll keeps the earlier amount until the benefits service sends a correct event.',
  ],
  ['Ledger', 'All deductions, with the employees and employers they belong to.'],
] as const;

export function helpPages({ page }: Console): void {
  page('/help', 'any', async () => {
    const body = html`
      <section class="card" aria-labelledby="payroll">
        <h2 id="payroll">Finish a payroll</h2>
        <ol>
          <li>Home lists the payrolls that are due. Start one, or all. A new employer is set up there first.</li>
          <li>Read the findings of the run. Each has a link to the page that fixes it.</li>
          <li>Read what changed since the previous run. Open an employee to see how each amount was computed.</li>
          <li>Decide about open items: take or return them with paychecks, hold them, or write them off.</li>
          <li>Finalize the run, download its file, and load it into payroll.</li>
          <li>If payroll took less than the file says, report it under “Report deductions taken”.</li>
        </ol>
      </section>
      <section class="card" aria-labelledby="words">
        <h2 id="words">Words</h2>
        ${facts(WORDS)}
      </section>
    `;
    return { title: 'Help', body };
  });
}
