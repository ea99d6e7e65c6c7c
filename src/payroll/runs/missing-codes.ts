/** Which payroll codes the lines of a run need and the employer's list lacks. Pure. */

import type { Line } from '../calculation/line.ts';
import type { PayrollCode } from '../settings/codes.ts';

/**
 * Nothing is missing where the employer has no codes at all, nor on the employer's side where none of its codes is
 * for that. A side without a contribution needs none.
 */
export function createMissingCodes(codes: readonly PayrollCode[]): {
  add(line: Line): void;
  /** `dental pre_tax employee`, each once. */
  names(): string[];
} {
  const missing = new Set<string>();
  const needsEmployee = codes.length > 0;
  const needsEmployer = codes.some((code) => code.side === 'employer');
  return {
    add(line) {
      const what = `${line.line_of_coverage} ${line.taxability}`;
      if (needsEmployee && line.payroll_code === null && isSome(line.member_contribution))
        missing.add(`${what} employee`);
      if (needsEmployer && line.employer_payroll_code === null && isSome(line.employer_contribution))
        missing.add(`${what} employer`);
    },
    names: () => [...missing].sort(),
  };
}

/** Whether a contribution, a plain decimal as received, is anything but zero. */
function isSome(contribution: string | null): boolean {
  return contribution !== null && /[1-9]/.test(contribution);
}
