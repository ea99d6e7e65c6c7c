/** The body of an employer's payroll codes: what payroll calls each deduction. Pure. */
import Type, { type Static } from 'typebox';
import { compile, type Problem } from '../../contract/check.ts';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { nullable, oneOf } from '../../contract/fields.ts';
import { type PayrollCode, SIDES, TREATMENTS } from './codes.ts';

/** One of everything: more codes can't be for different things. */
export const CODES_MAX = LINES_OF_COVERAGE.length * (TAXABILITIES.length + 1) * SIDES.length;
/** Longer than the codes of payroll products, short enough for a column. */
const CODE_MAX_CHARACTERS = 64;

/**
 * Printable, no blank at its ends, and nothing that a spreadsheet takes for a formula: codes stand in CSV files as
 * they are.
 */
const code = Type.String({
  pattern: `^(?![=+@\\- ])[ -~]{0,${CODE_MAX_CHARACTERS - 1}}[!-~]$`,
  rule: `must be 1 to ${CODE_MAX_CHARACTERS} printable ASCII characters, without a blank at its ends, and not begin with = + - @`,
});

const CodeBody = Type.Object(
  {
    line_of_coverage: oneOf(LINES_OF_COVERAGE),
    taxability: Type.Optional(nullable(oneOf(TAXABILITIES))),
    side: oneOf(SIDES),
    code,
    treatment: Type.Optional(nullable(oneOf(TREATMENTS))),
  },
  { additionalProperties: false },
);

/** All codes of an employer; an empty list takes them away. */
export const CodesBody = Type.Object(
  {
    codes: Type.Array(CodeBody, {
      maxItems: CODES_MAX,
      rule: `must be a list of at most ${CODES_MAX} payroll codes`,
    }),
  },
  { additionalProperties: false },
);
export type CodesBody = Static<typeof CodesBody>;

const codesBody = compile(CodesBody);

/** The codes that a body gives, or all that is wrong with it. */
export function codesOf(
  body: unknown,
): { ok: true; codes: PayrollCode[] } | { ok: false; problems: Problem[] } {
  if (!codesBody.accepts(body)) return { ok: false, problems: codesBody.problems(body) };
  const codes = body.codes.map((one) => ({
    ...one,
    taxability: one.taxability ?? null,
    treatment: one.treatment ?? null,
  }));
  const problems = [...misplaced(codes), ...repeated(codes)];
  return problems.length === 0 ? { ok: true, codes } : { ok: false, problems };
}

function misplaced(codes: readonly PayrollCode[]): Problem[] {
  return codes.flatMap(({ side, treatment }, index) =>
    side === 'employee' && treatment !== null
      ? [{ path: `codes[${index}].treatment`, rule: 'is only for the side employer' }]
      : [],
  );
}

function repeated(codes: readonly PayrollCode[]): Problem[] {
  const seen = new Set<string>();
  return codes.flatMap(({ line_of_coverage, taxability, side }, index) => {
    const key = `${line_of_coverage} ${taxability} ${side}`;
    const isRepeated = seen.has(key);
    seen.add(key);
    const rule = 'must not have the line_of_coverage, taxability and side of a code before it';
    return isRepeated ? [{ path: `codes[${index}]`, rule }] : [];
  });
}
