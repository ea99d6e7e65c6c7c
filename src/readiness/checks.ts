/** The checks of readiness that need no payroll run, in the order in which they are answered. */
import type { Db } from '../database/tables.ts';
import { diskFilling } from './disk-findings.ts';
import * as eventFindings from './event-findings.ts';
import * as findings from './findings.ts';

/** One thing to look at. Its id never changes: programs know it by that. */
export type Check<Asked = findings.Question> = {
  id: string;
  ask: (db: Db, question: Asked) => Promise<findings.Found[]>;
  /** What to do when something is found, and what it means when nothing is. */
  advice: string;
  passed: string | ((db: Db, question: Asked) => Promise<string>);
};

/** What a person asks about all employers, or about one; a run asks it too. */
export const COMMON_CHECKS: readonly Check[] = [
  {
    id: 'tail-lost',
    ask: eventFindings.tailLost,
    advice:
      'The database is older than it was: replay from the time named in the provider’s portal, report again the changes that are missing, then say so with "benefits-sidecar accept-loss".',
    passed:
      'The database has all that it is known to have had; what a PostgreSQL server lost can not be seen from here.',
  },
  {
    id: 'events-pending',
    ask: eventFindings.eventsFound('pending'),
    advice: 'Wait until the events are applied; if they stay, look at the log of the process that serves.',
    passed: 'Every event that came in is applied.',
  },
  {
    id: 'events-quarantined',
    ask: eventFindings.eventsFound('quarantined'),
    advice: 'Look at each event and its reason: reprocess it after a fix, or dismiss it with a reason.',
    passed: 'Every event was understood.',
  },
  {
    id: 'events-in-conflict',
    ask: eventFindings.eventsFound('conflicting'),
    advice:
      'An event id came twice with different bodies and the first stands: compare them, then dismiss it.',
    passed: 'No event id came with two bodies.',
  },
  {
    id: 'ties-changed-content',
    ask: eventFindings.eventsFound('tied'),
    advice:
      'Two events of one instant say different things and the later received stands: check it, then dismiss it.',
    passed: 'The order of all events is certain.',
  },
  {
    id: 'event-times-ahead',
    ask: eventFindings.eventsFound('ahead'),
    advice:
      'A later event of the same deduction is kept but not shown until that time: ask the service to correct it, then dismiss this.',
    passed: 'No event came from the future.',
  },
  {
    id: 'events-unattributed',
    ask: eventFindings.eventsUnattributed,
    advice:
      'These events lead to no employer, so they may concern this one: look at them in the readiness report of all employers.',
    passed: 'Every event that needs attention leads to an employer.',
  },
  {
    id: 'events-silent',
    ask: eventFindings.eventsSilent,
    advice:
      'No event for longer than EVENTS_SILENT_AFTER, so changes may be missing: check the endpoint in the provider’s portal, send a test event, and run doctor.',
    passed: eventFindings.lastEvent,
  },
  {
    id: 'signatures-refused',
    ask: eventFindings.signaturesRefused,
    advice:
      'If these came from the provider, WEBHOOK_SECRETS or the clock is wrong: run doctor, then have them resent.',
    passed: `No delivery was refused in the last ${eventFindings.REFUSED_HOURS} hours.`,
  },
  {
    id: 'gate-closed',
    ask: findings.gateClosed,
    advice:
      'The service refuses the address or the key: mend BENEFITS_BASE_URL or BENEFITS_API_KEY and start again; a key in a file is taken up within a minute.',
    passed: 'No answer said that the address or the key is wrong.',
  },
  {
    id: 'sending-stalled',
    ask: findings.sendingStalled,
    advice: `These requests are due and no request was finished for ${findings.STALLED_SECONDS} seconds: check that "serve" runs and read its log, then run doctor to see whether the service responds. Sending resumes automatically.`,
    passed: 'No request that is due is held up.',
  },
  {
    id: 'requests-rejected',
    ask: findings.requestsRejected,
    advice:
      'The service refused these employment changes: look at them (change show), then send them again (change retry), report them anew, or give them up (change cancel); behind a rejected new hire the employee’s later changes wait.',
    passed: 'The service refused no employment change.',
  },
  {
    id: 'requests-stuck',
    ask: findings.requestsStuck,
    advice:
      'The service does not know these employment changes yet: see why they are not sent (change show), and wait until they are.',
    passed: `No employment change has waited longer than ${findings.STUCK_HOURS} hour.`,
  },
  {
    id: 'census-syncs',
    ask: findings.censusSyncs,
    advice:
      'Waiting: put a fresh census. Failed: mend the rows named. Overdue: see whether the service completed it.',
    passed: 'No census sync is waiting, failed or overdue.',
  },
  {
    id: 'deductions-unmatched',
    ask: findings.deductionsUnmatched,
    advice:
      'These employees are in no census yet, so their deductions are in no list of an employer: bring the census.',
    passed: 'Every deduction is of an employee in the roster.',
  },
  {
    id: 'employer-unknown',
    ask: findings.employerUnknown,
    advice: 'Nothing is known of this employer, so nothing was looked at: check the id, or bring its census.',
    passed: 'The employer is known, or all were asked about.',
  },
  {
    id: 'disk-space',
    ask: diskFilling,
    advice:
      'Make room where the database lies: on a full disk deliveries are refused, and the ledger stands still.',
    passed: 'There is room where the database lies; that of a PostgreSQL server is watched there.',
  },
];

/** A run asks it of its own employees, on its own day. */
export const EMPLOYED_TWICE: Check = {
  id: 'employees-with-two-employers',
  ask: findings.employeesWithTwoEmployers,
  advice: 'Whose deductions these are is not guessed: end the employment that is over, in its census.',
  passed: 'Every employee is active with one employer at most.',
};

export const LEDGER_CHECKS: readonly Check[] = [...COMMON_CHECKS, EMPLOYED_TWICE];
