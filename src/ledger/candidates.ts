/** Which deductions a list has to look at, in its order, and which of them cannot pass its filters. */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Db, Tables } from '../database/tables.ts';
import type { DeductionCursor, DeductionFilter } from './deductions.ts';

/** A deduction under an employee that it has, or ever had. */
export type Candidate = Tables['deduction_employees'] & {
  /** False: its latest state, or the roster of now, says already that it is not in the list. */
  readonly may_pass: boolean;
};

/** The next `count` candidates behind a place, by employee, then by deduction id. */
export async function candidatesAfter(
  db: Db,
  filter: DeductionFilter,
  after: DeductionCursor | undefined,
  count: number,
): Promise<Candidate[]> {
  const { employerId, employeeId } = filter;
  const next = db
    .selectFrom('deduction_employees')
    .$if(employerId !== undefined, (query) =>
      query.where('deduction_employees.employee_id', 'in', (eb) =>
        eb
          .selectFrom('roster')
          .select('roster.employee_id')
          .where('roster.employer_id', '=', employerId as string)
          .$if(after !== undefined, (roster) =>
            roster.where('roster.employee_id', '>=', (after as DeductionCursor).employeeId),
          ),
      ),
    )
    .$if(employeeId !== undefined, (query) =>
      query.where('deduction_employees.employee_id', '=', employeeId as string),
    )
    .where((eb) => behind(eb, after))
    .selectAll('deduction_employees')
    .orderBy('deduction_employees.employee_id')
    .orderBy('deduction_employees.deduction_id')
    .limit(count)
    .as('next');
  const rows = await db
    .selectFrom(next)
    .selectAll('next')
    .select((eb) => mayPass(eb, filter).as('may_pass'))
    .orderBy('next.employee_id')
    .orderBy('next.deduction_id')
    .execute();
  // SQLite has no type for truth.
  return rows.map((row) => ({ ...row, may_pass: Boolean(row.may_pass) }));
}

/** A candidate whose latest state is asked, in those of whom only the key is read. */
const LATEST_COST = 8;

/** What one candidate costs before its states are read: 1 is a key, less than a microsecond. */
export function candidateCost(filter: DeductionFilter): number {
  return asksOfLatest(filter) ? LATEST_COST : 1;
}

/** Whether some candidates are told apart before their states are read, which costs more. */
export function isToldEarly(filter: DeductionFilter): boolean {
  return asksOfRoster(filter) || asksOfLatest(filter);
}

/** Of the roster of now: that of an earlier time is read with the states. */
function asksOfRoster({ matched, knownAt }: DeductionFilter): boolean {
  return matched !== undefined && knownAt === undefined;
}

/** Of the latest state: that of a day, or of an earlier knowledge, may be another. */
function asksOfLatest({ on, knownAt, lineOfCoverage, taxability }: DeductionFilter): boolean {
  return on === undefined && knownAt === undefined && (lineOfCoverage ?? taxability) !== undefined;
}

function behind(
  eb: ExpressionBuilder<Tables, 'deduction_employees'>,
  after: DeductionCursor | undefined,
): Expression<SqlBool> {
  if (after === undefined) return eb.lit(true);
  return eb(
    eb.refTuple('deduction_employees.employee_id', 'deduction_employees.deduction_id'),
    '>',
    eb.tuple(after.employeeId, after.deductionId),
  );
}

type Next = ExpressionBuilder<Tables & { next: Tables['deduction_employees'] }, 'next'>;

function mayPass(eb: Next, filter: DeductionFilter) {
  const { matched, lineOfCoverage, taxability } = filter;
  const inRoster = eb.exists(
    eb
      .selectFrom('roster')
      .select(eb.lit(1).as('one'))
      .whereRef('roster.employee_id', '=', 'next.employee_id'),
  );
  const latest = eb.exists(
    eb
      .selectFrom('deductions')
      .innerJoin('versions', 'versions.position', 'deductions.position')
      .select(eb.lit(1).as('one'))
      .whereRef('deductions.deduction_id', '=', 'next.deduction_id')
      .$if(lineOfCoverage !== undefined, (query) =>
        query.where('versions.line_of_coverage', '=', lineOfCoverage as string),
      )
      .$if(taxability !== undefined, (query) =>
        query.where('versions.taxability', '=', taxability as string),
      ),
  );
  return eb.and([
    ...(asksOfRoster(filter) ? [matched === true ? inRoster : eb.not(inRoster)] : []),
    ...(asksOfLatest(filter) ? [latest] : []),
  ]);
}
