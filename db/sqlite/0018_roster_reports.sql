-- A row is one report by one source: a null is what the source did not state. effective_on is the date from which it counts,
-- if the caller stated one.
CREATE TABLE roster_reports (
  position          INTEGER NOT NULL PRIMARY KEY,
  employee_id       TEXT    NOT NULL,
  employer_id       TEXT    NOT NULL,
  hire_date         TEXT,
  termination_date  TEXT,
  employment_status TEXT,
  pay_frequency     TEXT,
  pay_group         TEXT,
  absent            INTEGER CHECK (absent IN (0, 1)),
  source            TEXT    NOT NULL CHECK (source = 'census' OR source = 'new-hire' OR source = 'termination' OR source = 'compensation-change'),
  source_id         TEXT    NOT NULL,
  recorded_at       TEXT    NOT NULL,
  effective_on      TEXT
) STRICT;

INSERT INTO roster_reports
  SELECT position, employee_id, employer_id, hire_date, termination_date, employment_status, pay_frequency, pay_group, absent,
    source, source_id, recorded_at, NULL FROM roster_facts;

DROP TABLE roster_facts;
ALTER TABLE roster_reports RENAME TO roster_facts;

CREATE UNIQUE INDEX roster_facts_in_order ON roster_facts (employee_id, employer_id, position);
CREATE TRIGGER roster_facts_are_never_changed BEFORE UPDATE ON roster_facts BEGIN SELECT RAISE(ABORT, 'roster facts are append-only'); END;
CREATE TRIGGER roster_facts_are_never_removed BEFORE DELETE ON roster_facts BEGIN SELECT RAISE(ABORT, 'roster facts are append-only'); END;
