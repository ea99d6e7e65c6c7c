import { type PolicyVersion, readPolicies } from '../payroll/settings/policy.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { employerId } from './employer.ts';
import type { Output } from './output.ts';
import { printTable } from './table.ts';

type Options = { employer: string; json?: true };

/** Shows the versions of an employer's payroll policy. */
export async function policyShow(context: Context, options: Options): Promise<number> {
  const id = employerId(options.employer);
  return withDatabase(context, async (db) => showPolicies(context.out, await readPolicies(db, id), options));
}

/** Prints the versions of a policy, the newest `effective_from` first. */
export function showPolicies(
  out: Output,
  versions: readonly PolicyVersion[],
  { json }: { json?: true },
): number {
  if (json) out.json({ versions });
  else if (versions.length === 0) out.note('no payroll policy: runs use the defaults');
  else {
    printTable(
      out,
      ['from', 'scheme', 'remainder', 'extra paycheck', 'applies on', 'adjustments', 'arrears', 'set', 'by'],
      versions.map((one) => [
        one.effective_from,
        one.scheme,
        one.remainder,
        one.extra_paycheck,
        one.applies_on,
        one.adjustments,
        one.arrears,
        one.created_at,
        one.created_by ?? 'command line',
      ]),
    );
  }
  return 0;
}
