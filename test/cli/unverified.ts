/** The columns that `verify` compares, and the columns that it can't, for all tests that change rows. */

/** A row of each table, and several rows of tables with several kinds. */
export const ROWS: readonly (readonly [table: string, where: string, unverified?: string])[] = [
  ['inbox', "event_id = 'd-1.3'"],
  ['inbox', "event_type = 'employee-census.sync-request'"],
  // Nothing refers to its id, because it had no effect.
  ['inbox', "state = 'quarantined'", 'inbox.event_id'],
  ['inbox', "source = 'import'"],
  ['deduction_versions', "event_id = 'd-1.1'"],
  ['deduction_versions', "event_id = 'd-1.4'"],
  ['deduction_versions', "event_id = 'd-1.6'"],
  ['deductions', "deduction_id = 'd-1'"],
  ['roster_facts', "source = 'termination' and employee_id = 'many-0000'"],
  ['roster_facts', "source = 'census' and employee_id = 'many-0002'"],
  ['roster', "employee_id = 'many-0000'"],
  ['outbox', "subject_id = 'many-0000'"],
  ['outbox', "kind = 'census'"],
  ['staged_censuses', "state = 'current'"],
  ['census_chunks', 'chunk = 1'],
  ['payroll_runs', "run_id = '2026-06-19'"],
  ['payroll_runs', "run_id = '2026-07-17'"],
  ['payroll_runs', "state = 'voided'"],
  [
    'run_employees',
    "employee_id = 'many-0000' and freeze_id = (select freeze_id from payroll_runs where run_id = '2026-06-19')",
  ],
  ['approval_settings', 'version = 1'],
  ['approval_settings', 'version = 2'],
  // The overrides of a finalized run are part of it.
  ['run_overrides', "run_id = '2026-07-17'"],
  ['opening_items', "opening_id = 'old-2'"],
  ['item_decisions', 'decision_id = 2'],
  ['tokens', "name = 'valid'"],
  ['tokens', "name = 'revoked'"],
  ...[
    ...['event_conflicts', 'conflicted_events', 'ledger_head', 'census_syncs', 'census_completions'],
    ...[
      'census_fingerprints',
      'change_keys',
      'hash_keys',
      'audit_head',
      'audit_records',
      'payroll_head',
      'accepted_findings',
      'run_approvals',
    ],
    ...['run_overrides', 'taken_reports', 'taken_lines', 'pay_schedules', 'payroll_codes'],
    ...['payroll_policies', 'file_formats', 'deduction_assignments'],
  ].map((table) => [table, 'true'] as const),
];

/**
 * Columns without a second source: text written by people, and what the service reports. Of our own times, only
 * the form is verified: this test makes it wrong.
 */
export const UNVERIFIED: ReadonlySet<string> = new Set(
  Object.entries({
    inbox: 'seq reprocessed',
    event_conflicts: 'conflict_id',
    outbox: 'seq body_hash unknown_outcome may_have_been_applied status reason refusals',
    census_syncs: 'sync_id reason problem_count problems held_census_id held_for',
    staged_censuses: 'limited_to elsewhere',
    file_formats: 'organization read_at',
    run_computations: 'position revision computed_at result',
  }).flatMap(([table, columns]) => columns.split(' ').map((column) => `${table}.${column}`)),
);
