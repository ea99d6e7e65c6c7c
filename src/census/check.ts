import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Organization, organization as organizationChecker } from '../contract/census.ts';
import { PROBLEMS_MAX, within } from '../contract/check.ts';
import { type Employee, employee as employeeChecker } from '../contract/employee.ts';
import { ID_MAX_CHARACTERS } from '../contract/fields.ts';
import { isAppError, type Problem } from '../errors.ts';
import { slices, unreadable } from '../formats/bytes.ts';
import { withFormatProblem } from '../formats/csv-header.ts';
import { withLines } from '../formats/rows.ts';
import { type ForPayroll, splitPayrollFields } from '../ledger/payroll-fields.ts';
import {
  CENSUS_BYTES_MAX,
  CENSUS_ROWS,
  type CensusContent,
  csvPieces,
  EMPLOYEES_MAX,
  type EmployeePiece,
  employeePath,
  jsonPieces,
} from './reading.ts';

/** Rows and problems per tick of the event loop: a few milliseconds. A small file can have millions. */
const CHECKED_AT_ONCE = 300;

/** A row that passed the check. Only `employee` is uploaded. */
export type CensusRow = { employee: Employee } & ForPayroll;

export type CensusReport = {
  /** Rows read, valid and invalid. */
  employees: number;
  problemCount: number;
  /** The first `PROBLEMS_MAX`. */
  problems: Problem[];
  /** Null unless it passed the check. */
  organization: Organization | null;
};

/** Returns the result of a check as the API and the CLI show it. */
export function viewFindings({ employees, problemCount, problems }: Omit<CensusReport, 'organization'>) {
  return { valid: problemCount === 0, employees, problem_count: problemCount, problems };
}

/**
 * Checks a whole census in constant memory. `onRow` receives the rows until the first problem, which refuses
 * the census. `onEmployee` receives each employee of a row that follows the contract. Only hints hold values. Throws what the content throws.
 */
export async function checkCensus(
  census: CensusContent,
  onRow: (row: CensusRow) => Promise<void> | void = () => {},
  signal: AbortSignal | null = null,
  onEmployee: ((row: number, employee: Employee, line?: number) => void) | null = null,
): Promise<CensusReport> {
  const report: CensusReport = { employees: 0, problemCount: 0, problems: [], organization: null };
  const rowOfId = new Map<string, number>();
  const lines: number[] = [];
  let organizationSeen = false;

  const add = (problems: readonly Problem[]): void => {
    report.problemCount += problems.length;
    report.problems.push(...problems.slice(0, PROBLEMS_MAX - report.problems.length));
  };

  const addWithin = (path: string, problems: readonly Problem[]): void =>
    add(problems.map((problem) => within(path, problem)));

  const takeOrganization = (value: unknown): void => {
    organizationSeen = true;
    if (organizationChecker.accepts(value)) report.organization = value;
    else addWithin('organization', organizationChecker.problems(value, PROBLEMS_MAX, 'hints'));
  };

  const takeEmployee = ({ parsed, broken, line }: EmployeePiece): CensusRow | null => {
    if (report.employees === EMPLOYEES_MAX) {
      throw unreadable('employees', `must have at most ${EMPLOYEES_MAX} elements`);
    }
    const path = employeePath(report.employees);
    if (line !== undefined) lines[report.employees] = line;
    report.employees += 1;
    if (broken !== undefined) {
      add([broken]);
      return null;
    }
    if (!parsed.ok) {
      add([{ path, rule: parsed.reason }]);
      return null;
    }
    const { rest, forPayroll, problems } = splitPayrollFields(parsed.value, ['pay_group', 'effective_on']);
    addWithin(path, problems);
    if (!employeeChecker.accepts(rest)) {
      if (report.problems.length === PROBLEMS_MAX) report.problemCount += employeeChecker.count(rest);
      else {
        const broken = employeeChecker.problems(rest, PROBLEMS_MAX, 'hints');
        addWithin(path, line === undefined ? broken : broken.map(inCell));
      }
      noteId((rest as { employee_id?: unknown } | null)?.employee_id, path);
      return null;
    }
    onEmployee?.(report.employees - 1, rest, line);
    const isNew = noteId(rest.employee_id, path);
    return isNew && problems.length === 0 ? { employee: rest, ...forPayroll } : null;
  };

  /** Rejects a second row for an employee: the service would keep one of the two, unpredictably. */
  const noteId = (id: unknown, path: string): boolean => {
    // Such an id is invalid anyway, so it is not kept. A character has two code units at most.
    if (typeof id !== 'string' || id.length > 2 * ID_MAX_CHARACTERS) return true;
    const first = rowOfId.get(id);
    if (first === undefined) rowOfId.set(id, report.employees - 1);
    else {
      const rule = `is the same as ${employeePath(first)}.employee_id: keep one row of each employee, or correct the ID`;
      add([{ path: `${path}.employee_id`, rule }]);
    }
    return first === undefined;
  };

  const content = slices(census.content, CENSUS_BYTES_MAX, signal);
  const pieces =
    census.format === 'json'
      ? jsonPieces(content)
      : csvPieces(content, census.organization ?? null, census.through);
  let counted = 0;
  try {
    for await (const some of pieces) {
      for (const piece of some) {
        if (report.employees + report.problemCount - counted > CHECKED_AT_ONCE) {
          counted = report.employees + report.problemCount;
          await nextTurn();
        }
        if (piece.kind === 'employee') {
          const row = takeEmployee(piece);
          if (row !== null && report.problemCount === 0) await onRow(row);
        } else if (piece.kind === 'organization') takeOrganization(piece.value);
        else {
          organizationSeen ||= piece.problem.path === 'organization';
          add([piece.problem]);
        }
      }
    }
    if (!organizationSeen) {
      const { organizationFrom: from } = census;
      const where = from === undefined ? '' : ` in ${from}, or in the file format of the employer`;
      add([{ path: 'organization', rule: `is required${where}` }]);
    }
    if (report.employees === 0) add([{ path: 'employees', rule: 'must have at least 1 element' }]);
  } catch (error) {
    if (!isAppError(error, 'UNREADABLE')) throw error;
    add(error.problems);
  }
  const problemsWithLines = report.problems.map((problem) => withLines(problem, lines));
  const isStrictCsv = census.format !== 'json' && census.through === undefined;
  const { problems, count: problemCount } = withFormatProblem(
    problemsWithLines,
    report.problemCount,
    isStrictCsv ? CENSUS_ROWS : {},
  );
  return { ...report, problemCount, problems };
}

/** In a file, a field is absent because its cell is empty. */
function inCell(problem: Problem): Problem {
  return problem.rule === 'is required'
    ? { ...problem, rule: 'is required: fill in the empty cell' }
    : problem;
}
