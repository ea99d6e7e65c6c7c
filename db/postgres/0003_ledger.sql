-- What is true. Positions come from the one row of ledger_head, whose lock makes one applier at a time.
CREATE TABLE ledger_head (
  one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  position BIGINT NOT NULL
);

INSERT INTO ledger_head (one, position) VALUES (1, 0);

-- A function stands on one line: a statement ends with a semicolon at the end of a line (db/README.md).
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '% are append-only', TG_TABLE_NAME; END $$;

-- Each state that a deduction was ever in. Amounts and dates are kept as sent; starts_on and ends_on are
-- the date parts as written; event_time is fixed-width UTC. previous is the position of the same deduction's
-- version before this one: its history is a chain of primary keys, which costs no index (docs/decisions).
CREATE TABLE deduction_versions (
  position              BIGINT NOT NULL PRIMARY KEY,
  deduction_id          TEXT COLLATE "C" NOT NULL,
  version               INTEGER NOT NULL,
  previous              BIGINT,
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
  decided_by            TEXT COLLATE "C" NOT NULL CHECK (decided_by IN ('created_at', 'tie', 'receipt')),
  late                  INTEGER NOT NULL CHECK (late IN (0, 1)),
  tie_changed           INTEGER NOT NULL CHECK (tie_changed IN (0, 1)),
  ahead                 INTEGER NOT NULL CHECK (ahead IN (0, 1)),
  recorded_at           TEXT COLLATE "C" NOT NULL,
  CHECK ((version = 1) = (previous IS NULL)),
  CHECK (previous < position)
);

CREATE INDEX deduction_versions_tied ON deduction_versions (position) WHERE tie_changed = 1;
CREATE INDEX deduction_versions_ahead ON deduction_versions (position) WHERE ahead = 1;
CREATE TRIGGER deduction_versions_are_append_only BEFORE UPDATE OR DELETE ON deduction_versions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deduction_versions_are_never_emptied BEFORE TRUNCATE ON deduction_versions EXECUTE FUNCTION refuse_change();

-- The latest state of each deduction: which version it is, and what guards it from an older event. `versions`
-- and `newest` are the number of its versions and the position of the one that came last, where its chain begins.
CREATE TABLE deductions (
  deduction_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  position     BIGINT NOT NULL,
  event_time   TEXT COLLATE "C" NOT NULL,
  employee_id  TEXT COLLATE "C" NOT NULL,
  versions     INTEGER NOT NULL,
  newest       BIGINT NOT NULL
);

-- Every employee whom a deduction ever named, so that "the deductions of an employee" is one range.
CREATE TABLE deduction_employees (
  employee_id  TEXT COLLATE "C" NOT NULL,
  deduction_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (employee_id, deduction_id)
);

-- What is known of an employment, each fact a whole row; no names, no SSN.
CREATE TABLE roster_facts (
  position          BIGINT NOT NULL PRIMARY KEY,
  employee_id       TEXT COLLATE "C" NOT NULL,
  employer_id       TEXT COLLATE "C" NOT NULL,
  hire_date         TEXT COLLATE "C",
  termination_date  TEXT COLLATE "C",
  employment_status TEXT COLLATE "C",
  pay_frequency     TEXT COLLATE "C",
  pay_group         TEXT COLLATE "C",
  absent            INTEGER NOT NULL CHECK (absent IN (0, 1)),
  source            TEXT COLLATE "C" NOT NULL CHECK (source IN ('census', 'new-hire', 'termination', 'compensation-change')),
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
