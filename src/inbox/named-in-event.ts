/** The fields of an event that are read leniently, because a quarantined event breaks the contract. No other field is shown. */
import type { Static } from 'typebox';
import { compile } from '../contract/check.ts';
import { Deduction, LINES_OF_COVERAGE, type LineOfCoverage } from '../contract/deduction.ts';
import { PAY_FREQUENCIES, type PayFrequency } from '../contract/employee.ts';
import { ID_MAX_CHARACTERS, identifier } from '../contract/fields.ts';
import { dayOf } from '../contract/instant.ts';
import { parseJson } from '../contract/json.ts';

/** Null fields are absent or cannot be read. */
export type NamedChange = {
  readonly deductionId: string | null;
  readonly lineOfCoverage: LineOfCoverage | null;
  /** Plain decimals. */
  readonly memberContribution: string | null;
  readonly employerContribution: string | null;
  readonly period: PayFrequency | null;
  readonly createdAt: string | null;
  /** `YYYY-MM-DD`. */
  readonly startsOn: string | null;
};

export type NamedInEvent = { employeeId?: string; employerId?: string; change?: NamedChange };

/** A deduction with a description of 4,000 letters has 5 KB. Larger bodies are read for the ids they name only. */
export const CHANGE_BYTES_MAX = 8 * 1024;
/** The digits of a JSON number that survive parsing. */
const NUMBER_DIGITS_MAX = 15;

const ids = compile(identifier);
const contributions = compile(Deduction.properties.member_contribution);

/** Returns the employee and employer that an event names, and its change, if its body is readable JSON. */
export function namedIn(body: Buffer | null): NamedInEvent {
  const parsed = body === null ? null : parseJson(body.toString('utf8'));
  if (body === null || parsed?.ok !== true) return {};
  const { data, created_at } = fieldsOf(parsed.value);
  const fields = fieldsOf(data);
  const { employee_id, employer_id } = fields;
  const [employeeId, employerId] = [idIn(employee_id), idIn(employer_id)];
  return {
    ...(employeeId !== null && { employeeId }),
    ...(employerId !== null && { employerId }),
    ...(body.length <= CHANGE_BYTES_MAX && { change: changeIn(fields, created_at) }),
  };
}

function changeIn(fields: Record<string, unknown>, createdAt: unknown): NamedChange {
  return {
    deductionId: idIn(fields.id),
    lineOfCoverage: oneOfIn(LINES_OF_COVERAGE, fields.line_of_coverage),
    memberContribution: amountIn(fields.member_contribution),
    employerContribution: amountIn(fields.employer_contribution),
    period: oneOfIn(PAY_FREQUENCIES, fields.period),
    createdAt: typeof createdAt === 'string' ? createdAt : null,
    startsOn: typeof fields.effective_start === 'string' ? dayOf(fields.effective_start) : null,
  };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function idIn(value: unknown): Static<typeof identifier> | null {
  const text = Number.isSafeInteger(value) ? String(value) : value;
  return ids.accepts(text) ? text : null;
}

/** Also accepts a JSON number, the commonest reason why an amount is quarantined, while it has all its digits. */
function amountIn(value: unknown): string | null {
  if (typeof value !== 'number') return contributions.accepts(value) ? value : null;
  const text = String(value);
  return text.length <= NUMBER_DIGITS_MAX && contributions.accepts(text) ? text : null;
}

/** Returns the value that a text names, in whatever case and with spaces or hyphens for underscores. */
function oneOfIn<const Value extends string>(values: readonly Value[], value: unknown): Value | null {
  if (typeof value !== 'string' || value.length > ID_MAX_CHARACTERS) return null;
  const name = value.trim().toLowerCase().replace(/[ -]/g, '_');
  return values.find((known) => known === name) ?? null;
}
