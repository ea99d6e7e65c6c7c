/** Finds rows whose employee id another employer's current census has for another person: deductions name no employer. */
import { PROBLEMS_MAX } from '../contract/check.ts';
import type { Employee } from '../contract/employee.ts';
import { isOneOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import type { Problem } from '../errors.ts';
import { employmentsQuery } from '../ledger/roster.ts';
import type { Hasher } from '../security/hashing.ts';
import type { CensusRow } from './check.ts';
import { changedFields, EMPLOYEE_FIELDS, fingerprintEmployee, hasField } from './fingerprints.ts';
import { employeePath } from './reading.ts';

const ROWS_AT_ONCE = 256;

/** Does not say which field differs, or where. */
const RULE =
  'has the ID of another person: give the employee another ID, or confirm that they are one person with same_person and a reason';

/**
 * The caller's decision: these employees are one person, although a birth date or SSN differs. `limit`: the employers of a limited
 * caller. Rows are compared with the censuses of these only: a response by another employer's would show a guess right.
 */
export type Persons = {
  readonly samePerson?: readonly string[];
  readonly reason?: string | null;
  readonly limit?: readonly string[] | null;
};

/**
 * Creates the check of the rows of one census, which passes each row in order. Each is compared by its fingerprint as the other
 * employer's. An absent SSN is no difference.
 */
export function createPersonCheck(db: Db, open: () => Promise<Hasher>, employerId: string, persons: Persons) {
  const confirmed = new Set(persons.samePerson);
  const { limit = null } = persons;
  const sees = (employer: string): boolean => limit === null || limit.includes(employer);
  let rows = 0;
  let waiting = new Map<string, { employee: Employee; row: number }>();
  const otherPersons: number[] = [];

  const lookUp = async (): Promise<void> => {
    const looked = waiting;
    waiting = new Map();
    const others = await db
      .selectFrom(employmentsQuery(db, null).as('employment'))
      .innerJoin('staged_censuses', 'staged_censuses.employer_id', 'employment.employer_id')
      .innerJoin('census_fingerprints', (join) =>
        join
          .onRef('census_fingerprints.census_id', '=', 'staged_censuses.census_id')
          .onRef('census_fingerprints.employee_id', '=', 'employment.employee_id'),
      )
      .select(['employment.employer_id', 'employment.employee_id', 'field_hashes'])
      .where('staged_censuses.state', '=', 'current')
      .where('employment.employer_id', '<>', employerId)
      .where(isOneOf(db, 'employment.employee_id', [...looked.keys()]))
      .execute();
    if (others.length === 0) return;
    const hasher = await open();
    for (const { employer_id, employee_id, field_hashes } of others) {
      if (confirmed.has(employee_id) || !sees(employer_id)) continue;
      const { employee, row } = looked.get(employee_id) as { employee: Employee; row: number };
      const now = fingerprintEmployee(hasher, employer_id, employee);
      if (isAnotherPerson(field_hashes, now) && otherPersons.at(-1) !== row) otherPersons.push(row);
    }
  };

  return {
    async add({ employee }: CensusRow): Promise<void> {
      waiting.set(employee.employee_id, { employee, row: rows });
      rows += 1;
      if (waiting.size === ROWS_AT_ONCE) await lookUp();
    },
    async end(): Promise<{ problemCount: number; problems: Problem[] }> {
      await lookUp();
      otherPersons.sort((one, other) => one - other);
      const problems = otherPersons
        .slice(0, PROBLEMS_MAX)
        .map((row) => ({ path: employeePath(row), rule: RULE }));
      return { problemCount: otherPersons.length, problems };
    },
  };
}

function isAnotherPerson(before: Buffer, now: Buffer): boolean {
  const isSsnKnown = hasField(before, 'ssn') && hasField(now, 'ssn');
  const compared = isSsnKnown ? ['dob', 'ssn'] : ['dob'];
  return changedFields(before, now, EMPLOYEE_FIELDS).some((field) => compared.includes(field));
}
