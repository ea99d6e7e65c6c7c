-- Views for reports and ad hoc queries (db/README.md). A migration that changes a table drops and re-creates them.
-- Only columns that were validated when they were written are cast. RFC 3339 has a year 0000, PostgreSQL does not: such a
-- date or time is null here.

-- Every state of every deduction, in the order of recording.
CREATE VIEW reporting_deduction_versions AS
  SELECT
    deduction_versions.position,
    deduction_versions.deduction_id,
    deduction_versions.version,
    deduction_versions.event_id,
    deduction_versions.employee_id,
    deduction_versions.line_of_coverage,
    deduction_versions.coverage_type,
    deduction_versions.taxability,
    deduction_versions.description,
    deduction_versions.period,
    deduction_versions.member_contribution, -- numeric
    deduction_versions.employer_contribution, -- numeric
    deduction_versions.starts_on, -- date or null
    deduction_versions.ends_on, -- date or null
    deduction_versions.event_time, -- timestamptz or null
    deduction_versions.late, -- boolean
    deduction_versions.recorded_at -- timestamptz
  FROM deduction_versions;

-- The latest state of every deduction. Its dates tell whether it is in effect.
CREATE VIEW reporting_deductions AS
  SELECT
    reporting_deduction_versions.position,
    reporting_deduction_versions.deduction_id,
    reporting_deduction_versions.version,
    reporting_deduction_versions.event_id,
    reporting_deduction_versions.employee_id,
    reporting_deduction_versions.line_of_coverage,
    reporting_deduction_versions.coverage_type,
    reporting_deduction_versions.taxability,
    reporting_deduction_versions.description,
    reporting_deduction_versions.period,
    reporting_deduction_versions.member_contribution,
    reporting_deduction_versions.employer_contribution,
    reporting_deduction_versions.starts_on,
    reporting_deduction_versions.ends_on,
    reporting_deduction_versions.event_time,
    reporting_deduction_versions.late,
    reporting_deduction_versions.recorded_at,
    deductions.version_count
  FROM deductions JOIN reporting_deduction_versions ON reporting_deduction_versions.position = deductions.position;

-- Finalized and voided payroll runs.
CREATE VIEW reporting_runs AS
  SELECT
    payroll_runs.run_id,
    payroll_runs.employer_id,
    payroll_runs.kind,
    payroll_runs.state,
    payroll_runs.pay_frequency,
    payroll_runs.pay_group,
    payroll_runs.period_start, -- date or null
    payroll_runs.period_end, -- date or null
    payroll_runs.pay_date, -- date or null
    payroll_runs.finalized_at, -- timestamptz
    payroll_runs.voided_at, -- timestamptz
    payroll_runs.void_reason
  FROM payroll_runs WHERE state <> 'open';

-- What finalized and voided runs deduct, line by line.
CREATE VIEW reporting_run_lines AS
  SELECT
    payroll_runs.run_id,
    payroll_runs.employer_id,
    payroll_runs.state,
    payroll_runs.pay_date, -- date or null
    run_employees.employee_id,
    line.value ->> 'deduction_id' AS deduction_id,
    line.value ->> 'version' AS version, -- integer
    line.value ->> 'line_of_coverage' AS line_of_coverage,
    line.value ->> 'coverage_type' AS coverage_type,
    line.value ->> 'taxability' AS taxability,
    line.value ->> 'payroll_code' AS payroll_code,
    line.value ->> 'employer_payroll_code' AS employer_payroll_code,
    line.value ->> 'employer_treatment' AS employer_treatment,
    line.value ->> 'description' AS description,
    line.value ->> 'kind' AS line_kind,
    line.value ->> 'adjustment_for' AS adjustment_for,
    line.value ->> 'member_amount' AS member_amount, -- numeric
    line.value ->> 'employer_amount' AS employer_amount -- numeric
-- on SQLite:
  FROM payroll_runs JOIN run_employees ON run_employees.freeze_id = payroll_runs.freeze_id JOIN json_each(run_employees.lines) AS line;
-- on PostgreSQL:
  FROM payroll_runs JOIN run_employees ON run_employees.freeze_id = payroll_runs.freeze_id
  CROSS JOIN LATERAL json_array_elements(run_employees.lines::json) AS line (value);
-- on both:
