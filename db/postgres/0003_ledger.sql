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
-- state. `future_dated` marks an event time later than the time of receipt by more than clocks may differ.
CREATE TABLE deduction_versions (
  position              BIGINT NOT NULL PRIMARY KEY,
  deduction_id          TEXT COLLATE "C" NOT NULL,
  version               INTEGER NOT NULL,
  previous_position     BIGINT,
  event_id              TEXT COLLATE "C" NOT NULL UNIQUE,
  employee_id           TEXT COLLATE "C" NOT NULL,
  line_of_coverage      TEXT COLLATE "C" NOT NULL,
  member_contribution   TEXT COLLATE "C" NOT NULL,
  employer_contribution TEXT COLLATE "C" NOT NULL,
  period                TEXT COLLATE "C" NOT NULL,
  taxability            TEXT COLLATE "C" NOT NULL,
  coverage_type         TEXT COLLATE "C",
  description           TEXT COLLATE "C",
  effective_start       TEXT COLLATE "C",
  effective_end         TEXT COLLATE "C",
  starts_on             TEXT COLLATE "C",
  ends_on               TEXT COLLATE "C",
  created_at            TEXT COLLATE "C",
  event_time            TEXT COLLATE "C" NOT NULL,
  ordered_by            TEXT COLLATE "C" NOT NULL CHECK (ordered_by = 'created_at' OR ordered_by = 'tie' OR ordered_by = 'receipt'),
  late                  INTEGER NOT NULL CHECK (late IN (0, 1)),
  tie_changed           INTEGER NOT NULL CHECK (tie_changed IN (0, 1)),
  future_dated          INTEGER NOT NULL CHECK (future_dated IN (0, 1)),
  recorded_at           TEXT COLLATE "C" NOT NULL,
  CHECK ((version = 1) = (previous_position IS NULL)),
  CHECK (previous_position < position)
);

CREATE INDEX deduction_versions_tied ON deduction_versions (position) WHERE tie_changed = 1;
CREATE INDEX deduction_versions_future_dated ON deduction_versions (position) WHERE future_dated = 1;
-- Dates that people may not have meant: no day is in effect, or the first one may be more than two years ahead.
CREATE INDEX deduction_versions_odd_dates ON deduction_versions (position) WHERE ends_on < starts_on OR ends_on < '2000'
  OR CAST(substr(starts_on, 1, 4) AS INTEGER) >= CAST(substr(recorded_at, 1, 4) AS INTEGER) + 2;

-- Finds what a late event ties with: the versions of its deduction at its own event time. The time comes first because
-- events arrive roughly in that order, so entries are appended near the end of the index; with the random deduction id
-- first, applying an event costs about a third more.
CREATE INDEX deduction_versions_by_time ON deduction_versions (event_time, deduction_id, position);

CREATE TRIGGER deduction_versions_are_append_only BEFORE UPDATE OR DELETE ON deduction_versions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deduction_versions_are_never_emptied BEFORE TRUNCATE ON deduction_versions EXECUTE FUNCTION refuse_change();

-- The latest state of each deduction: the position of that version, and its event time, which guards it from an older
-- event. `last_received_position` is the position of the version received last, where the chain of versions begins.
CREATE TABLE deductions (
  deduction_id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  position               BIGINT NOT NULL,
  event_time             TEXT COLLATE "C" NOT NULL,
  employee_id            TEXT COLLATE "C" NOT NULL,
  version_count          INTEGER NOT NULL,
  last_received_position BIGINT NOT NULL
);

-- Every employee that a version of a deduction named, so that the deductions of an employee are one range.
CREATE TABLE deduction_employees (
  employee_id  TEXT COLLATE "C" NOT NULL,
  deduction_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (employee_id, deduction_id)
);

-- Assignments of deductions to one of the employers of their employee ("One person, two employers" in docs/roster.md). Of
-- the assignments whose `effective_on` is on or before the last day of a pay period, the last one applies.
CREATE TABLE deduction_assignments (
  position     BIGINT NOT NULL PRIMARY KEY,
  deduction_id TEXT COLLATE "C" NOT NULL,
  employer_id  TEXT COLLATE "C" NOT NULL,
  effective_on TEXT COLLATE "C" NOT NULL,
  reason       TEXT COLLATE "C" NOT NULL,
  record_id    BIGINT NOT NULL REFERENCES audit_records (record_id),
  recorded_at  TEXT COLLATE "C" NOT NULL
);

CREATE INDEX deduction_assignments_by_deduction ON deduction_assignments (deduction_id, position);

CREATE TRIGGER deduction_assignments_are_never_changed BEFORE UPDATE ON deduction_assignments FOR EACH ROW
  WHEN (NEW.reason <> '[erased]' OR to_jsonb(NEW) - 'reason' <> to_jsonb(OLD) - 'reason') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deduction_assignments_are_never_removed BEFORE DELETE ON deduction_assignments FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deduction_assignments_are_never_emptied BEFORE TRUNCATE ON deduction_assignments EXECUTE FUNCTION refuse_change();

-- Reports about employments, without names or SSNs. A row is one report by one source; null is what the source did not
-- state. `effective_on` is the date from which it counts, if the caller stated one. `source_id` is a census or a
-- request, so it has no foreign key.
CREATE TABLE roster_facts (
  position          BIGINT NOT NULL PRIMARY KEY,
  employee_id       TEXT COLLATE "C" NOT NULL,
  employer_id       TEXT COLLATE "C" NOT NULL,
  hire_date         TEXT COLLATE "C",
  termination_date  TEXT COLLATE "C",
  employment_status TEXT COLLATE "C",
  pay_frequency     TEXT COLLATE "C",
  pay_group         TEXT COLLATE "C",
  absent            INTEGER CHECK (absent IN (0, 1)),
  effective_on      TEXT COLLATE "C",
  received_on       TEXT COLLATE "C" NOT NULL,
  source            TEXT COLLATE "C" NOT NULL CHECK (source = 'census' OR source = 'new-hire' OR source = 'termination' OR source = 'compensation-change'),
  source_id         TEXT COLLATE "C" NOT NULL,
  recorded_at       TEXT COLLATE "C" NOT NULL
);

CREATE UNIQUE INDEX roster_facts_in_order ON roster_facts (employee_id, employer_id, position);

CREATE TRIGGER roster_facts_are_append_only BEFORE UPDATE OR DELETE ON roster_facts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER roster_facts_are_never_emptied BEFORE TRUNCATE ON roster_facts EXECUTE FUNCTION refuse_change();

-- The newest fact of each employee with each employer.
CREATE TABLE roster (
  employee_id TEXT COLLATE "C" NOT NULL,
  employer_id TEXT COLLATE "C" NOT NULL,
  position    BIGINT NOT NULL,
  PRIMARY KEY (employee_id, employer_id)
);

CREATE INDEX roster_by_employer ON roster (employer_id, employee_id);
