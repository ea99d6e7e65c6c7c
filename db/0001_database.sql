-- Identifies the database. A sandbox database never serves live payroll, nor the reverse.
CREATE TABLE instance (
  id          INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  environment TEXT NOT NULL CHECK (environment IN ('sandbox', 'live')),
  created_at  TEXT NOT NULL,
  -- Dates of receipt are its days. `migrate --time-zone` changes it for later ones.
  time_zone   TEXT NOT NULL,
  -- Changed by each readiness probe: a write that changes nothing would not reach the disk.
  probed_at   TEXT,
  -- Why the clock of the sidecar that serves a SQLite file may be wrong, for commands. On PostgreSQL, each sidecar and
  -- command compares its clock with the server's.
  clock_warning TEXT
);

-- Up to which event, in order of receipt, retention has dropped bodies. A change to an earlier event that lets its body
-- be dropped sets it back.
CREATE TABLE retention (
  id                 INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  events_through_seq BIGINT NOT NULL
);

INSERT INTO retention (id, events_through_seq) VALUES (1, 0);

-- What append-only tables call. A statement ends with a semicolon at the end of a line, so a function is on one line.
-- on PostgreSQL:
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '% are append-only', TG_TABLE_NAME; END $$;
-- on both:
