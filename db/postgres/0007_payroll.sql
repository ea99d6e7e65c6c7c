-- Payroll runs, and what payroll says of itself. Rises with everything that payroll changes; its lock makes one
-- finalize, void or report at a time.
CREATE TABLE payroll_head (
  one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  change BIGINT NOT NULL
);

INSERT INTO payroll_head (one, change) VALUES (1, 0);

-- What to deduct from one paycheck. `body` is the run as it was put, with the defaults filled in. An open run is
-- computed at each read; a finalized one keeps its lines under `freeze_id`, and in `frozen` what they were computed from.
CREATE TABLE payroll_runs (
  run_id        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  employer_id   TEXT COLLATE "C" NOT NULL,
  kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('regular', 'off_cycle')),
  pay_frequency TEXT COLLATE "C" NOT NULL,
  pay_group     TEXT COLLATE "C",
  period_start  TEXT COLLATE "C" NOT NULL,
  period_end    TEXT COLLATE "C" NOT NULL,
  pay_date      TEXT COLLATE "C" NOT NULL,
  body          TEXT COLLATE "C" NOT NULL,
  state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'finalized', 'voided')),
  created_at    TEXT COLLATE "C" NOT NULL,
  finalized_at  TEXT COLLATE "C",
  freeze_id     TEXT COLLATE "C"    UNIQUE,
  position      BIGINT,
  rules_version TEXT COLLATE "C",
  etag          TEXT COLLATE "C",
  frozen        TEXT COLLATE "C",
  totals        TEXT COLLATE "C",
  force_reason  TEXT COLLATE "C",
  voided_at     TEXT COLLATE "C",
  void_reason   TEXT COLLATE "C",
  CHECK ((state = 'open') = (freeze_id IS NULL)),
  CHECK ((freeze_id IS NULL) = (finalized_at IS NULL)),
  CHECK ((freeze_id IS NULL) = (position IS NULL)),
  CHECK ((freeze_id IS NULL) = (rules_version IS NULL)),
  CHECK ((freeze_id IS NULL) = (etag IS NULL)),
  CHECK ((freeze_id IS NULL) = (frozen IS NULL)),
  CHECK ((freeze_id IS NULL) = (totals IS NULL)),
  CHECK ((state = 'voided') = (voided_at IS NOT NULL)),
  CHECK ((state = 'voided') = (void_reason IS NOT NULL))
);

CREATE INDEX payroll_runs_by_date ON payroll_runs (pay_date, run_id);
CREATE INDEX payroll_runs_by_employer ON payroll_runs (employer_id, pay_date, run_id);
CREATE UNIQUE INDEX payroll_runs_one_finalized ON payroll_runs (employer_id, coalesce(pay_group, ''), pay_date) WHERE state = 'finalized' AND kind = 'regular';

-- Who was in a finalized run, by which roster fact, and the lines of each; null: not in it, and has lines all the same.
CREATE TABLE run_employees (
  freeze_id       TEXT COLLATE "C" NOT NULL,
  employee_id     TEXT COLLATE "C" NOT NULL,
  roster_position BIGINT,
  lines           TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (freeze_id, employee_id)
);

-- Lines that are being written; what a process that died left behind is found here.
CREATE TABLE run_freezes (
  freeze_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  begun_at  TEXT COLLATE "C" NOT NULL
);

-- What payroll really took, line by line; `owed` is what it took too little of the finalized amount. A report replaces the one before, which stays to be read; it stands once
-- its row in taken_reports does.
CREATE TABLE taken_reports (
  run_id      TEXT COLLATE "C" NOT NULL,
  report      BIGINT NOT NULL,
  recorded_at TEXT COLLATE "C" NOT NULL,
  lines       BIGINT NOT NULL,
  PRIMARY KEY (run_id, report)
);

CREATE TABLE taken_lines (
  run_id      TEXT COLLATE "C" NOT NULL,
  report      BIGINT NOT NULL,
  employee_id TEXT COLLATE "C" NOT NULL,
  line        TEXT COLLATE "C" NOT NULL,
  amount      TEXT COLLATE "C" NOT NULL,
  owed        TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, report, employee_id, line)
);

CREATE INDEX taken_lines_owed ON taken_lines (run_id, report, employee_id) WHERE owed <> '0.00';

-- An employer's pay dates and payroll's codes, each list as it was put.
CREATE TABLE pay_schedules (
  employer_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  schedules   TEXT COLLATE "C" NOT NULL,
  updated_at  TEXT COLLATE "C" NOT NULL
);

CREATE TABLE payroll_codes (
  employer_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  codes       TEXT COLLATE "C" NOT NULL,
  updated_at  TEXT COLLATE "C" NOT NULL
);
