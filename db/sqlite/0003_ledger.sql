-- What is true. Positions come from the one row of ledger_head, whose lock makes one applier at a time.
CREATE TABLE ledger_head (
  one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  position INTEGER NOT NULL
) STRICT;

INSERT INTO ledger_head (one, position) VALUES (1, 0);

-- Each state that a deduction was ever in. Amounts and dates are kept as sent; starts_on and ends_on are
-- the date parts as written; event_time is fixed-width UTC. previous is the position of the same deduction's
-- version before this one: its history is a chain of primary keys, which costs no index (docs/decisions).
CREATE TABLE deduction_versions (
  position              INTEGER NOT NULL PRIMARY KEY,
  deduction_id          TEXT    NOT NULL,
  version               INTEGER NOT NULL,
  previous              INTEGER,
  event_id              TEXT    NOT NULL UNIQUE,
  employee_id           TEXT    NOT NULL,
  line_of_coverage      TEXT    NOT NULL,
  member_contribution   TEXT    NOT NULL,
  employer_contribution TEXT    NOT NULL,
  period                TEXT    NOT NULL,
  taxability            TEXT    NOT NULL,
  coverage_type         TEXT,
  description           TEXT,
  effective_start       TEXT,
  effective_end         TEXT,
  starts_on             TEXT,
  ends_on               TEXT,
  created_at            TEXT,
  event_time            TEXT    NOT NULL,
  decided_by            TEXT    NOT NULL CHECK (decided_by IN ('created_at', 'tie', 'receipt')),
  late                  INTEGER NOT NULL CHECK (late IN (0, 1)),
  tie_changed           INTEGER NOT NULL CHECK (tie_changed IN (0, 1)),
  ahead                 INTEGER NOT NULL CHECK (ahead IN (0, 1)),
  recorded_at           TEXT    NOT NULL,
  CHECK ((version = 1) = (previous IS NULL)),
  CHECK (previous < position)
) STRICT;

CREATE INDEX deduction_versions_tied ON deduction_versions (position) WHERE tie_changed = 1;
CREATE INDEX deduction_versions_ahead ON deduction_versions (position) WHERE ahead = 1;
CREATE TRIGGER deduction_versions_are_never_changed BEFORE UPDATE ON deduction_versions BEGIN SELECT RAISE(ABORT, 'deduction_versions are append-only'); END;
CREATE TRIGGER deduction_versions_are_never_removed BEFORE DELETE ON deduction_versions BEGIN SELECT RAISE(ABORT, 'deduction_versions are append-only'); END;

-- The latest state of each deduction: which version it is, and what guards it from an older event. `versions`
-- and `newest` are the number of its versions and the position of the one that came last, where its chain begins.
CREATE TABLE deductions (
  deduction_id TEXT    NOT NULL PRIMARY KEY,
  position     INTEGER NOT NULL,
  event_time   TEXT    NOT NULL,
  employee_id  TEXT    NOT NULL,
  versions     INTEGER NOT NULL,
  newest       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every employee whom a deduction ever named, so that "the deductions of an employee" is one range.
CREATE TABLE deduction_employees (
  employee_id  TEXT NOT NULL,
  deduction_id TEXT NOT NULL,
  PRIMARY KEY (employee_id, deduction_id)
) STRICT, WITHOUT ROWID;

-- What is known of an employment, each fact a whole row; no names, no SSN.
CREATE TABLE roster_facts (
  position          INTEGER NOT NULL PRIMARY KEY,
  employee_id       TEXT    NOT NULL,
  employer_id       TEXT    NOT NULL,
  hire_date         TEXT,
  termination_date  TEXT,
  employment_status TEXT,
  pay_frequency     TEXT,
  pay_group         TEXT,
  absent            INTEGER NOT NULL CHECK (absent IN (0, 1)),
  source            TEXT    NOT NULL CHECK (source IN ('census', 'new-hire', 'termination', 'compensation-change')),
  source_id         TEXT    NOT NULL,
  recorded_at       TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX roster_facts_in_order ON roster_facts (employee_id, employer_id, position);
CREATE TRIGGER roster_facts_are_never_changed BEFORE UPDATE ON roster_facts BEGIN SELECT RAISE(ABORT, 'roster facts are append-only'); END;
CREATE TRIGGER roster_facts_are_never_removed BEFORE DELETE ON roster_facts BEGIN SELECT RAISE(ABORT, 'roster facts are append-only'); END;

-- The newest fact of each employee with each employer.
CREATE TABLE roster (
  employee_id TEXT    NOT NULL,
  employer_id TEXT    NOT NULL,
  position    INTEGER NOT NULL,
  PRIMARY KEY (employee_id, employer_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX roster_by_employer ON roster (employer_id, employee_id);
