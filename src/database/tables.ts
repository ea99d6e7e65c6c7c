/** The tables of `db/`, as Kysely sees them. Instants and amounts are text; flags are 0 or 1. */
import type { Generated, Kysely, Transaction } from 'kysely';

export type Flag = 0 | 1;
/** Several columns of text. db/ has the order of the columns. */
type Text<Column extends string> = Record<Column, string>;
type TextOrNull<Column extends string> = Record<Column, string | null>;

export interface Tables {
  instance: { id: 1; environment: 'sandbox' | 'live'; created_at: string; probed_at: string | null };
  inbox: InboxTable;
  event_conflicts: ConflictTable;
  refused_signatures: { minute: string; cause: string; refused_count: number };
  ledger_head: { id: 1; position: number };
  deduction_versions: VersionTable;
  deductions: Text<'deduction_id' | 'event_time' | 'employee_id'> & {
    position: number;
    version_count: number;
    last_received_position: number;
  };
  deduction_employees: { employee_id: string; deduction_id: string };
  start_decisions: StartDecisionTable;
  roster_facts: RosterFactTable;
  roster: { employee_id: string; employer_id: string; position: number };
  outbox: OutboxTable;
  delivery_attempts: Text<'request_id' | 'started_at'> &
    TextOrNull<'finished_at' | 'reason'> & { attempt: number; status: number | null };
  change_keys: { key_hash: string; request_id: string };
  circuit_breaker: TextOrNull<'reason' | 'paused_at' | 'next_probe_at'> & {
    id: 1;
    state: 'active' | 'paused';
    probe_count: number;
  };
  staged_censuses: Text<'census_id' | 'employer_id' | 'staged_at' | 'fingerprint_key'> &
    TextOrNull<'roster_updated_at' | 'replaced_at' | 'uploaded_at'> & {
      state: 'staging' | 'current' | 'replaced';
      employee_count: number;
      body_bytes: number;
    };
  census_chunks: { census_id: string; chunk: number; ciphertext: Buffer };
  census_fingerprints: { census_id: string; employee_id: string; field_hashes: Buffer };
  census_syncs: CensusSyncTable;
  tokens: Text<'token_id' | 'name' | 'scopes' | 'created_at'> &
    TextOrNull<'expires_at' | 'revoked_at'> & { token_hash: Buffer };
  sessions: Text<'created_at' | 'expires_at'> &
    TextOrNull<'last_used_at'> & { session_hash: Buffer; token_hash: Buffer };
  pii_reads: Text<'read_at' | 'token_id' | 'token_name' | 'resource_id'> &
    Subject & { read_id: Generated<number>; resource_type: 'change' | 'census' };
  hash_keys: { id: 1; key_id: string; ciphertext: Buffer };
  payroll_head: { id: 1; revision: number };
  payroll_runs: PayrollRunTable;
  run_employees: { freeze_id: string; employee_id: string; roster_position: number | null; lines: string };
  run_freezes: { freeze_id: string; started_at: string };
  accepted_failures: Text<
    'run_id' | 'employer_id' | 'check_id' | 'ids' | 'reason' | 'accepted_by' | 'accepted_at'
  > & { ordinal: number; employee_id: string | null };
  /** `recorded_at` is null while lines are being written. */
  taken_reports: { run_id: string; report: number; recorded_at: string | null; line_count: number };
  taken_lines: Text<'run_id' | 'employee_id' | 'line' | 'amount' | 'owed'> & { report: number };
  pay_schedules: { employer_id: string; schedules: string; updated_at: string };
  payroll_codes: { employer_id: string; codes: string; updated_at: string };
  payroll_policies: Text<'employer_id' | 'effective_from' | 'options' | 'created_at'> & {
    version: number;
    created_by: string | null;
  };
  data_losses: Text<'found_at'> &
    TextOrNull<'received_at' | 'saved_received_at' | 'accepted_at' | 'accepted_reason'> &
    Record<'position' | 'seq' | 'saved_position' | 'saved_seq', number>;
  retention: { id: 1; events_through_seq: number };
  migrations: { number: number; name: string; hash: string; applied_at: string };
}

export type EventState = 'pending' | 'applied' | 'ignored' | 'quarantined';
export type RequestState = 'pending' | 'sending' | 'delivered' | 'rejected' | 'canceled';
export type RequestKind = 'census' | 'new-hire' | 'termination' | 'demographic' | 'compensation-change';
/** An employer, for census uploads, or an employee, for employment changes. */
export type Subject = { subject_type: 'employer' | 'employee'; subject_id: string };
export type RunState = 'open' | 'finalized' | 'voided';
export type SyncState = 'requested' | 'waiting' | 'uploaded' | 'completed' | 'failed';

export type InboxTable = Text<'event_id' | 'received_at'> &
  TextOrNull<
    'event_type' | 'envelope_id' | 'reason' | 'finished_at' | 'dismissed_at' | 'dismissed_reason'
  > & {
    seq: Generated<number>;
    source: 'webhook' | 'import';
    state: EventState;
    reprocessed: Generated<number>;
    /** As received; null once it is dropped. */
    body: Buffer | null;
    /** The SHA-256 of a body that is dropped; null as long as there is one. */
    body_hash: Buffer | null;
  };

export type ConflictTable = Text<'event_id' | 'received_at'> &
  TextOrNull<'dismissed_at' | 'dismissed_reason'> & {
    conflict_id: Generated<number>;
    body: Buffer | null;
    body_hash: Buffer;
  };

export type VersionTable = Text<'deduction_id' | 'event_id' | 'employee_id' | 'line_of_coverage' | 'period'> &
  Text<'member_contribution' | 'employer_contribution' | 'taxability' | 'event_time' | 'recorded_at'> &
  TextOrNull<'coverage_type' | 'description' | 'effective_start' | 'effective_end'> &
  TextOrNull<'starts_on' | 'ends_on' | 'created_at'> & {
    position: number;
    version: number;
    previous_position: number | null;
    ordered_by: 'created_at' | 'tie' | 'receipt';
    late: Flag;
    tie_changed: Flag;
    /** 1: `created_at` is later than the time of receipt by more than clocks may differ. */
    future_dated: Flag;
  };

export type StartDecisionTable = Text<'deduction_id' | 'reason' | 'decided_by' | 'recorded_at'> & {
  position: number;
  version: number;
  version_position: number;
  decision: 'keep' | 'drop';
};

export type RosterFactTable = Text<'employee_id' | 'employer_id' | 'source_id' | 'recorded_at'> &
  TextOrNull<'hire_date' | 'termination_date' | 'employment_status' | 'pay_frequency' | 'pay_group'> & {
    position: number;
    /** 1: the employer's census lacks the employee. Null: the source does not say. */
    absent: Flag | null;
    /** The date from which the report counts, if the caller stated one. */
    effective_on: string | null;
    source: 'census' | 'new-hire' | 'termination' | 'compensation-change';
  };

export type OutboxTable = Subject &
  Text<'request_id' | 'due_at' | 'created_at'> &
  TextOrNull<'claimed_by' | 'lease_expires_at' | 'reason' | 'finished_at' | 'erased_at'> & {
    seq: Generated<number>;
    kind: RequestKind;
    state: RequestState;
    is_next: Flag;
    holds_later: Generated<Flag>;
    body: Buffer | null;
    body_hash: Buffer | null;
    attempts: Generated<number>;
    unknown_outcome: Generated<Flag>;
    may_have_been_applied: Generated<Flag>;
    status: number | null;
    response: Buffer | null;
    /** The date from which an employment change counts for payroll, if the caller stated one. */
    effective_on: Generated<string | null>;
  };

export type CensusSyncTable = Text<'sync_id' | 'employer_id' | 'requested_at'> &
  TextOrNull<'event_id' | 'request_id' | 'upload_started_at' | 'uploaded_at' | 'completed_at'> &
  TextOrNull<'reason' | 'problems'> & { state: SyncState; problem_count: Generated<number> };

export type PayrollRunTable = Text<'run_id' | 'employer_id' | 'pay_frequency' | 'period_start'> &
  Text<'period_end' | 'pay_date' | 'body' | 'created_at'> &
  TextOrNull<'pay_group' | 'finalized_at' | 'freeze_id' | 'rules_version' | 'etag' | 'snapshot'> &
  TextOrNull<'totals' | 'voided_at' | 'void_reason'> & {
    kind: 'regular' | 'off_cycle';
    state: RunState;
    position: number | null;
    finalize_key_hash: Generated<string | null>;
    /** The SHA-256 of `snapshot`: recomputing would miss changes that decide no amount. */
    snapshot_hash: string | null;
    accept_reason: string | null;
  };

/** The database outside a transaction: reads only. Writing goes through `transact`. */
export type Db = Kysely<Tables>;
/** A transaction, which store functions that write take as a parameter. The caller owns it. */
export type Trx = Transaction<Tables>;
