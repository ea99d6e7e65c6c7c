/**
 * Stores applied events in bulk: the same rows in the same order in the same tables as the sidecar stores one by one,
 * with all indexes. The statements differ between the engines only by `Dialect`.
 */
import { bodyOf } from './events.ts';

/**
 * Each deduction has ten versions, stored in ten passes over 10,000 deductions, as if a year had passed before the next
 * 10,000. Five deductions belong to one employee.
 */
const VERSIONS = 10;
const DEDUCTIONS_A_BLOCK = 10_000;
const DEDUCTIONS_AN_EMPLOYEE = 5;
/** The number of stored events must be a multiple of this. */
const BLOCK_EVENTS = VERSIONS * DEDUCTIONS_A_BLOCK;
/** A prime near 2^32 divided by the golden ratio: scatters deductions over their index, as random ids do. */
const SCATTER = 2_654_435_761;

export type Dialect = {
  /** A `with` clause for a table `series` of the numbers 1 to `last`. */
  series(last: number): string;
  /** A number as text with this many digits. */
  decimal(number: string, digits: number): string;
  hex(number: string, digits: number): string;
  bytes(text: string): string;
};

export const SQLITE: Dialect = {
  series: (last) =>
    `with recursive series (n) as (select 1 union all select n + 1 from series where n < ${last})`,
  decimal: (number, digits) => `printf('%0${digits}d', ${number})`,
  hex: (number, digits) => `printf('%0${digits}x', ${number})`,
  bytes: (text) => `cast(${text} as blob)`,
};

export const POSTGRES: Dialect = {
  series: (last) => `with series (n) as (select generate_series(1, ${last}::bigint))`,
  decimal: (number, digits) => `lpad((${number})::text, ${digits}, '0')`,
  hex: (number, digits) => `lpad(to_hex(${number}), ${digits}, '0')`,
  bytes: (text) => `convert_to(${text}, 'UTF8')`,
};

/** Returns the statements that store this many events in an empty, migrated database. */
export function fillStatements(events: number, dialect: Dialect): string[] {
  if (events % BLOCK_EVENTS !== 0) throw new Error(`${events} is not a multiple of ${BLOCK_EVENTS}`);
  if (events === 0) return [];
  const uuid = (number: string) => uuidOf(number, dialect);
  // For event n, counted from 1: its pass over the block, and its deduction.
  const pass = `((n - 1) % ${BLOCK_EVENTS} / ${DEDUCTIONS_A_BLOCK})`;
  const deduction = `((n - 1) / ${BLOCK_EVENTS} * ${DEDUCTIONS_A_BLOCK} + (n - 1) % ${DEDUCTIONS_A_BLOCK})`;
  const employeeOf = (number: string) => `'emp-' || cast(${number} / ${DEDUCTIONS_AN_EMPLOYEE} as text)`;
  const eventId = `'msg_fill' || ${dialect.decimal('n', 19)}`;
  const timeOf = (number: string) => `'2025-06-01T00:00:' || ${dialect.decimal(number, 2)}`;
  const contribution = `${dialect.decimal(`100 + ${pass}`, 3)} || '.50'`;
  const received = `'2025-06-01T00:01:00.000Z'`;
  const body = asSql({
    envelopeId: uuid('n'),
    deductionId: uuid(deduction),
    employeeId: employeeOf(deduction),
    line: `'medical'`,
    contribution,
    createdAt: `${timeOf(pass)} || '.000Z'`,
  });
  // The last event of deduction n - 1.
  const newest = `((n - 1) / ${DEDUCTIONS_A_BLOCK} * ${BLOCK_EVENTS} + ${BLOCK_EVENTS - DEDUCTIONS_A_BLOCK} + (n - 1) % ${DEDUCTIONS_A_BLOCK} + 1)`;
  return [
    `${dialect.series(events)}
     insert into inbox (event_id, source, received_at, body, state, event_type, envelope_id, finished_at)
     select ${eventId}, 'webhook', ${received}, ${dialect.bytes(body)}, 'applied', 'employee.deduction-updated', ${uuid('n')}, ${received}
     from series`,
    `${dialect.series(events)}
     insert into deduction_versions (position, deduction_id, version, previous_position, event_id, employee_id, line_of_coverage,
       member_contribution, employer_contribution, period, taxability, coverage_type, description, effective_start,
       effective_end, starts_on, ends_on, created_at, event_time, ordered_by, late, tie_changed, future_dated, moved,
       recorded_at)
     select n, ${uuid(deduction)}, ${pass} + 1, case when ${pass} > 0 then n - ${DEDUCTIONS_A_BLOCK} end, ${eventId},
       ${employeeOf(deduction)}, 'medical', ${contribution}, '350.00', 'monthly', 'pre_tax', 'member_family', 'Gold PPO 500',
       '2026-01-01T00:00:00Z', '2026-12-31T00:00:00Z', '2026-01-01', '2026-12-31', ${timeOf(pass)} || '.000Z',
       ${timeOf(pass)} || '.000000000Z', 'created_at', 0, 0, 0, 0, ${received}
     from series`,
    `${dialect.series(events / VERSIONS)}
     insert into deductions (deduction_id, position, event_time, employee_id, version_count, last_received_position)
     select ${uuid('(n - 1)')}, ${newest}, ${timeOf(`${VERSIONS - 1}`)} || '.000000000Z', ${employeeOf('(n - 1)')}, ${VERSIONS}, ${newest}
     from series`,
    `update ledger_head set position = ${events}`,
  ];
}

/** Returns an id for a number, in scattered order. */
export function uuidOf(number: string, dialect: Dialect): string {
  return `${scattered(number, dialect)} || '-0000-4000-8000-' || ${dialect.hex(number, 12)}`;
}

/** Returns eight distinct digits for a number below 2^32, in scattered order. */
export function scattered(number: string, dialect: Dialect): string {
  return dialect.hex(`(${number}) * ${SCATTER} % 4294967296`, 8);
}

/** Returns an SQL expression for a text like the sample, with the given expressions as values. */
export function asSql(expressions: Parameters<typeof bodyOf>[0]): string {
  const marked = Object.fromEntries(Object.keys(expressions).map((name) => [name, `<${name}>`]));
  const parts = bodyOf(marked as typeof expressions).split(/<(\w+)>/);
  return parts
    .map((part, index) => (index % 2 === 0 ? `'${part}'` : expressions[part as keyof typeof expressions]))
    .join(' || ');
}
