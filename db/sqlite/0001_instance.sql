-- What this database is. A sandbox database never serves live payroll, nor the other way round.
CREATE TABLE instance (
  one         INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  environment TEXT    NOT NULL CHECK (environment IN ('sandbox', 'live')),
  created_at  TEXT    NOT NULL
) STRICT;
