/** The questions that readiness asks, in the order in which they are answered. */
import type { Db } from '../database/tables.ts';
import * as findings from './findings.ts';

type Check = {
  id: string;
  ask: (db: Db, question: findings.Question) => Promise<findings.Found[]>;
  /** What to do when something is found, and what it means when nothing is. */
  advice: string;
  passed: string;
};

export const QUESTIONS: readonly Check[] = [
  {
    id: 'events-pending',
    ask: findings.eventsPending,
    advice: 'Wait until the events are applied; if they stay, look at the log of the process that serves.',
    passed: 'Every event that came in is applied.',
  },
  {
    id: 'events-quarantined',
    ask: findings.eventsQuarantined,
    advice: 'Look at each event and its reason: reprocess it after a fix, or dismiss it with a reason.',
    passed: 'Every event was understood.',
  },
  {
    id: 'events-in-conflict',
    ask: findings.eventsInConflict,
    advice:
      'An event id came twice with different bodies and the first stands: compare them, then dismiss it.',
    passed: 'No event id came with two bodies.',
  },
  {
    id: 'ties-changed-content',
    ask: (db) => findings.versionsMarked(db, 'tie_changed'),
    advice:
      'Two events of one instant say different things and the later received stands: check it, then dismiss it.',
    passed: 'The order of all events is certain.',
  },
  {
    id: 'event-times-ahead',
    ask: (db) => findings.versionsMarked(db, 'ahead'),
    advice:
      'A later event of the same deduction is kept but not shown until that time: ask the service to correct it, then dismiss this.',
    passed: 'No event came from the future.',
  },
  {
    id: 'signatures-refused',
    ask: findings.signaturesRefused,
    advice:
      'If these came from the provider, WEBHOOK_SECRETS or the clock is wrong: run doctor, then have them resent.',
    passed: `No delivery was refused in the last ${findings.REFUSED_HOURS} hours.`,
  },
  {
    id: 'gate-closed',
    ask: findings.gateClosed,
    advice:
      'The service refuses the address or the key: mend BENEFITS_BASE_URL or BENEFITS_API_KEY and start again; a key in a file is taken up within a minute.',
    passed: 'No answer said that the address or the key is wrong.',
  },
  {
    id: 'requests-rejected',
    ask: findings.requestsRejected,
    advice: 'The service refused these employment changes: read its answer, then retry or release them.',
    passed: 'The service refused no employment change.',
  },
  {
    id: 'census-syncs',
    ask: findings.censusSyncs,
    advice:
      'Waiting: put a fresh census. Failed: mend the rows named. Overdue: see whether the service completed it.',
    passed: 'No census sync is waiting, failed or overdue.',
  },
  {
    id: 'employees-with-two-employers',
    ask: findings.employeesWithTwoEmployers,
    advice: 'Whose deductions these are is not guessed: end the employment that is over, in its census.',
    passed: 'Every employee is active with one employer at most.',
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
];
