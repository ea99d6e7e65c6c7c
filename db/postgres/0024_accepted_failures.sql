-- Failures of readiness that a person accepted when a run was finalized. `ids` is a sorted JSON list of what a failure rests
-- on: while it is the same, the failure stays accepted for the employer. Without ids it was accepted for its run only.
CREATE TABLE accepted_failures (
  run_id      TEXT COLLATE "C" NOT NULL,
  place       INTEGER NOT NULL,
  employer_id TEXT COLLATE "C" NOT NULL,
  check_id    TEXT COLLATE "C" NOT NULL,
  employee_id TEXT COLLATE "C",
  ids         TEXT COLLATE "C" NOT NULL,
  reason      TEXT COLLATE "C" NOT NULL,
  accepted_by TEXT COLLATE "C" NOT NULL,
  accepted_at TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, place)
);

CREATE INDEX accepted_failures_of_employer ON accepted_failures (employer_id, accepted_at);
ALTER TABLE payroll_runs RENAME COLUMN force_reason TO accept_reason;
