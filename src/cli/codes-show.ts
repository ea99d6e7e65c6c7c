import type { PayrollCode } from '../payroll/settings/codes.ts';
import { readCodes } from '../payroll/settings/schedules.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';
import type { Output } from './output.ts';
import { printTable } from './table.ts';

type Options = { employer: string; json?: true };

/** An employer's payroll codes, as they were put. */
export async function codesShow(context: Context, options: Options): Promise<number> {
  const id = employerId(options.employer);
  return withDatabase(context, async (db) => showCodes(context.out, await readCodes(db, id), options));
}

/** Prints payroll codes: for people a table, for programs the body that `codes put` takes. */
export function showCodes(out: Output, codes: readonly PayrollCode[], { json }: { json?: true }): number {
  if (json) out.json({ codes });
  else if (codes.length === 0) out.note('no payroll codes');
  else {
    printTable(
      out,
      ['line of coverage', 'taxability', 'side', 'code', 'treatment'],
      codes.map((one) => [one.line_of_coverage, one.taxability ?? 'any', one.side, one.code, one.treatment]),
    );
  }
  return 0;
}
