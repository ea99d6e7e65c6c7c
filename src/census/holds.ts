/** Why a census is held instead of uploaded, until a person releases it or another census is staged. */
import Type, { type Static } from 'typebox';
import { component, integer } from '../contract/fields.ts';
import type { Db } from '../database/tables.ts';
import { employeesElsewhere } from './elsewhere.ts';
import { MISSING_LISTED_MAX, missingEmployees } from './missing.ts';
import type { StagedCensus } from './staged.ts';

export const CensusHold = component(
  'CensusHold',
  {
    cause: Type.Enum(['employees-missing', 'employees-elsewhere'], {
      description:
        '`employees-missing`: the census lacks more than a tenth and at least three of the employees of the last upload, or all of them. `employees-elsewhere`: it names employees who are active at another employer, or are in its census. Only a caller who sees both employers releases it.',
    }),
    count: integer('The number of these employees.'),
    employee_ids: Type.Array(Type.String(), {
      description: `The first ${MISSING_LISTED_MAX} of these employees, by ID.`,
    }),
  },
  'Why a census is held, and which employees it is about.',
);
export type CensusHold = Static<typeof CensusHold>;

/** Returns why this census must not be uploaded without a release. Reads in small steps, outside a transaction. */
export async function holdsOf(db: Db, census: StagedCensus, today: string): Promise<CensusHold[]> {
  const missing = census.released_at === null ? await missingEmployees(db, census) : null;
  const elsewhere = await employeesElsewhere(db, census, today);
  return [
    ...(missing === null ? [] : [{ cause: 'employees-missing' as const, ...missing }]),
    ...(elsewhere === null ? [] : [{ cause: 'employees-elsewhere' as const, ...elsewhere }]),
  ];
}

/** Returns a sentence part for each cause: what is unusual about the census, without ids. */
export function describeHold({ cause, count }: CensusHold): string {
  switch (cause) {
    case 'employees-missing':
      return count === 1
        ? '1 employee of the last upload is missing'
        : `${count} employees of the last upload are missing`;
    case 'employees-elsewhere':
      return count === 1
        ? '1 employee belongs to another employer'
        : `${count} employees belong to another employer`;
  }
}

/** Returns the cause that decides who may release a census. */
export function holdCode(holds: readonly CensusHold[]): CensusHold['cause'] {
  return holds.some(({ cause }) => cause === 'employees-elsewhere')
    ? 'employees-elsewhere'
    : 'employees-missing';
}

/** Returns what to do about a held census. */
export function adviceOn(holds: readonly CensusHold[]): string {
  return holdCode(holds) === 'employees-elsewhere'
    ? 'correct the census and stage it or request a sync, or let a token that sees both employers, or the command line, release it'
    : 'release the census, or stage another one';
}
