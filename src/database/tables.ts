/** The tables of `db/`, as Kysely sees them. Instants and amounts are text; flags are 0 or 1. */
import type { Generated, Kysely, Transaction } from 'kysely';

export type Flag = 0 | 1;

export interface Tables {
  instance: {
    id: 1;
    environment: 'sandbox' | 'live';
    created_at: string;
    time_zone: string;
    probed_at: string | null;
    clock_warning: string | null;
  };
  notifications: {
    seq: Generated<number>;
    notification_id: string;
    type: string;
    subject: string;
    data: string;
    state: 'pending' | 'delivered' | 'failed';
    is_next: Flag;
    created_at: string;
    due_at: string;
    first_attempt_at: string | null;
    attempts: Generated<number>;
    status: number | null;
    reason: string | null;
    finished_at: string | null;
  };
  notification_known: { type: string; subject: string; data: string };
  notification_head: { id: 1; types: string | null; sender: string | null; sender_until: string | null };
  inbox: InboxTable;
  event_conflicts: ConflictTable;
  conflicted_events: ConflictedEventTable;
  contract_changes: {
    event_type: string;
    field: string;
    kind: 'field' | 'value' | 'type' | 'event_type';
    first_event_id: string;
    last_event_id: string;
  };
  refused_signatures: { minute: string; cause: string; refused_count: number };
  ledger_head: { id: 1; position: number };
  deduction_versions: VersionTable;
  deductions: {
    deduction_id: string;
    position: number;
    event_time: string;
    employee_id: string;
    version_count: number;
    last_received_position: number;
  };
  deduction_assignments: AssignmentTable;
  roster_facts: RosterFactTable;
  roster: { employee_id: string; employer_id: string; position: number };
  outbox: OutboxTable;
  delivery_attempts: {
    request_id: string;
    attempt: number;
    started_at: string;
    finished_at: string | null;
    status: number | null;
    reason: string | null;
  };
  change_keys: { key_hash: string; request_id: string };
  circuit_breaker: {
    id: 1;
    state: 'active' | 'paused';
    reason: string | null;
    paused_at: string | null;
    next_probe_at: string | null;
    probe_count: Generated<number>;
    suspect: string | null;
  };
  pilot: { id: 1; started_at: string; ended_at: string | null };
  staged_censuses: {
    census_id: string;
    employer_id: string;
    state: 'staging' | 'current' | 'replaced' | 'abandoned';
    staged_at: string;
    employee_count: number;
    body_bytes: number;
    roster_updated_at: string | null;
    replaced_at: string | null;
    uploaded_at: string | null;
    released_at: string | null;
    fingerprint_key: string;
    limited_to: string | null;
    elsewhere: string | null;
  };
  census_chunks: { census_id: string; chunk: number; ciphertext: Buffer };
  census_fingerprints: { census_id: string; employee_id: string; field_hashes: Buffer };
  census_syncs: CensusSyncTable;
  employee_names: { employer_id: string; employee_id: string; noted_at: string; ciphertext: Buffer };
  census_completions: { event_id: string; employer_id: string };
  tokens: {
    token_id: string;
    name: string;
    token_hash: Buffer;
    scopes: string;
    person: string | null;
    /** A JSON list of ids; null for all employers. */
    employers: string | null;
    created_at: string;
    expires_at: string | null;
    revoked_at: string | null;
    record_id: number;
  };
  sessions: {
    session_hash: Buffer;
    owner_hash: Buffer;
    issuer: string | null;
    subject: string | null;
    name: string | null;
    scopes: string | null;
    employers: string | null;
    rules: string | null;
    created_at: string;
    expires_at: string;
    last_used_at: string | null;
  };
  audit_records: AuditRecordTable;
  audit_head: { id: 1; record_id: number; hash: string };
  hash_keys: { id: 1; key_id: string; ciphertext: Buffer };
  payroll_head: { id: 1; revision: number; negative: number };
  approval_settings: {
    employer_id: string;
    version: number;
    required: Flag;
    requested_by: string | null;
    record_id: number;
  };
  payroll_runs: PayrollRunTable;
  run_employees: { freeze_id: string; employee_id: string; roster_position: number | null; lines: string };
  run_settlements: {
    freeze_id: string;
    employee_id: string;
    kind: 'item' | 'share';
    settles: string;
    deduction_id: string;
    earlier_run_id: string | null;
    member_amount: string;
    employer_amount: string;
  };
  run_inputs: { freeze_id: string; earlier_run_id: string; report: number | null; is_voided: 0 | 1 };
  run_computations: {
    run_id: string;
    position: number;
    revision: number;
    computed_at: string;
    result: string;
  };
  run_freezes: { freeze_id: string; state: 'writing' | 'abandoned'; renewed_at: string };
  run_overrides: {
    run_id: string;
    employee_id: string;
    deduction_id: string;
    member_amount: string;
    employer_amount: string;
    regular_member_amount: string | null;
    regular_employer_amount: string | null;
    reason: string;
    record_id: number;
  };
  run_approvals: {
    record_id: number;
    run_id: string;
    action: 'finalize' | 'void';
    etag: string;
    person: string;
    checks: string;
    findings: string;
  };
  accepted_findings: {
    run_id: string;
    ordinal: number;
    employer_id: string;
    check_id: string;
    employee_id: string | null;
    ids: string;
    finding: string;
    reason: string;
    record_id: number;
  };
  /** `recorded_at` is null while lines are being written. */
  taken_reports: {
    run_id: string;
    report: number;
    recorded_at: string | null;
    line_count: number;
    key_hash: Generated<string | null>;
  };
  taken_lines: {
    run_id: string;
    report: number;
    employee_id: string;
    line: string;
    amount: string;
    owed: string;
  };
  opening_items: OpeningItemTable;
  item_decisions: ItemDecisionTable;
  pay_schedules: { employer_id: string; version: number; schedules: string; record_id: number };
  payroll_codes: { employer_id: string; version: number; codes: string; record_id: number };
  payroll_policies: {
    employer_id: string;
    version: number;
    effective_from: string;
    options: string;
    record_id: number;
  };
  file_formats: {
    employer_id: string;
    kind: 'census' | 'deductions' | 'payroll';
    version: number;
    format: string;
    organization: Buffer | null;
    read_at: string | null;
    record_id: number;
  };
  data_losses: {
    found_at: string;
    position: number;
    seq: number;
    received_at: string | null;
    audit_head: number | null;
    saved_position: number;
    saved_seq: number;
    saved_received_at: string | null;
    saved_audit_head: number | null;
    accepted_at: string | null;
    accepted_reason: string | null;
  };
  retention: { id: 1; events_through_seq: number };
  migrations: { number: number; name: string; hash: string; applied_at: string };
}

export type EventState = 'pending' | 'applied' | 'ignored' | 'quarantined';
export type RequestState = 'pending' | 'sending' | 'delivered' | 'rejected' | 'canceled';
export type RequestKind = 'census' | 'new-hire' | 'termination' | 'demographic' | 'compensation-change';
/** An employer, for census uploads, or an employee, for employment changes. */
export type Subject = { subject_type: 'employer' | 'employee'; subject_id: string };
export type RunState = 'open' | 'finalized' | 'voided';
export type SyncState = 'requested' | 'waiting' | 'held' | 'uploaded' | 'completed' | 'failed' | 'dismissed';

export interface AuditRecordTable {
  record_id: number;
  recorded_at: string;
  actor_kind: 'person' | 'token' | 'cli' | 'system';
  actor_issuer: string | null;
  actor_id: string | null;
  actor_name: string;
  acting_user: string | null;
  action: string;
  resource_type: string;
  resource_id: string | null;
  employer_id: string | null;
  employee_id: string | null;
  /** A JSON object. */
  details: string;
  /** The HMAC of the reason, in hexadecimal. It stays when the reason is erased. */
  reason_hash: string | null;
  /** The hash of the chain up to this record, in hexadecimal. */
  hash: string;
  /** Null without a reason, and after it was erased. */
  reason: string | null;
  /** The key of `reason_hash`, erased with the reason. */
  reason_key: Buffer | null;
}

export interface InboxTable {
  seq: Generated<number>;
  event_id: string;
  source: 'webhook' | 'import';
  received_at: string;
  /** As received; null once it is dropped. */
  body: Buffer | null;
  state: EventState;
  event_type: string | null;
  envelope_id: string | null;
  reason: string | null;
  finished_at: string | null;
  reprocessed: Generated<number>;
  dismissed_at: string | null;
  dismissed_reason: string | null;
  /** The SHA-256 of a body that is dropped; null as long as there is one. */
  body_hash: Buffer | null;
}

export interface ConflictTable {
  conflict_id: Generated<number>;
  event_id: string;
  received_at: string;
  body: Buffer | null;
  body_hash: Buffer;
  dismissed_at: string | null;
  dismissed_reason: string | null;
}

export interface ConflictedEventTable {
  event_id: string;
  stored_count: number;
  unstored_count: number;
  last_unstored_at: string | null;
  dismissed_at: string | null;
  dismissed_reason: string | null;
}

export interface VersionTable {
  position: number;
  deduction_id: string;
  version: number;
  previous_position: number | null;
  event_id: string;
  employee_id: string;
  line_of_coverage: string;
  member_contribution: string;
  employer_contribution: string;
  period: string;
  taxability: string;
  coverage_type: string | null;
  description: string | null;
  effective_start: string | null;
  effective_end: string | null;
  starts_on: string | null;
  ends_on: string | null;
  created_at: string | null;
  event_time: string;
  ordered_by: 'created_at' | 'tie' | 'receipt';
  late: Flag;
  tie_changed: Flag;
  /** 1: `created_at` is later than the time of receipt by more than clocks may differ. */
  future_dated: Flag;
  /** 1: the version names another employee than the latest state before it. */
  moved: Flag;
  recorded_at: string;
}

export interface AssignmentTable {
  position: number;
  deduction_id: string;
  employer_id: string;
  effective_on: string;
  reason: string;
  record_id: number;
  recorded_at: string;
}

export interface RosterFactTable {
  position: number;
  employee_id: string;
  employer_id: string;
  hire_date: string | null;
  termination_date: string | null;
  employment_status: string | null;
  pay_frequency: string | null;
  pay_group: string | null;
  /** 1: the employer's census lacks the employee. Null: the source does not say. */
  absent: Flag | null;
  /** The date from which the report counts, if the caller stated one. */
  effective_on: string | null;
  /** The date of receipt, in the time zone of the database at that time. */
  received_on: string;
  source: 'census' | 'new-hire' | 'termination' | 'compensation-change';
  source_id: string;
  recorded_at: string;
  /** The SHA-256 of the other columns. */
  content_hash: string;
}

export type OutboxTable = Subject & {
  seq: Generated<number>;
  request_id: string;
  kind: RequestKind;
  state: RequestState;
  is_next: Flag;
  holds_later: Generated<Flag>;
  due_at: string;
  body: Buffer | null;
  body_hash: Buffer | null;
  attempts: Generated<number>;
  claimed_by: string | null;
  lease_expires_at: string | null;
  unknown_outcome: Generated<Flag>;
  may_have_been_applied: Generated<Flag>;
  status: number | null;
  refusals: Generated<number>;
  reason: string | null;
  response: Buffer | null;
  created_at: string;
  finished_at: string | null;
  erased_at: string | null;
  /** The date from which an employment change counts for payroll, if the caller stated one. */
  effective_on: Generated<string | null>;
  /** The pay group that an employment change states, if any. */
  pay_group: Generated<string | null>;
};

export interface CensusSyncTable {
  sync_id: string;
  employer_id: string;
  state: SyncState;
  event_id: string | null;
  request_id: string | null;
  requested_at: string;
  upload_started_at: string | null;
  uploaded_at: string | null;
  completed_at: string | null;
  dismissed_at: string | null;
  dismissed_reason: string | null;
  reason: string | null;
  problem_count: Generated<number>;
  problems: string | null;
  held_census_id: string | null;
  /** A JSON list of causes. */
  held_for: string | null;
}

export interface PayrollRunTable {
  run_id: string;
  employer_id: string;
  kind: 'regular' | 'off_cycle';
  pay_frequency: string;
  pay_group: string | null;
  period_start: string;
  period_end: string;
  pay_date: string;
  body: string;
  state: RunState;
  created_at: string;
  finalized_at: string | null;
  freeze_id: string | null;
  position: number | null;
  rules_version: string | null;
  finalize_key_hash: Generated<string | null>;
  etag: string | null;
  previous_run_id: string | null;
  basis: string | null;
  /** The SHA-256 of the basis with the previous run and the inputs: not everything in them decides an amount. */
  basis_hash: string | null;
  outcome: string | null;
  outcome_hash: string | null;
  totals: string | null;
  accept_reason: string | null;
  voided_at: string | null;
  void_reason: string | null;
}

export interface OpeningItemTable {
  employer_id: string;
  opening_id: string;
  ordinal: number;
  employee_id: string;
  deduction_id: string | null;
  line_of_coverage: string;
  taxability: string;
  member_amount: string;
  employer_amount: string;
  pay_date: string;
  record_id: number;
  recorded_at: string;
}

export interface ItemDecisionTable {
  employer_id: string;
  /** Its number among the decisions of the employer. */
  decision_id: number;
  employee_id: string;
  /** Null: a hold that covers all items of the employee. */
  item_id: string | null;
  /** The run whose item it is; null for an opening item and for an employee. */
  run_id: string | null;
  action: 'take' | 'hold' | 'write_off' | 'paid_directly';
  member_amount: string | null;
  employer_amount: string | null;
  amount: string | null;
  /** The last day on which a hold counts. */
  until: string | null;
  paid_on: string | null;
  reason: string;
  record_id: number;
  recorded_at: string;
}

/** The database outside a transaction: reads only. Writing goes through `transact`. */
export type Db = Kysely<Tables>;
/** A transaction, which store functions that write take as a parameter. The caller owns it. */
export type Trx = Transaction<Tables>;
