-- Increases with each change of payroll data. The lock on its row makes one finalize, void or report at a time. Nothing
-- else depends on the number, so its negative shows whether it was altered.
CREATE TABLE payroll_head (
  id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  revision BIGINT NOT NULL,
  negative BIGINT NOT NULL,
  CHECK (negative = -revision)
);

INSERT INTO payroll_head (id, revision, negative) VALUES (1, 0, 0);

-- Each employer's pay dates and payroll codes, each list as it was set. The greatest version counts.
CREATE TABLE pay_schedules (
  employer_id TEXT NOT NULL,
  version     INTEGER NOT NULL,
  schedules   TEXT NOT NULL,
  record_id   BIGINT NOT NULL REFERENCES audit_records (record_id),
  PRIMARY KEY (employer_id, version)
); -- append-only

CREATE TABLE payroll_codes (
  employer_id TEXT NOT NULL,
  version     INTEGER NOT NULL,
  codes       TEXT NOT NULL,
  record_id   BIGINT NOT NULL REFERENCES audit_records (record_id),
  PRIMARY KEY (employer_id, version)
); -- append-only

-- How files of a kind are read. The organization of a census is personal data, so it is encrypted. `read_at` is the time at
-- which a version first read a file: from then on, the prefix of ids is fixed.
CREATE TABLE file_formats (
  employer_id  TEXT NOT NULL,
  kind         TEXT NOT NULL CHECK (kind = 'census' OR kind = 'deductions' OR kind = 'payroll'),
  version      INTEGER NOT NULL,
  format       TEXT NOT NULL,
  organization BYTEA,
  read_at      TEXT,
  record_id    BIGINT NOT NULL REFERENCES audit_records (record_id),
  PRIMARY KEY (employer_id, kind, version)
); -- never removed

-- The payroll options of an employer. A run uses the latest version whose effective_from is on or before its pay date; of
-- equal dates, the greatest version.
CREATE TABLE payroll_policies (
  employer_id    TEXT NOT NULL,
  version        INTEGER NOT NULL,
  effective_from TEXT NOT NULL,
  options        TEXT NOT NULL,
  record_id      BIGINT NOT NULL REFERENCES audit_records (record_id),
  PRIMARY KEY (employer_id, version)
); -- append-only

-- Whether finalizing and voiding the runs of an employer need an approval by another person. The greatest version counts.
-- `requested_by` is the person who asked to switch it off, until another person does so too.
CREATE TABLE approval_settings (
  employer_id  TEXT NOT NULL,
  version      INTEGER NOT NULL,
  required     INTEGER NOT NULL CHECK (required IN (0, 1)),
  requested_by TEXT,
  record_id    BIGINT NOT NULL REFERENCES audit_records (record_id),
  CHECK (required = 1 OR requested_by IS NULL),
  PRIMARY KEY (employer_id, version)
); -- append-only

-- The deductions of one employer for one pay date. `body` is the run as it was created, with the defaults filled in. An
-- open run is computed at each read. A finalized run has its lines in run_employees under `freeze_id`. `basis` has
-- the inputs of the computation, except the previous run and run_inputs; its SHA-256 covers all of them. `outcome` is the
-- comparison with the previous run and who is not in this one. `previous_run_id` has no foreign key, because a copy
-- inserts runs by id; a final run is never removed. `finalize_key_hash` is the SHA-256 of an idempotency key. A regular
-- run without a pay group conflicts with every group, which is checked under the lock of payroll_head. A pay date has one
-- open regular run, so that two people who start it work on the same one.
CREATE TABLE payroll_runs (
  run_id            TEXT NOT NULL PRIMARY KEY,
  employer_id       TEXT NOT NULL,
  kind              TEXT NOT NULL CHECK (kind IN ('regular', 'off_cycle')),
  pay_frequency     TEXT NOT NULL,
  pay_group         TEXT,
  period_start      TEXT NOT NULL,
  period_end        TEXT NOT NULL,
  pay_date          TEXT NOT NULL,
  body              TEXT NOT NULL,
  state             TEXT NOT NULL CHECK (state = 'open' OR state = 'finalized' OR state = 'voided'),
  created_at        TEXT NOT NULL,
  finalized_at      TEXT,
  freeze_id         TEXT UNIQUE,
  position          BIGINT,
  rules_version     TEXT,
  finalize_key_hash TEXT,
  etag              TEXT,
  previous_run_id   TEXT,
  basis             TEXT,
  basis_hash        TEXT,
  outcome           TEXT,
  outcome_hash      TEXT,
  totals            TEXT,
  accept_reason     TEXT,
  voided_at         TEXT,
  void_reason       TEXT,
  CHECK ((state = 'open') = (freeze_id IS NULL)),
  CHECK ((freeze_id IS NULL) = (finalized_at IS NULL)),
  CHECK ((freeze_id IS NULL) = (position IS NULL)),
  CHECK ((freeze_id IS NULL) = (rules_version IS NULL)),
  CHECK ((freeze_id IS NULL) = (etag IS NULL)),
  CHECK (freeze_id IS NOT NULL OR previous_run_id IS NULL),
  CHECK ((freeze_id IS NULL) = (basis IS NULL)),
  CHECK ((freeze_id IS NULL) = (basis_hash IS NULL)),
  CHECK ((freeze_id IS NULL) = (outcome IS NULL)),
  CHECK ((freeze_id IS NULL) = (outcome_hash IS NULL)),
  CHECK ((freeze_id IS NULL) = (totals IS NULL)),
  CHECK ((state = 'voided') = (voided_at IS NOT NULL)),
  CHECK ((state = 'voided') = (void_reason IS NOT NULL))
);

CREATE INDEX payroll_runs_by_date ON payroll_runs (pay_date, run_id);
CREATE INDEX payroll_runs_by_finalization ON payroll_runs (finalized_at) WHERE finalized_at IS NOT NULL;
CREATE INDEX payroll_runs_by_employer ON payroll_runs (employer_id, pay_date, run_id);
CREATE UNIQUE INDEX payroll_runs_one_finalized ON payroll_runs (employer_id, pay_frequency, coalesce(pay_group, ''), pay_date) WHERE state = 'finalized' AND kind = 'regular';
CREATE UNIQUE INDEX payroll_runs_one_open ON payroll_runs (employer_id, pay_frequency, coalesce(pay_group, ''), pay_date) WHERE state = 'open' AND kind = 'regular';

-- A final run changes only by being voided, which changes nothing else, and by erasing a reason. Neither it nor a voided run is ever removed.
-- on SQLite:
CREATE TRIGGER final_runs_are_never_removed BEFORE DELETE ON payroll_runs WHEN OLD.state <> 'open' BEGIN SELECT RAISE(ABORT, 'finalized and voided runs are never removed'); END;
CREATE TRIGGER final_runs_are_only_voided BEFORE UPDATE ON payroll_runs
  WHEN OLD.state <> 'open' AND NOT (OLD.state = 'finalized' AND NEW.state = 'voided' AND (
      OLD.run_id, OLD.employer_id, OLD.kind, OLD.pay_frequency, OLD.pay_group, OLD.period_start, OLD.period_end,
      OLD.pay_date, OLD.body, OLD.created_at, OLD.finalized_at, OLD.freeze_id, OLD.position, OLD.rules_version,
      OLD.finalize_key_hash, OLD.etag, OLD.previous_run_id, OLD.basis, OLD.basis_hash,
      OLD.outcome, OLD.outcome_hash, OLD.totals, OLD.accept_reason
    ) IS (
      NEW.run_id, NEW.employer_id, NEW.kind, NEW.pay_frequency, NEW.pay_group, NEW.period_start, NEW.period_end,
      NEW.pay_date, NEW.body, NEW.created_at, NEW.finalized_at, NEW.freeze_id, NEW.position, NEW.rules_version,
      NEW.finalize_key_hash, NEW.etag, NEW.previous_run_id, NEW.basis, NEW.basis_hash,
      NEW.outcome, NEW.outcome_hash, NEW.totals, NEW.accept_reason
    )) AND NOT (
      (OLD.run_id, OLD.employer_id, OLD.kind, OLD.pay_frequency, OLD.pay_group, OLD.period_start, OLD.period_end, OLD.pay_date, OLD.body, OLD.state, OLD.created_at, OLD.finalized_at, OLD.freeze_id, OLD.position, OLD.rules_version, OLD.finalize_key_hash, OLD.etag, OLD.previous_run_id, OLD.basis, OLD.basis_hash, OLD.outcome, OLD.outcome_hash, OLD.totals, OLD.voided_at) IS
      (NEW.run_id, NEW.employer_id, NEW.kind, NEW.pay_frequency, NEW.pay_group, NEW.period_start, NEW.period_end, NEW.pay_date, NEW.body, NEW.state, NEW.created_at, NEW.finalized_at, NEW.freeze_id, NEW.position, NEW.rules_version, NEW.finalize_key_hash, NEW.etag, NEW.previous_run_id, NEW.basis, NEW.basis_hash, NEW.outcome, NEW.outcome_hash, NEW.totals, NEW.voided_at)
      AND (NEW.accept_reason IS OLD.accept_reason OR NEW.accept_reason = '[erased]')
      AND (NEW.void_reason IS OLD.void_reason OR NEW.void_reason = '[erased]')
    )
  BEGIN SELECT RAISE(ABORT, 'a finalized run changes only by being voided'); END;
-- on PostgreSQL:
CREATE FUNCTION refuse_change_of_final_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a finalized run changes only by being voided'; END $$;
CREATE TRIGGER final_runs_are_never_removed BEFORE DELETE ON payroll_runs FOR EACH ROW WHEN (OLD.state <> 'open') EXECUTE FUNCTION refuse_change_of_final_run();
CREATE TRIGGER final_runs_are_only_voided BEFORE UPDATE ON payroll_runs FOR EACH ROW
  WHEN (OLD.state <> 'open' AND NOT (OLD.state = 'finalized' AND NEW.state = 'voided' AND (
      OLD.run_id, OLD.employer_id, OLD.kind, OLD.pay_frequency, OLD.pay_group, OLD.period_start, OLD.period_end,
      OLD.pay_date, OLD.body, OLD.created_at, OLD.finalized_at, OLD.freeze_id, OLD.position, OLD.rules_version,
      OLD.finalize_key_hash, OLD.etag, OLD.previous_run_id, OLD.basis, OLD.basis_hash,
      OLD.outcome, OLD.outcome_hash, OLD.totals, OLD.accept_reason
    ) IS NOT DISTINCT FROM (
      NEW.run_id, NEW.employer_id, NEW.kind, NEW.pay_frequency, NEW.pay_group, NEW.period_start, NEW.period_end,
      NEW.pay_date, NEW.body, NEW.created_at, NEW.finalized_at, NEW.freeze_id, NEW.position, NEW.rules_version,
      NEW.finalize_key_hash, NEW.etag, NEW.previous_run_id, NEW.basis, NEW.basis_hash,
      NEW.outcome, NEW.outcome_hash, NEW.totals, NEW.accept_reason
    )) AND NOT (
      to_jsonb(NEW) - ARRAY['accept_reason', 'void_reason'] = to_jsonb(OLD) - ARRAY['accept_reason', 'void_reason']
      AND (NEW.accept_reason IS NOT DISTINCT FROM OLD.accept_reason OR NEW.accept_reason = '[erased]')
      AND (NEW.void_reason IS NOT DISTINCT FROM OLD.void_reason OR NEW.void_reason = '[erased]')
    ))
  EXECUTE FUNCTION refuse_change_of_final_run();
CREATE TRIGGER payroll_runs_are_never_emptied BEFORE TRUNCATE ON payroll_runs EXECUTE FUNCTION refuse_change_of_final_run();
-- on both:

-- Freezes that are being written, with the time of the last page by the database's clock. A process that died leaves one
-- behind; a clean-up marks it as abandoned under the lock of its row, which every page takes, too, and removes its lines.
CREATE TABLE run_freezes (
  freeze_id  TEXT NOT NULL PRIMARY KEY,
  state      TEXT NOT NULL CHECK (state IN ('writing', 'abandoned')),
  renewed_at TEXT NOT NULL
);

-- The employees of a finalized run and their lines. Without a roster position the employee is not in the run but has
-- lines. No foreign key: rows are written under a freeze before the run names it.
CREATE TABLE run_employees (
  freeze_id       TEXT NOT NULL,
  employee_id     TEXT NOT NULL,
  roster_position BIGINT,
  lines           TEXT NOT NULL,
  PRIMARY KEY (freeze_id, employee_id)
);

-- What a run settles: one row per line that takes an open item, whose `settles` is the item's id, and one per share that a
-- final check takes, whose `settles` is the pay date. `earlier_run_id` is the run that an item is of. Written with its lines.
CREATE TABLE run_settlements (
  freeze_id       TEXT NOT NULL,
  employee_id     TEXT NOT NULL,
  kind            TEXT NOT NULL CHECK (kind = 'item' OR kind = 'share'),
  settles         TEXT NOT NULL,
  deduction_id    TEXT NOT NULL,
  earlier_run_id  TEXT,
  member_amount   TEXT NOT NULL,
  employer_amount TEXT NOT NULL,
  CHECK (kind = 'item' OR earlier_run_id IS NULL),
  PRIMARY KEY (freeze_id, employee_id, settles, deduction_id)
);

CREATE INDEX run_settlements_of_run ON run_settlements (earlier_run_id);
CREATE INDEX run_settlements_of_employee ON run_settlements (employee_id, freeze_id);

-- The earlier runs whose differences and arrears a run was computed with: the latest report of amounts taken, and whether
-- the run was voided then.
CREATE TABLE run_inputs (
  freeze_id      TEXT NOT NULL,
  earlier_run_id TEXT NOT NULL REFERENCES payroll_runs (run_id),
  report         INTEGER,
  is_voided      INTEGER NOT NULL CHECK (is_voided IN (0, 1)),
  PRIMARY KEY (freeze_id, earlier_run_id)
);

-- Employees, settlements and inputs are kept once a run names their freeze.
-- on SQLite:
CREATE TRIGGER final_lines_are_never_changed BEFORE UPDATE ON run_employees WHEN EXISTS (SELECT 1 FROM payroll_runs WHERE freeze_id IN (OLD.freeze_id, NEW.freeze_id)) BEGIN SELECT RAISE(ABORT, 'records of a finalized run are never changed'); END;
CREATE TRIGGER final_lines_are_never_removed BEFORE DELETE ON run_employees WHEN EXISTS (SELECT 1 FROM payroll_runs WHERE freeze_id = OLD.freeze_id) BEGIN SELECT RAISE(ABORT, 'records of a finalized run are never removed'); END;
CREATE TRIGGER final_settlements_are_never_changed BEFORE UPDATE ON run_settlements WHEN EXISTS (SELECT 1 FROM payroll_runs WHERE freeze_id IN (OLD.freeze_id, NEW.freeze_id)) BEGIN SELECT RAISE(ABORT, 'records of a finalized run are never changed'); END;
CREATE TRIGGER final_settlements_are_never_removed BEFORE DELETE ON run_settlements WHEN EXISTS (SELECT 1 FROM payroll_runs WHERE freeze_id = OLD.freeze_id) BEGIN SELECT RAISE(ABORT, 'records of a finalized run are never removed'); END;
CREATE TRIGGER final_inputs_are_never_changed BEFORE UPDATE ON run_inputs WHEN EXISTS (SELECT 1 FROM payroll_runs WHERE freeze_id IN (OLD.freeze_id, NEW.freeze_id)) BEGIN SELECT RAISE(ABORT, 'records of a finalized run are never changed'); END;
CREATE TRIGGER final_inputs_are_never_removed BEFORE DELETE ON run_inputs WHEN EXISTS (SELECT 1 FROM payroll_runs WHERE freeze_id = OLD.freeze_id) BEGIN SELECT RAISE(ABORT, 'records of a finalized run are never removed'); END;
-- on PostgreSQL:
CREATE FUNCTION keep_final_records() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM payroll_runs WHERE freeze_id IN (OLD.freeze_id, NEW.freeze_id)) THEN RAISE EXCEPTION 'records of a finalized run are never changed or removed'; END IF; IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$;
CREATE TRIGGER final_lines_are_kept BEFORE UPDATE OR DELETE ON run_employees FOR EACH ROW EXECUTE FUNCTION keep_final_records();
CREATE TRIGGER run_employees_are_never_emptied BEFORE TRUNCATE ON run_employees EXECUTE FUNCTION refuse_change();
CREATE TRIGGER final_settlements_are_kept BEFORE UPDATE OR DELETE ON run_settlements FOR EACH ROW EXECUTE FUNCTION keep_final_records();
CREATE TRIGGER run_settlements_are_never_emptied BEFORE TRUNCATE ON run_settlements EXECUTE FUNCTION refuse_change();
CREATE TRIGGER final_inputs_are_kept BEFORE UPDATE OR DELETE ON run_inputs FOR EACH ROW EXECUTE FUNCTION keep_final_records();
CREATE TRIGGER run_inputs_are_never_emptied BEFORE TRUNCATE ON run_inputs EXECUTE FUNCTION refuse_change();
-- on both:

-- The last computation of an open run, for lists, which compute nothing. It began at the `position` of ledger_head and the
-- `revision` of payroll_head, so that a slow computation never replaces a newer one. Finalizing never reads it.
CREATE TABLE run_computations (
  run_id      TEXT NOT NULL PRIMARY KEY REFERENCES payroll_runs (run_id),
  position    BIGINT NOT NULL,
  revision    BIGINT NOT NULL,
  computed_at TEXT NOT NULL,
  result      TEXT NOT NULL
);

-- Amounts that a person set instead of the regular ones of a deduction in an open run. `regular_...` are the amounts that the
-- run took without it; null without a line. They stay with the final run, whose basis has a
-- copy without the reason, which can be erased.
CREATE TABLE run_overrides (
  run_id                  TEXT NOT NULL REFERENCES payroll_runs (run_id),
  employee_id             TEXT NOT NULL,
  deduction_id            TEXT NOT NULL,
  member_amount           TEXT NOT NULL,
  employer_amount         TEXT NOT NULL,
  regular_member_amount   TEXT,
  regular_employer_amount TEXT,
  reason                  TEXT NOT NULL,
  record_id               BIGINT NOT NULL REFERENCES audit_records (record_id),
  CHECK ((regular_member_amount IS NULL) = (regular_employer_amount IS NULL)),
  PRIMARY KEY (run_id, employee_id, deduction_id)
);

-- on SQLite:
CREATE TRIGGER final_overrides_are_never_changed BEFORE UPDATE OF run_id, employee_id, deduction_id, member_amount, employer_amount, regular_member_amount, regular_employer_amount, record_id ON run_overrides WHEN EXISTS (SELECT 1 FROM payroll_runs WHERE run_id IN (OLD.run_id, NEW.run_id) AND state <> 'open') BEGIN SELECT RAISE(ABORT, 'overrides of a finalized run are never changed'); END;
CREATE TRIGGER final_overrides_only_lose_reasons BEFORE UPDATE ON run_overrides WHEN NEW.reason <> '[erased]' AND EXISTS (SELECT 1 FROM payroll_runs WHERE run_id IN (OLD.run_id, NEW.run_id) AND state <> 'open') BEGIN SELECT RAISE(ABORT, 'overrides of a finalized run are never changed'); END;
CREATE TRIGGER final_overrides_are_never_removed BEFORE DELETE ON run_overrides WHEN EXISTS (SELECT 1 FROM payroll_runs WHERE run_id = OLD.run_id AND state <> 'open') BEGIN SELECT RAISE(ABORT, 'overrides of a finalized run are never removed'); END;
-- on PostgreSQL:
CREATE FUNCTION keep_final_overrides() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM payroll_runs WHERE run_id IN (OLD.run_id, NEW.run_id) AND state <> 'open') AND NOT (TG_OP = 'UPDATE' AND NEW.reason = '[erased]' AND to_jsonb(NEW) - 'reason' = to_jsonb(OLD) - 'reason') THEN RAISE EXCEPTION 'overrides of a finalized run are never changed or removed'; END IF; IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$;
CREATE TRIGGER final_overrides_are_kept BEFORE UPDATE OR DELETE ON run_overrides FOR EACH ROW EXECUTE FUNCTION keep_final_overrides();
CREATE TRIGGER run_overrides_are_never_emptied BEFORE TRUNCATE ON run_overrides EXECUTE FUNCTION refuse_change();
-- on both:

-- Approvals of finalizing or voiding a run, by a person. `record_id` is the id of the approval. It covers the lines with this
-- ETag and the readiness findings whose SHA-256 are in `findings`, a JSON list; `checks` lists the checks of these findings.
CREATE TABLE run_approvals (
  record_id BIGINT NOT NULL PRIMARY KEY REFERENCES audit_records (record_id),
  run_id    TEXT NOT NULL REFERENCES payroll_runs (run_id),
  action    TEXT NOT NULL CHECK (action IN ('finalize', 'void')),
  etag      TEXT NOT NULL,
  person    TEXT NOT NULL,
  checks    TEXT NOT NULL,
  findings  TEXT NOT NULL
);

CREATE INDEX run_approvals_of_run ON run_approvals (run_id, record_id);

-- on SQLite:
CREATE TRIGGER run_approvals_are_never_changed BEFORE UPDATE ON run_approvals BEGIN SELECT RAISE(ABORT, 'run_approvals are never changed'); END;
CREATE TRIGGER final_approvals_are_never_removed BEFORE DELETE ON run_approvals WHEN EXISTS (SELECT 1 FROM payroll_runs WHERE run_id = OLD.run_id AND state <> 'open') BEGIN SELECT RAISE(ABORT, 'approvals of a finalized run are never removed'); END;
-- on PostgreSQL:
CREATE FUNCTION keep_approvals() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP = 'UPDATE' OR EXISTS (SELECT 1 FROM payroll_runs WHERE run_id = OLD.run_id AND state <> 'open') THEN RAISE EXCEPTION 'approvals are never changed, or removed after their run is final'; END IF; RETURN OLD; END $$;
CREATE TRIGGER run_approvals_are_kept BEFORE UPDATE OR DELETE ON run_approvals FOR EACH ROW EXECUTE FUNCTION keep_approvals();
CREATE TRIGGER run_approvals_are_never_emptied BEFORE TRUNCATE ON run_approvals EXECUTE FUNCTION refuse_change();
-- on both:

-- Readiness findings that were accepted for a run, before or when it was finalized. `ids` is a sorted JSON list of the versions,
-- events or dates that a failure is based on: while it is the same, the failure stays accepted for the employer. Without ids it
-- was accepted for its run only. A later run repeats what it was finalized with, by the `record_id` of the acceptance. `finding`
-- is the JSON of the finding as the run had it.
CREATE TABLE accepted_findings (
  run_id      TEXT NOT NULL REFERENCES payroll_runs (run_id),
  ordinal     INTEGER NOT NULL,
  employer_id TEXT NOT NULL,
  check_id    TEXT NOT NULL,
  employee_id TEXT,
  ids         TEXT NOT NULL,
  finding     TEXT NOT NULL,
  reason      TEXT NOT NULL,
  record_id   BIGINT NOT NULL REFERENCES audit_records (record_id),
  PRIMARY KEY (run_id, ordinal)
);

CREATE INDEX accepted_findings_of_employer ON accepted_findings (employer_id, record_id);

-- Reports of the amounts that payroll took. A later report replaces the lines that it names in earlier ones, which stay
-- readable. Without `recorded_at` its lines are still being written, and it does not count. `key_hash` is the SHA-256 of an
-- idempotency key.
CREATE TABLE taken_reports (
  run_id      TEXT NOT NULL REFERENCES payroll_runs (run_id),
  report      BIGINT NOT NULL,
  recorded_at TEXT,
  line_count  BIGINT NOT NULL,
  key_hash    TEXT,
  PRIMARY KEY (run_id, report),
  UNIQUE (run_id, key_hash)
);

-- What payroll took, by line. `owed` is how much less it took than the finalized amount.
CREATE TABLE taken_lines (
  run_id      TEXT NOT NULL,
  report      BIGINT NOT NULL,
  employee_id TEXT NOT NULL,
  line        TEXT NOT NULL,
  amount      TEXT NOT NULL,
  owed        TEXT NOT NULL,
  PRIMARY KEY (run_id, report, employee_id, line),
  FOREIGN KEY (run_id, report) REFERENCES taken_reports (run_id, report)
);

CREATE INDEX taken_lines_employee ON taken_lines (employee_id);

-- Open items that were owed before the first run, as the caller brought them. `ordinal` orders the items of an employer: a
-- run keeps the last one that it knew.
CREATE TABLE opening_items (
  employer_id      TEXT NOT NULL,
  opening_id       TEXT NOT NULL,
  ordinal          INTEGER NOT NULL,
  employee_id      TEXT NOT NULL,
  deduction_id     TEXT,
  line_of_coverage TEXT NOT NULL,
  taxability       TEXT NOT NULL,
  member_amount    TEXT NOT NULL,
  employer_amount  TEXT NOT NULL,
  pay_date         TEXT NOT NULL,
  record_id        BIGINT NOT NULL REFERENCES audit_records (record_id),
  recorded_at      TEXT NOT NULL,
  PRIMARY KEY (employer_id, opening_id)
); -- append-only

CREATE UNIQUE INDEX opening_items_in_order ON opening_items (employer_id, ordinal);
CREATE INDEX opening_items_of_employee ON opening_items (employee_id, employer_id, ordinal);

-- Decisions on open items ("Open items" in docs/reconciliation.md). A hold without an item covers all items of its employee.
-- `member_amount` and `employer_amount` are the amounts of the item when it was decided, `amount` is the part that the
-- decision concerns.
CREATE TABLE item_decisions (
  employer_id     TEXT NOT NULL,
  decision_id     INTEGER NOT NULL,
  employee_id     TEXT NOT NULL,
  item_id         TEXT,
  run_id          TEXT REFERENCES payroll_runs (run_id),
  action          TEXT NOT NULL CHECK (action = 'take' OR action = 'hold' OR action = 'write_off' OR action = 'paid_directly'),
  member_amount   TEXT,
  employer_amount TEXT,
  amount          TEXT,
  until           TEXT,
  paid_on         TEXT,
  reason          TEXT NOT NULL,
  record_id       BIGINT NOT NULL REFERENCES audit_records (record_id),
  recorded_at     TEXT NOT NULL,
  PRIMARY KEY (employer_id, decision_id),
  CHECK (item_id IS NOT NULL OR action = 'hold'),
  CHECK ((item_id IS NULL) = (member_amount IS NULL)),
  CHECK ((item_id IS NULL) = (employer_amount IS NULL)),
  CHECK (amount IS NULL OR action <> 'hold'),
  CHECK (amount IS NOT NULL OR action = 'take' OR action = 'hold'),
  CHECK (until IS NULL OR action = 'hold'),
  CHECK ((paid_on IS NOT NULL) = (action = 'paid_directly'))
); -- append-only, except to erase its reason

CREATE INDEX item_decisions_of_employee ON item_decisions (employee_id, employer_id, decision_id);
CREATE INDEX item_decisions_of_run ON item_decisions (run_id, decision_id);
