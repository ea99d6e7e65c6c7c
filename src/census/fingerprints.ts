/**
 * Fingerprints of an uploaded census, to compare a newer one with: a hash of each field of each employee. Salaries and
 * dates of birth could be guessed from plain hashes, so the hash has a key and includes the employee id.
 */
import type { Organization } from '../contract/census.ts';
import { type Employee, ssnDigits } from '../contract/employee.ts';
import { FINGERPRINT_BYTES, type Hasher } from '../security/hashing.ts';

/** The fields compared. Their order is the stored order: append only. */
export const EMPLOYEE_FIELDS = [
  'first_name',
  'last_name',
  'dob',
  'address',
  'hire_date',
  'email',
  'hours_worked',
  'pay_rate',
  'employment_status',
  'ssn',
  'phone_number',
  'termination_date',
  'biological_sex',
  'pay_frequency',
  'job_title',
] as const satisfies readonly (keyof Employee)[];
export const ORGANIZATION_FIELDS = [
  'legal_business_name',
  'fein',
  'entity_type',
  'contact',
  'address',
] as const satisfies readonly (keyof Organization)[];

/** Used instead of an employee id, which is never empty. */
export const ORGANIZATION_ROW = '';

/** An absent field, and every field that an older release did not have. */
const ABSENT = Buffer.alloc(FINGERPRINT_BYTES);

/** An SSN is the same with and without dashes. Zeros or words count as no SSN. */
export function fingerprintEmployee(hasher: Hasher, employerId: string, employee: Employee): Buffer {
  const { ssn, ...others } = employee;
  const digits = ssn === undefined ? null : ssnDigits(ssn);
  const compared: Employee = digits === null ? others : { ...others, ssn: digits };
  return fingerprint(hasher, [employerId, employee.employee_id], EMPLOYEE_FIELDS, compared);
}

export function fingerprintOrganization(hasher: Hasher, employerId: string, organization: Organization) {
  return fingerprint(hasher, [employerId, ORGANIZATION_ROW], ORGANIZATION_FIELDS, organization);
}

/** Returns the fields whose fingerprints differ. */
export function changedFields(before: Buffer, now: Buffer, fields: readonly string[]): string[] {
  if (before.equals(now)) return [];
  return fields.filter((_, index) => !slot(before, index).equals(slot(now, index)));
}

/** Returns whether the employee with these fingerprints had the field. */
export function hasField(fingerprints: Buffer, field: (typeof EMPLOYEE_FIELDS)[number]): boolean {
  return !slot(fingerprints, EMPLOYEE_FIELDS.indexOf(field)).equals(ABSENT);
}

function slot(fingerprints: Buffer, index: number): Buffer {
  const from = index * FINGERPRINT_BYTES;
  return fingerprints.length >= from + FINGERPRINT_BYTES
    ? fingerprints.subarray(from, from + FINGERPRINT_BYTES)
    : ABSENT;
}

function fingerprint<T extends object>(
  hasher: Hasher,
  of: readonly [employerId: string, employeeId: string],
  fields: readonly (keyof T & string)[],
  value: T,
): Buffer {
  const row = JSON.stringify(of);
  const slots = fields.map((field) => {
    const fieldValue = value[field];
    if (fieldValue === undefined) return ABSENT;
    return hasher.fingerprint(textOf(fieldValue), { table: 'census_fingerprints', row, column: field });
  });
  return Buffer.concat(slots);
}

/** Equal values have the same text, whatever the order of their fields. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
