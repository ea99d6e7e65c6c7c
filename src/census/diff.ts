import { setImmediate } from 'node:timers/promises';
import { isOneOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import type { Encryptor } from '../security/encryption.ts';
import { type Hasher, openHasher } from '../security/hashing.ts';
import { type CensusReport, type CensusRow, checkCensus } from './check.ts';
import {
  changedFields,
  EMPLOYEE_FIELDS,
  fingerprintEmployee,
  fingerprintOrganization,
  ORGANIZATION_FIELDS,
  ORGANIZATION_ROW,
} from './fingerprints.ts';
import type { CensusContent } from './reading.ts';
import { lastUpload, type Upload } from './staged.ts';

/** The changes a census would make at the service: IDs and field names, never values. */
export type Changes = {
  /** The first `LISTED_MAX` of each, in the order of the census, or of the ids for absent employees. */
  added: { count: number; employeeIds: string[] };
  changed: { count: number; employees: { employeeId: string; fields: string[] }[] };
  /** In the last upload and not in this census. */
  absent: { count: number; employeeIds: string[] };
  unchanged: number;
  /** The organization's fields that differ. */
  organization: string[];
};

export type Compared = {
  report: CensusReport;
  /** Null before the first upload. */
  lastUpload: Upload | null;
  /** Null if there is nothing to compare with, or the census breaks the contract. */
  changes: Changes | null;
};

/** Enough to see what kind of change it is; all are counted. */
export const LISTED_MAX = 1_000;
/** Rows compared per query. */
const ROWS_AT_ONCE = 256;

/** Checks a census and compares it with the employer's last upload. Stores nothing. */
export async function compareCensus(
  { db, encryptor }: { db: Db; encryptor: Encryptor },
  employerId: string,
  content: CensusContent,
): Promise<Compared> {
  const upload = await lastUpload(db, employerId);
  const comparison = upload === null ? null : await begin(db, encryptor, employerId, upload);
  if (comparison === null) return { report: await checkCensus(content), lastUpload: upload, changes: null };
  const report = await checkCensus(content, comparison.add);
  if (report.organization === null || report.problemCount > 0) {
    return { report, lastUpload: upload, changes: null };
  }
  const changes = await comparison.end(report.organization);
  // Its fingerprints may have been removed while they were read.
  const isStillLast = (await lastUpload(db, employerId))?.censusId === upload?.censusId;
  return { report, lastUpload: upload, changes: isStillLast ? changes : null };
}

async function begin(db: Db, encryptor: Encryptor, employerId: string, upload: Upload) {
  const hasher = await openHasher(db, encryptor);
  return upload.fingerprintKey === hasher.keyId ? compare(db, hasher, employerId, upload) : null;
}

function compare(db: Db, hasher: Hasher, employerId: string, upload: Upload) {
  const { censusId } = upload;
  const changes: Changes = {
    added: { count: 0, employeeIds: [] },
    changed: { count: 0, employees: [] },
    absent: { count: 0, employeeIds: [] },
    unchanged: 0,
    organization: [],
  };
  const present = new Set<string>();
  let waiting = new Map<string, Buffer>();

  const note = (employeeId: string, before: Buffer | undefined, now: Buffer): void => {
    if (before === undefined) {
      list(changes.added, employeeId);
      return;
    }
    const fields = changedFields(before, now, EMPLOYEE_FIELDS);
    if (fields.length === 0) {
      changes.unchanged += 1;
      return;
    }
    changes.changed.count += 1;
    if (changes.changed.employees.length < LISTED_MAX) changes.changed.employees.push({ employeeId, fields });
  };
  const lookUp = async (): Promise<void> => {
    const rows = waiting;
    waiting = new Map();
    const before = await storedOf(db, censusId, [...rows.keys()]);
    for (const [employeeId, now] of rows) note(employeeId, before.get(employeeId), now);
  };

  return {
    async add({ employee }: CensusRow): Promise<void> {
      present.add(employee.employee_id);
      waiting.set(employee.employee_id, fingerprintEmployee(hasher, employerId, employee));
      if (waiting.size === ROWS_AT_ONCE) await lookUp();
    },
    async end(organization: NonNullable<CensusReport['organization']>): Promise<Changes> {
      await lookUp();
      const found = changes.changed.count + changes.unchanged;
      if (found < upload.employees) {
        for await (const employeeId of storedIds(db, censusId)) {
          if (!present.has(employeeId)) list(changes.absent, employeeId);
        }
      }
      const before = (await storedOf(db, censusId, [ORGANIZATION_ROW])).get(ORGANIZATION_ROW);
      const now = fingerprintOrganization(hasher, employerId, organization);
      changes.organization = changedFields(before ?? Buffer.alloc(0), now, ORGANIZATION_FIELDS);
      return changes;
    },
  };
}

function list(some: { count: number; employeeIds: string[] }, employeeId: string): void {
  some.count += 1;
  if (some.employeeIds.length < LISTED_MAX) some.employeeIds.push(employeeId);
}

async function storedOf(db: Db, censusId: string, employeeIds: readonly string[]) {
  const rows = await db
    .selectFrom('census_fingerprints')
    .select(['employee_id', 'field_hashes'])
    .where('census_id', '=', censusId)
    .where(isOneOf(db, 'employee_id', employeeIds))
    .execute();
  return new Map(rows.map(({ employee_id, field_hashes }) => [employee_id, field_hashes]));
}

/** Yields the employees' ids in order, with one page in memory. */
async function* storedIds(db: Db, censusId: string): AsyncGenerator<string> {
  let after = ORGANIZATION_ROW;
  for (;;) {
    const rows = await db
      .selectFrom('census_fingerprints')
      .select('employee_id')
      .where('census_id', '=', censusId)
      .where('employee_id', '>', after)
      .orderBy('employee_id')
      .limit(IDS_AT_ONCE)
      .execute();
    for (const { employee_id } of rows) yield employee_id;
    const last = rows.at(-1);
    if (last === undefined || rows.length < IDS_AT_ONCE) return;
    after = last.employee_id;
    // Reading from SQLite is synchronous; let other work run.
    await setImmediate();
  }
}

const IDS_AT_ONCE = 1_000;
