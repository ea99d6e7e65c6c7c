/** The readiness checks of this machine, and of an employer's id. */
import type { Check, Found, Question } from '../checks.ts';
import { engineOf } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { isKnownEmployer } from '../payroll/lifecycle/employers.ts';
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
