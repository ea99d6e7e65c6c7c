/** The readiness checks of this machine, of an employer's id, and of the start of an employer. */
import { type Check, FOUND_AT_MOST, type Found, type Question } from '../checks.ts';
import { engineOf } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import type { LedgerQuestion } from '../ledger/checks.ts';
import { openPlaceholders } from '../ledger/open-placeholders.ts';
import { withHidden } from '../ledger/visibility.ts';
import { isKnownEmployer } from '../payroll/lifecycle/employers.ts';
import { employersWithRegularRuns } from '../payroll/records/runs.ts';
import { type Disk, diskInWords, diskOf, judgeDisk } from '../telemetry/disk.ts';

export const EMPLOYER_UNKNOWN: Check<Db> = {
  id: 'employer-unknown',
  title: 'This employer is unknown',
  severity: 'fail',
  async find(db, { employerId }) {
    if (employerId === undefined || (await isKnownEmployer(db, employerId))) return [];
    return [{ employer_id: employerId, result: 'fail' }];
  },
  advice: 'This employer is unknown, so nothing was checked. Check the ID, or stage its census.',
  passed: async (_, { employerId }) =>
    employerId === undefined ? 'The report covers all employers.' : 'The employer is known.',
  fixed: { at: 'census', query: {} },
};

export const PLACEHOLDERS_OPEN: Check<Db, LedgerQuestion, Found & { taxability: string }> = {
  id: 'placeholders-open',
  title: 'Imported deductions have no ID of the benefits service',
  severity: 'fail before the employer’s first finalized regular run; warn afterward',
  async find(db, { now, employerId, employees, viewer }) {
    const today = dayAt(db, now);
    const open = [];
    for await (const page of openPlaceholders(db, employerId, today)) {
      open.push(...page.filter(({ version }) => employees?.has(version.employee_id) !== false));
      if (open.length >= FOUND_AT_MOST) break;
    }
    if (open.length === 0) return [];
    const running = await employersWithRegularRuns(
      db,
      open.flatMap((state) => state.employerId ?? []),
    );
    const listed = open.slice(0, FOUND_AT_MOST).map(({ version, employerId: employer_id }) => {
      const { employee_id, deduction_id, line_of_coverage, taxability } = version;
      // No run takes the deductions of an employee without an employer, whom other checks name.
      const isBeforeFirst = employer_id !== null && !running.has(employer_id);
      return {
        ...{ employee_id, employer_id, deduction_id, line_of_coverage, taxability },
        ids: [deduction_id],
        result: isBeforeFirst ? ('fail' as const) : ('warn' as const),
      };
    });
    return withHidden(db, listed, viewer);
  },
  text: ({ employee_id, line_of_coverage, taxability }) =>
    `${employee_id}: ${line_of_coverage}, ${taxability?.replace('_', '-')}`,
  advice:
    'A file named these deductions without the ID of the benefits service. Ask the service to send them: its first event for the employee, line of coverage and taxability replaces the placeholder from its start. Or import them with their IDs. If the service does not have one, import it with an end date.',
  passed: 'No imported deduction lacks the ID of the benefits service.',
  fixed: {
    at: 'ledger',
    query: { placeholder: 'open' },
    command: 'deductions list --placeholder open',
    docs: 'pilot.md#placeholders',
  },
};

export const DISK_SPACE: Check<Db, Question, Found & { disk: Disk }> = {
  id: 'disk-space',
  isGeneral: true,
  title: 'The disk is almost full',
  severity: 'warn below 1 GiB or the size of the database; fail below 256 MiB',
  async find(db) {
    const disk = await diskOf(db);
    if (disk === null) return [];
    const result = judgeDisk(disk);
    return result === 'pass' ? [] : [{ disk, result }];
  },
  text: ({ disk }) => diskInWords(disk),
  advice:
    'Free space on the disk of the database. On a full disk, deliveries are refused and the ledger stops.',
  passed: async (db) =>
    engineOf(db) === 'sqlite'
      ? 'The disk of the database has free space.'
      : 'The disk of a PostgreSQL server is not checked here.',
  fixed: { docs: 'backup.md#when-the-disk-fills' },
};

export const CLOCK: Check<Db, Question, Found & { warning: string }> = {
  id: 'clock',
  isGeneral: true,
  title: 'The clock of the sidecar may be wrong',
  // A run is computed from stored dates, and only a person can tell whether one of them is wrong.
  severity: 'warn',
  find: async (_, { clockWarning }) =>
    clockWarning === null ? [] : [{ warning: clockWarning, result: 'warn' }],
  text: ({ warning }) => warning,
  advice:
    'Times of receipt, effective dates and today come from the clock. Synchronize it with a time server. If it is right now, restart the sidecar.',
  passed: 'The clock of this sidecar is right, as far as it can be checked.',
  fixed: { command: 'doctor', docs: 'operations.md#a-wrong-clock' },
};
