/**
 * The latest state of each deduction in PostgreSQL. The peers keep neither the history nor the events. An event older
 * than the stored state changes nothing.
 */
import type { DeductionEvent } from './webhook.ts';

const COLUMNS = [
  'deduction_id',
  'employee_id',
  'line_of_coverage',
  'member_contribution',
  'employer_contribution',
  'period',
  'taxability',
  'coverage_type',
  'description',
  'effective_start',
  'effective_end',
  'created_at',
] as const;

/** Ids compare by bytes, as in the sidecar's tables, because language rules would slow the peers down. */
export const CREATE_DEDUCTIONS = `create table if not exists deductions (
  deduction_id text collate "C" primary key, employee_id text collate "C" not null, line_of_coverage text not null,
  member_contribution numeric not null, employer_contribution numeric not null, period text not null,
  taxability text not null, coverage_type text, description text, effective_start date, effective_end date,
  created_at timestamptz not null)`;

const names = COLUMNS.join(', ');
const unlessOlder = `on conflict (deduction_id) do update set
  ${COLUMNS.slice(1)
    .map((column) => `${column} = excluded.${column}`)
    .join(', ')}
  where excluded.created_at >= deductions.created_at`;

/** The statement for one event, named so that each connection prepares it once. */
export function upsertOne(event: DeductionEvent) {
  const places = COLUMNS.map((_, index) => `$${index + 1}`).join(', ');
  return {
    name: 'upsert-one',
    text: `insert into deductions (${names}) values (${places}) ${unlessOlder}`,
    values: Object.values(rowOf(event)),
  };
}

/** One statement for many events: only the newest per deduction, in a fixed order to avoid deadlocks. */
export function upsertMany(events: readonly DeductionEvent[]) {
  return {
    name: 'upsert-many',
    text: `insert into deductions (${names}) select distinct on (deduction_id) ${names}
      from json_populate_recordset(null::deductions, $1::json)
      order by deduction_id, created_at desc ${unlessOlder}`,
    values: [JSON.stringify(events.map(rowOf))],
  };
}

/** In the order of the columns. */
function rowOf({ data, created_at }: DeductionEvent): Record<(typeof COLUMNS)[number], unknown> {
  return {
    deduction_id: data.id,
    employee_id: data.employee_id,
    line_of_coverage: data.line_of_coverage,
    member_contribution: data.member_contribution,
    employer_contribution: data.employer_contribution,
    period: data.period,
    taxability: data.taxability,
    coverage_type: data.coverage_type,
    description: data.description,
    effective_start: data.effective_start,
    effective_end: data.effective_end,
    created_at,
  };
}
