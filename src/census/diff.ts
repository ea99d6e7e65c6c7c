import { setImmediate } from 'node:timers/promises';
import type { Organization } from '../contract/census.ts';
import { isOneOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import type { Encryptor } from '../security/encryption.ts';
import { openHasher } from '../security/hashing.ts';
import { type CensusRow, checkCensus, viewFindings } from './check.ts';
import { createElsewhereCheck } from './elsewhere.ts';
import {
  changedFields,
  EMPLOYEE_FIELDS,
  fingerprintEmployee,
  fingerprintOrganization,
  ORGANIZATION_FIELDS,
  ORGANIZATION_ROW,
} from './fingerprints.ts';
import { createPersonCheck, type Persons } from './persons.ts';
import type { CensusContent } from './reading.ts';
import { type LastUpload, lastUpload } from './staged.ts';
import { createWarnings } from './warnings.ts';

/** Maximum number of differences listed. All are counted. */
export const LISTED_MAX = 1_000;
const ROWS_AT_ONCE = 256;

/** The first `LISTED_MAX` of each, in the order of the census, or of the ids for absent employees. */
type EmployeeList = { count: number; employee_ids: string[] };

/** The changes a census would make at the service: IDs and field names, never values. */
export type CensusChanges = {
  added: EmployeeList;
  changed: { count: number; employees: { employee_id: string; fields: string[] }[] };
  absent: EmployeeList;
  unchanged: number;
  organization: string[];
};

/**
 * Checks a census and compares it with the employer's last upload, as the API and the CLI show it. Stores nothing.
 * `changes` is null if there is nothing to compare with, or the census breaks the contract. Throws
 * EMPLOYEE_ELSEWHERE.
 */
export async function compareCensus(
  { db, encryptor }: { db: Db; encryptor: Encryptor },
  employerId: string,
  content: CensusContent,
  today: string,
  persons: Persons = {},
) {
  const { limit = null } = persons;
  const upload = await lastUpload(db, employerId);
  const comparison = upload === null ? null : await compare(db, encryptor, employerId, upload);
  const check = await createElsewhereCheck(db, employerId, limit && { employers: limit, today });
  const compared = createPersonCheck(db, () => openHasher(db, encryptor), employerId, persons);
  const add = async (row: CensusRow): Promise<void> => {
    await check.add(row);
    await compared.add(row);
    await comparison?.add(row);
  };
  const warnings = createWarnings(today);
  const report = await checkCensus(content, add, null, warnings.note);
  if (report.problemCount === 0) {
    await check.end();
    check.refuse('staging it would be refused');
    Object.assign(report, await compared.end());
  }
  let changes: CensusChanges | null = null;
  if (comparison !== null && report.organization !== null && report.problemCount === 0) {
    const differences = await comparison.end(report.organization);
    // Its fingerprints may have been removed while they were read.
    if ((await lastUpload(db, employerId))?.census_id === upload?.census_id) changes = differences;
  }
  const last_upload = upload && {
    census_id: upload.census_id,
    uploaded_at: upload.uploaded_at,
    employees: upload.employees,
  };
  return { ...viewFindings(report), ...warnings.view(), last_upload, changes };
}

/** Returns null if the fingerprints were made with another hash key. */
async function compare(db: Db, encryptor: Encryptor, employerId: string, upload: LastUpload) {
  const hasher = await openHasher(db, encryptor);
  if (upload.fingerprint_key !== hasher.keyId) return null;
  const { census_id } = upload;
  const changes: CensusChanges = {
    added: { count: 0, employee_ids: [] },
    changed: { count: 0, employees: [] },
    absent: { count: 0, employee_ids: [] },
    unchanged: 0,
    organization: [],
  };
  const present = new Set<string>();
  let waiting = new Map<string, Buffer>();

  const note = (employee_id: string, before: Buffer | undefined, now: Buffer): void => {
    const fields = before === undefined ? null : changedFields(before, now, EMPLOYEE_FIELDS);
    if (fields === null) list(changes.added, employee_id);
    else if (fields.length === 0) changes.unchanged += 1;
    else {
      changes.changed.count += 1;
      if (changes.changed.employees.length < LISTED_MAX)
        changes.changed.employees.push({ employee_id, fields });
    }
  };
  const lookUp = async (): Promise<void> => {
    const rows = waiting;
    waiting = new Map();
    const before = await storedFingerprints(db, census_id, [...rows.keys()]);
    for (const [employeeId, now] of rows) note(employeeId, before.get(employeeId), now);
  };

  return {
    async add({ employee }: CensusRow): Promise<void> {
      present.add(employee.employee_id);
      waiting.set(employee.employee_id, fingerprintEmployee(hasher, employerId, employee));
      if (waiting.size === ROWS_AT_ONCE) await lookUp();
    },
    async end(organization: Organization): Promise<CensusChanges> {
      await lookUp();
      const matched = changes.changed.count + changes.unchanged;
      if (matched < upload.employees) {
        for await (const employeeId of storedIds(db, census_id)) {
          if (!present.has(employeeId)) list(changes.absent, employeeId);
        }
      }
      const before = (await storedFingerprints(db, census_id, [ORGANIZATION_ROW])).get(ORGANIZATION_ROW);
      const now = fingerprintOrganization(hasher, employerId, organization);
      changes.organization = changedFields(before ?? Buffer.alloc(0), now, ORGANIZATION_FIELDS);
      return changes;
    },
  };
}

function list(some: EmployeeList, employeeId: string): void {
  some.count += 1;
  if (some.employee_ids.length < LISTED_MAX) some.employee_ids.push(employeeId);
}

/** Returns the stored fingerprints of these employees in a census. */
export async function storedFingerprints(db: Db, censusId: string, employeeIds: readonly string[]) {
  const rows = await db
    .selectFrom('census_fingerprints')
    .select(['employee_id', 'field_hashes'])
    .where('census_id', '=', censusId)
    .where(isOneOf(db, 'employee_id', employeeIds))
    .execute();
  return new Map(rows.map(({ employee_id, field_hashes }) => [employee_id, field_hashes]));
}

/** Yields the employees' ids in order. */
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
