-- Facts: deduction versions, deductions and the roster, in one commit order. The lock on the row of ledger_head makes
-- one applier at a time take positions. Nothing here has a foreign key: each event writes these tables, and positions
-- and ids are checked by `verify`.
CREATE TABLE ledger_head (
  id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  position BIGINT NOT NULL
);

INSERT INTO ledger_head (id, position) VALUES (1, 0);

-- Every state of every deduction. Amounts and dates are stored as sent; starts_on and ends_on are their date parts;
-- event_time is fixed-width UTC. `previous_position` is the position of the deduction's previous version: a history is a
-- chain of primary keys, which needs no index. `ordered_by` shows what decided whether this version became the latest
-- state. `future_dated` marks an event time later than the time of receipt by more than clocks may differ. `moved` marks a
-- version that names another employee than the latest state before it.
CREATE TABLE deduction_versions (
  position              BIGINT NOT NULL PRIMARY KEY,
  deduction_id          TEXT NOT NULL,
  version               INTEGER NOT NULL,
  previous_position     BIGINT,
  event_id              TEXT NOT NULL UNIQUE,
  employee_id           TEXT NOT NULL,
  line_of_coverage      TEXT NOT NULL,
  member_contribution   TEXT NOT NULL,
  employer_contribution TEXT NOT NULL,
  period                TEXT NOT NULL,
  taxability            TEXT NOT NULL,
  coverage_type         TEXT,
  description           TEXT,
  effective_start       TEXT,
  effective_end         TEXT,
  starts_on             TEXT,
  ends_on               TEXT,
  created_at            TEXT,
  event_time            TEXT NOT NULL,
  ordered_by            TEXT NOT NULL CHECK (ordered_by = 'created_at' OR ordered_by = 'tie' OR ordered_by = 'receipt'),
  late                  INTEGER NOT NULL CHECK (late IN (0, 1)),
  tie_changed           INTEGER NOT NULL CHECK (tie_changed IN (0, 1)),
  future_dated          INTEGER NOT NULL CHECK (future_dated IN (0, 1)),
  moved                 INTEGER NOT NULL CHECK (moved IN (0, 1)),
  recorded_at           TEXT NOT NULL,
  CHECK ((version = 1) = (previous_position IS NULL)),
  CHECK (previous_position < position)
); -- append-only

CREATE INDEX deduction_versions_tied ON deduction_versions (position) WHERE tie_changed = 1;
CREATE INDEX deduction_versions_future_dated ON deduction_versions (position) WHERE future_dated = 1;
CREATE INDEX deduction_versions_moved ON deduction_versions (deduction_id) WHERE moved = 1;
-- Dates that people may not have meant: no day is in effect, or the first one may be more than two years ahead.
CREATE INDEX deduction_versions_odd_dates ON deduction_versions (position) WHERE ends_on < starts_on OR ends_on < '2000'
  OR CAST(substr(starts_on, 1, 4) AS INTEGER) >= CAST(substr(recorded_at, 1, 4) AS INTEGER) + 2;

-- Finds what a late event ties with: the versions of its deduction at its own event time. The time comes first because
-- events arrive roughly in that order, so entries are appended near the end of the index; with the random deduction id
-- first, applying an event costs about a third more.
CREATE INDEX deduction_versions_by_time ON deduction_versions (event_time, deduction_id, position);

-- The deductions that ever named an employee, and their versions, are one range.
CREATE INDEX deduction_versions_by_employee ON deduction_versions (employee_id, deduction_id, position);

-- The latest state of each deduction: the position of that version, and its event time, which guards it from an older
-- event. `last_received_position` is the position of the version received last, where the chain of versions begins.
CREATE TABLE deductions (
  deduction_id           TEXT NOT NULL PRIMARY KEY,
  position               BIGINT NOT NULL,
  event_time             TEXT NOT NULL,
  employee_id            TEXT NOT NULL,
  version_count          INTEGER NOT NULL,
  last_received_position BIGINT NOT NULL
) WITHOUT ROWID;

-- Assignments of deductions to one of the employers of their employee ("One person, two employers" in docs/employment-changes.md#the-roster). Of
-- the assignments whose `effective_on` is on or before the last day of a pay period, the last one applies.
CREATE TABLE deduction_assignments (
  position     BIGINT NOT NULL PRIMARY KEY,
  deduction_id TEXT NOT NULL,
  employer_id  TEXT NOT NULL,
  effective_on TEXT NOT NULL,
  reason       TEXT NOT NULL,
  record_id    BIGINT NOT NULL REFERENCES audit_records (record_id),
  recorded_at  TEXT NOT NULL
); -- append-only, except to erase its reason

CREATE INDEX deduction_assignments_by_deduction ON deduction_assignments (deduction_id, position);

-- Reports about employments, without names or SSNs. A row is one report by one source; null is what the source did not
-- state. `effective_on` is the date from which it counts, if the caller stated one. `source_id` is a census or a
-- request, so it has no foreign key. `content_hash` is the SHA-256 of the other columns, for verification.
CREATE TABLE roster_facts (
  position          BIGINT NOT NULL PRIMARY KEY,
  employee_id       TEXT NOT NULL,
  employer_id       TEXT NOT NULL,
  hire_date         TEXT,
  termination_date  TEXT,
  employment_status TEXT,
  pay_frequency     TEXT,
  pay_group         TEXT,
  absent            INTEGER CHECK (absent IN (0, 1)),
  effective_on      TEXT,
  received_on       TEXT NOT NULL,
  source            TEXT NOT NULL CHECK (source = 'census' OR source = 'new-hire' OR source = 'termination' OR source = 'compensation-change'),
  source_id         TEXT NOT NULL,
  recorded_at       TEXT NOT NULL,
  content_hash      TEXT NOT NULL
); -- append-only

CREATE UNIQUE INDEX roster_facts_in_order ON roster_facts (employee_id, employer_id, position);

-- The newest fact of each employee with each employer.
CREATE TABLE roster (
  employee_id TEXT NOT NULL,
  employer_id TEXT NOT NULL,
  position    BIGINT NOT NULL,
  PRIMARY KEY (employee_id, employer_id)
) WITHOUT ROWID;

CREATE INDEX roster_by_employer ON roster (employer_id, employee_id);
