/** A ledger with its roster, stored in bulk with the rows that the sidecar would store. For `--payroll`. */
import { asSql, type Dialect, scattered, uuidOf } from './fill.ts';

/** The numbers of generated entities. The first employer is the large one. */
export type Ledger = {
  deductions: number;
  employees: number;
  employers: number;
  large: { employees: number; deductions: number };
};

/** Average deductions per employer, and employees per ten deductions, as required by the issue. */
const DEDUCTIONS_AN_EMPLOYER = 1_000;
const EMPLOYEES_TO_TEN = 3;
const DEDUCTIONS_OF_LARGE = 3;
/** One in this many deductions was changed once. */
const CHANGED = 5;
/**
 * The seed of the generated ledger, a prime. It scatters the deductions of an employee and of an employer, because they
 * arrive over a year and not one employer after another.
 */
const SEED = { step: 2_654_435_761, first: 4_711 };

/** Returns a ledger of this size with a large employer of this many employees. */
export function ledgerOf(deductions: number, largeEmployees: number): Ledger {
  return {
    deductions,
    employees: (deductions / 10) * EMPLOYEES_TO_TEN,
    employers: deductions / DEDUCTIONS_AN_EMPLOYER,
    large: { employees: largeEmployees, deductions: largeEmployees * DEDUCTIONS_OF_LARGE },
  };
}

/** Returns a ledger with a single employer. */
export function oneEmployer(deductions: number): Ledger {
  const employees = (deductions / 10) * EMPLOYEES_TO_TEN;
  return { deductions, employees, employers: 1, large: { employees, deductions } };
}

export function employerId(index: number): string {
  return `employer-${index}`;
}

/** Returns the statements that store a ledger in an empty, migrated database. */
export function ledgerStatements(ledger: Ledger, dialect: Dialect): string[] {
  const { deductions, employees, employers, large } = ledger;
  const others = { employees: employees - large.employees, deductions: deductions - large.deductions };
  const employee = (index: string) => `'emp-' || ${scattered(index, dialect)}`;
  const employer = `'employer-' || cast(case when n <= ${large.employees} then 0
    else 1 + (n - 1 - ${large.employees}) % ${Math.max(1, employers - 1)} end as text)`;
  // For deduction n, counted from 1: its place in order of employees, and its employee.
  const place = `((n * ${SEED.step} + ${SEED.first}) % ${deductions})`;
  const owner = employee(`case when ${place} < ${large.deductions}
    then ${place} * ${large.employees} / ${large.deductions}
    else ${large.employees} + (${place} - ${large.deductions}) * ${others.employees} / ${Math.max(1, others.deductions)} end`);
  const line = `case ${place} % 5 when 0 then 'medical' when 1 then 'dental' when 2 then 'vision' when 3 then 'hsa' else 'life' end`;
  const dollars = (more: number) => `cast(${20 + more} + ${place} % 400 as text) || '.50'`;
  const deduction = uuidOf('n', dialect);
  const positionOf = { first: `${employees} + n`, second: `${employees + deductions} + n / ${CHANGED}` };
  const isChanged = `n % ${CHANGED} = 0`;

  /** The events of all deductions and their versions. */
  const events = (nth: 1 | 2): string[] => {
    const [day, startsOn, position] =
      nth === 1
        ? ['2024-12-01', '2025-01-01', positionOf.first]
        : ['2025-03-15', '2025-04-01', positionOf.second];
    const number = nth === 1 ? 'n' : `(${deductions} + n / ${CHANGED})`;
    const eventId = `'msg_fill' || ${dialect.decimal(number, 19)}`;
    const body = asSql({
      envelopeId: uuidOf(number, dialect),
      deductionId: deduction,
      employeeId: owner,
      line,
      contribution: dollars(nth),
      createdAt: `'${day}T00:00:00.000Z'`,
      startsOn,
    });
    const of = `from series ${nth === 1 ? '' : `where ${isChanged}`}`;
    return [
      `${dialect.series(deductions)}
       insert into inbox (event_id, source, received_at, body, state, event_type, envelope_id, finished_at)
       select ${eventId}, 'webhook', '${day}T00:00:01.000Z', ${dialect.bytes(body)}, 'applied',
         'employee.deduction-updated', ${uuidOf(number, dialect)}, '${day}T00:00:01.000Z' ${of}`,
      `${dialect.series(deductions)}
       insert into deduction_versions (position, deduction_id, version, previous_position, event_id, employee_id, line_of_coverage,
         member_contribution, employer_contribution, period, taxability, coverage_type, description, effective_start,
         effective_end, starts_on, ends_on, created_at, event_time, ordered_by, late, tie_changed, future_dated, moved,
         recorded_at)
       select ${position}, ${deduction}, ${nth}, ${nth === 1 ? 'null' : positionOf.first}, ${eventId}, ${owner}, ${line},
         ${dollars(nth)}, '350.00', 'monthly', 'pre_tax', 'member_family', 'Gold PPO 500',
         '${startsOn}T00:00:00Z', '2026-12-31T00:00:00Z', '${startsOn}', '2026-12-31', '${day}T00:00:00.000Z',
         '${day}T00:00:00.000000000Z', 'created_at', 0, 0, 0, 0, '${day}T00:00:01.000Z' ${of}`,
    ];
  };

  return [
    `${dialect.series(employees)}
     insert into roster_facts (position, employee_id, employer_id, hire_date, employment_status, pay_frequency, absent,
       source, source_id, recorded_at, received_on, content_hash)
     select n, ${employee('n - 1')}, ${employer}, '2020-01-01', 'full_time', 'biweekly', 0, 'census', 'census-1',
       '2024-12-01T00:00:00.000Z', '2024-12-01', '' from series`,
    'insert into roster (employee_id, employer_id, position) select employee_id, employer_id, position from roster_facts',
    ...events(1),
    ...events(2),
    `${dialect.series(deductions)}
     insert into deductions (deduction_id, position, event_time, employee_id, version_count, last_received_position)
     select ${deduction}, case when ${isChanged} then ${positionOf.second} else ${positionOf.first} end,
       case when ${isChanged} then '2025-03-15' else '2024-12-01' end || 'T00:00:00.000000000Z', ${owner},
       case when ${isChanged} then 2 else 1 end,
       case when ${isChanged} then ${positionOf.second} else ${positionOf.first} end from series`,
    `update ledger_head set position = ${employees + deductions + deductions / CHANGED}`,
  ];
}
