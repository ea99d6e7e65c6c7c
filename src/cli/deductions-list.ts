import { LINES_OF_COVERAGE } from '../contract/deduction.ts';
import { deductionCursor, viewDeduction } from '../ledger/deduction-view.ts';
import { type DeductionState, listDeductions } from '../ledger/deductions.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { WrongUsage } from './failure.ts';
import { notePage } from './page.ts';
import { type Cell, printTable } from './table.ts';

type Options = {
  employer?: string;
  employee?: string;
  matched?: boolean;
  on?: string;
  knownAt?: string;
  lineOfCoverage?: string;
  taxability?: string;
  limit: number;
  cursor?: string;
  json?: true;
};

/** Deductions by employee: the latest states, or with `--on` those in effect on that day. */
export async function deductionsList(context: Context, options: Options): Promise<number> {
  const { out, now } = context;
  const { employer, employee, matched, on, knownAt, lineOfCoverage, taxability, limit, json } = options;
  if (lineOfCoverage !== undefined && !(LINES_OF_COVERAGE as readonly string[]).includes(lineOfCoverage)) {
    throw new WrongUsage(`--line-of-coverage must be one of ${LINES_OF_COVERAGE.join(', ')}`);
  }
  const after = deductionCursor.decode(options.cursor);
  const filter = {
    ...{ employerId: employer, employeeId: employee, matched, on, knownAt },
    ...{ lineOfCoverage, taxability },
  };
  return withDatabase(context, async (db) => {
    const today = now().toISOString().slice(0, 10);
    const { deductions, next } = await listDeductions(db, filter, { after, limit }, today);
    const next_cursor = deductionCursor.encode(next);
    if (json) out.json({ data: deductions.map(viewDeduction), next_cursor });
    else {
      if (deductions.length > 0) printTable(out, HEAD, deductions.map(rowOf));
      else out.note(next_cursor === null ? 'no such deductions' : 'none yet among those looked at');
      notePage(out, next_cursor);
    }
    return 0;
  });
}

const HEAD = [
  ...['employer', 'employee', 'deduction', 'line of coverage', 'employee pays', 'employer pays'],
  ...['period', 'taxability', 'from', 'to'],
];

function rowOf({ version, employerId, matched }: DeductionState): Cell[] {
  return [
    employerId ?? (matched ? 'several' : 'unmatched'),
    version.employee_id,
    version.deduction_id,
    version.line_of_coverage,
    version.member_contribution,
    version.employer_contribution,
    version.period,
    version.taxability,
    version.starts_on,
    version.ends_on,
  ];
}
