/** The columns that `verify` compares, and the columns that it can't, for all tests that change rows. */

/** A row of each table, and several rows of tables with several kinds. */
export const ROWS: readonly (readonly [table: string, where: string, unverified?: string])[] = [
  ['inbox', "event_id = 'd-1.3'"],
  ['inbox', "event_type = 'employee-census.sync-request'"],
  // Nothing refers to its id, because it had no effect.
  ['inbox', "state = 'quarantined'", 'inbox.event_id'],
  ['inbox', "source = 'import'"],
  ['event_conflicts', 'true'],
  ['conflicted_events', 'true'],
  ['ledger_head', 'true'],
  ['deduction_versions', "event_id = 'd-1.1'"],
  ['deduction_versions', "event_id = 'd-1.4'"],
  ['deduction_versions', "event_id = 'd-1.6'"],
  ['deductions', "deduction_id = 'd-1'"],
  ['deduction_employees', "deduction_id = 'd-1' and employee_id = 'e-2'"],
  ['roster_facts', "source = 'termination' and employee_id = 'many-0000'"],
  ['roster_facts', "source = 'census' and employee_id = 'many-0002'"],
  ['roster', "employee_id = 'many-0000'"],
  ['outbox', "subject_id = 'many-0000'"],
  ['outbox', "kind = 'census'"],
  ['staged_censuses', "state = 'current'"],
  ['census_syncs', 'true'],
  ['census_completions', 'true'],
  ['census_chunks', 'chunk = 1'],
  ['hash_keys', 'true'],
  ['audit_head', 'true'],
  ['audit_records', 'true'],
  ['payroll_runs', "run_id = '2026-06-19'"],
  ['payroll_runs', "run_id = '2026-07-17'"],
  [
    'run_employees',
    "employee_id = 'many-0000' and freeze_id = (select freeze_id from payroll_runs where run_id = '2026-06-19')",
  ],
  ['payroll_runs', "state = 'voided'"],
  ['payroll_head', 'true'],
  ['accepted_findings', 'true'],
  ['run_approvals', 'true'],
  ['approval_settings', 'version = 1'],
  ['approval_settings', 'version = 2'],
  ['run_overrides', 'true'],
  ['taken_reports', 'true'],
  ['taken_lines', 'true'],
];

/**
 * Columns without a second source: text written by people, and facts from the service or a census. Of our own times, only
 * the form is verified: this test makes it wrong.
 */
export const UNVERIFIED: ReadonlySet<string> = new Set([
  'inbox.seq',
  'inbox.reprocessed',
  'event_conflicts.conflict_id',
  ...[
    'hire_date',
    'termination_date',
    'employment_status',
    'pay_frequency',
    'pay_group',
    'absent',
    'effective_on',
  ].map((column) => `roster_facts.${column}`),
  'roster_facts.source_id',
  'outbox.effective_on',
  'outbox.pay_group',
  ...['seq', 'body_hash', 'unknown_outcome', 'may_have_been_applied', 'status', 'reason'].map(
    (column) => `outbox.${column}`,
  ),
  ...['sync_id', 'reason', 'problem_count', 'problems'].map((column) => `census_syncs.${column}`),
  'staged_censuses.fingerprint_key',
  ...['position', 'revision', 'computed_at', 'result'].map((column) => `run_computations.${column}`),
  'payroll_runs.run_id',
  'payroll_runs.finalize_key_hash',
  'taken_reports.key_hash',
  'payroll_runs.rules_version',
  'payroll_runs.policy_reason',
  'payroll_runs.void_reason',
  'run_overrides.reason',
]);
