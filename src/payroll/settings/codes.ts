/** Payroll's own codes for deductions. Stored and read as a whole. */
import { isDeepStrictEqual } from 'node:util';
import Type, { type Static } from 'typebox';
import { compile, PROBLEMS_MAX } from '../../contract/check.ts';
import { COVERAGE_TYPES, LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { closed, component, nullable, oneOfDescribed } from '../../contract/fields.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { type Problem, refused } from '../../errors.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { CODES_MAX, SIDES } from '../../formats/payroll-code.ts';
import { type Acting, isRecordedBy } from '../../security/audit.ts';
import { type Fact, insertFacts } from '../../security/facts.ts';
import { type Codes, TREATMENTS } from '../calculation/line.ts';
import { lockPayroll } from './lock.ts';
import { repeated, type Setting } from './setting.ts';

/** Maximum length of a code. It fits in a column of a payroll file. */
const CODE_MAX_CHARACTERS = 64;

/** No blank at its ends, and nothing that a spreadsheet reads as a formula: CSV files contain codes unchanged. */
const code = Type.String({
  pattern: `^(?![=+@\\- ])[ -~]{0,${CODE_MAX_CHARACTERS - 1}}[!-~]$`,
  rule: `must be 1 to ${CODE_MAX_CHARACTERS} printable ASCII characters, without a blank at its ends, and not begin with = + - @`,
  description: 'The payroll code.',
});

/** A `taxability` or `coverage_type` of null matches any. */
export const PayrollCode = closed({
  line_of_coverage: oneOfDescribed(LINES_OF_COVERAGE, 'The line of coverage.'),
  taxability: nullable(
    oneOfDescribed(TAXABILITIES, 'The taxability. Null for lines that no other code matches.'),
  ),
  coverage_type: nullable(
    oneOfDescribed(COVERAGE_TYPES, 'Who is covered. Null for lines that no other code matches.'),
  ),
  side: oneOfDescribed(SIDES, 'The contribution: employee or employer.'),
  code,
  treatment: nullable(
    oneOfDescribed(TREATMENTS, 'How payroll treats the employer amount. Null if not stated.'),
  ),
});
export type PayrollCode = Static<typeof PayrollCode>;

const readStored = jsonColumn('payroll_codes', 'codes', Type.Array(PayrollCode));

type Coded = { line_of_coverage: string; taxability: string | null; coverage_type: string | null };

/**
 * Returns a function that finds the codes of a line. The most specific code wins; a taxability is more specific than a
 * coverage type, because a wrong one is taxed wrongly.
 */
export function codeFinder(codes: readonly PayrollCode[]): (line: Coded) => Codes {
  const known = new Map(codes.map((code) => [keyOf(code.side, code), code]));
  const find = (side: string, line: Coded): PayrollCode | undefined =>
    known.get(keyOf(side, line)) ??
    known.get(keyOf(side, { ...line, coverage_type: null })) ??
    known.get(keyOf(side, { ...line, taxability: null })) ??
    known.get(keyOf(side, { ...line, taxability: null, coverage_type: null }));
  const byLine = new Map<string, Codes>();
  return (line) => {
    const key = keyOf('', line);
    const remembered = byLine.get(key);
    if (remembered !== undefined) return remembered;
    const employer = find('employer', line);
    const codesOfLine = {
      payroll_code: find('employee', line)?.code ?? null,
      employer_payroll_code: employer?.code ?? null,
      employer_treatment: employer?.treatment ?? null,
    };
    byLine.set(key, codesOfLine);
    return codesOfLine;
  };
}

function keyOf(side: string, { line_of_coverage, taxability, coverage_type }: Coded): string {
  return `${side} ${line_of_coverage} ${taxability ?? ''} ${coverage_type ?? ''}`;
}

/** `knownAt`: as set by this instant; by default the latest. */
export async function readCodes(db: Db | Trx, employerId: string, knownAt?: string): Promise<PayrollCode[]> {
  const latest = await latestVersion(db, employerId, knownAt);
  return latest === undefined ? [] : readStored(latest.codes, employerId);
}

function latestVersion(db: Db | Trx, employerId: string, knownAt?: string) {
  return db
    .selectFrom('payroll_codes')
    .select(['version', 'codes'])
    .where('employer_id', '=', employerId)
    .where(isRecordedBy(db, knownAt))
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export const CODES_VERSION: Fact<'payroll_codes'> = {
  table: 'payroll_codes',
  actions: ['codes.put'],
  subject: { resource: 'employer_id', employer: 'employer_id' },
};

export async function putCodes(
  trx: Trx,
  employerId: string,
  codes: readonly PayrollCode[],
  acting: Acting,
): Promise<void> {
  await lockPayroll(trx);
  const latest = await latestVersion(trx, employerId);
  const before = latest === undefined ? [] : readStored(latest.codes, employerId);
  // The first list of an employer is stored even if it is empty: it makes the employer known.
  if (latest !== undefined && isDeepStrictEqual(before, codes)) return;
  const version = (latest?.version ?? 0) + 1;
  const row = { employer_id: employerId, version, codes: JSON.stringify(codes) };
  await insertFacts(trx, CODES_VERSION, [row], acting, { details: { version, before, after: codes } });
}

export const PayrollCodes = component(
  'PayrollCodes',
  {
    codes: Type.Array(
      closed({
        ...PayrollCode.properties,
        taxability: Type.Optional(PayrollCode.properties.taxability),
        coverage_type: Type.Optional(PayrollCode.properties.coverage_type),
        treatment: Type.Optional(PayrollCode.properties.treatment),
      }),
      {
        maxItems: CODES_MAX,
        rule: `must be a list of at most ${CODES_MAX} payroll codes`,
        description: 'Empty if none are set.',
      },
    ),
  },
  "An employer's payroll codes. The lines of its runs contain them.",
);

const codesBody = compile(PayrollCodes);

export const CODES: Setting<PayrollCode[], { codes: PayrollCode[] }> = {
  check(body) {
    if (!codesBody.accepts(body))
      throw refused('SETTINGS_REFUSED', codesBody.problems(body, PROBLEMS_MAX, 'hints'));
    const codes = body.codes.map((code) => ({
      ...code,
      taxability: code.taxability ?? null,
      coverage_type: code.coverage_type ?? null,
      treatment: code.treatment ?? null,
    }));
    const rule = 'must not have the line_of_coverage, taxability, coverage_type and side of a code before it';
    const key = (code: PayrollCode) => keyOf(code.side, code);
    const problems = [...misplaced(codes), ...repeated('codes', codes, key, rule)];
    if (problems.length > 0) throw refused('SETTINGS_REFUSED', problems);
    return codes;
  },
  put: putCodes,
  view: async (db, employerId, knownAt) => ({ codes: await readCodes(db, employerId, knownAt) }),
};

function misplaced(codes: readonly PayrollCode[]): Problem[] {
  return codes.flatMap(({ side, treatment }, index) =>
    side === 'employee' && treatment !== null
      ? [{ path: `codes[${index}].treatment`, rule: 'is only for the side employer' }]
      : [],
  );
}
