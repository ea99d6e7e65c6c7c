/** Payroll's own codes for what is deducted. Pure. */

/** What payroll does with the employer's side. */
export const TREATMENTS = ['deposit', 'memo'] as const;
export type Treatment = (typeof TREATMENTS)[number];

export const SIDES = ['employee', 'employer'] as const;

/** `taxability` null: for either. */
export type PayrollCode = {
  line_of_coverage: string;
  taxability: string | null;
  side: (typeof SIDES)[number];
  code: string;
  treatment: Treatment | null;
};

export type CodesOfLine = {
  payroll_code: string | null;
  employer_payroll_code: string | null;
  employer_treatment: Treatment | null;
};

/** Finds the codes of a line; one for the exact taxability goes before one for either. */
export function codeFinder(
  codes: readonly PayrollCode[],
): (lineOfCoverage: string, taxability: string) => CodesOfLine {
  const known = new Map(
    codes.map((code) => [keyOf(code.side, code.line_of_coverage, code.taxability), code]),
  );
  const find = (side: string, line: string, taxability: string): PayrollCode | undefined =>
    known.get(keyOf(side, line, taxability)) ?? known.get(keyOf(side, line, null));
  return (line, taxability) => {
    const employer = find('employer', line, taxability);
    return {
      payroll_code: find('employee', line, taxability)?.code ?? null,
      employer_payroll_code: employer?.code ?? null,
      employer_treatment: employer?.treatment ?? null,
    };
  };
}

function keyOf(side: string, line: string, taxability: string | null): string {
  return `${side} ${line} ${taxability ?? ''}`;
}
