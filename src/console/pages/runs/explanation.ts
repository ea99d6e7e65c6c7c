/**
 * How a line came about, in words for the person who runs payroll. The API's explanation is a formula that is frozen with
 * the run; here what it leaves unnamed is named, and every number of it stays as it is. Pure.
 */

/** `150.00 - 0.00`: what is due through one check or month, and through the one before it. */
const DIFFERENCE = String.raw`(-?[\d.]+) - (-?[\d.]+)`;
const SPREAD = new RegExp(
  String.raw`, check (\d+) of (the first )?(\d+), spread(?:, ([a-z-]+))?: ${DIFFERENCE}`,
  'g',
);
const MONTH = new RegExp(String.raw`, in ([A-Z][a-z]+) ${DIFFERENCE} = (-?[\d.]+)`, 'g');
/** Behind the place of a check: who takes the cents that a division leaves. */
const CENTS =
  /((?:check \d+ of (?:the first )?\d+|one of \d+ checks|off-cycle beside \d+)), (first|last|none)(?:, ([a-z-]+))?: /g;
const WHO_TAKES = {
  first: 'the first check takes the cents that are left',
  last: 'the last check takes the cents that are left',
  none: 'rounded by itself',
} as const;

/** The steps of an explanation; the employer's side stands behind the employee's. */
export function stepsOf(explanation: string): string[] {
  return explanation.split('; ').map(inWords);
}

function inWords(step: string): string {
  return step
    .replace(
      SPREAD,
      (_, check: string, first = '', checks: string, rounding: string | undefined, through, before) => {
        const rounds = rounding === undefined ? '' : `, rounded ${rounding}`;
        return `, over ${first}${checks} checks${rounds}: ${through} through check ${check}, less ${before} ${earlier(Number(check))}`;
      },
    )
    .replace(MONTH, ', in $1: $2 of the year through $1, less $3 before it = $4')
    .replace(CENTS, (_, place: string, who: keyof typeof WHO_TAKES, rounding: string | undefined) => {
      return `${place} (${WHO_TAKES[who]}${rounding === undefined ? '' : `, ${rounding}`}): `;
    });
}

function earlier(check: number): string {
  return check > 1 ? `through check ${check - 1}` : 'before it';
}
