-- Identifies the database. A sandbox database never serves live payroll, nor the reverse.
CREATE TABLE instance (
  id          INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  environment TEXT NOT NULL CHECK (environment IN ('sandbox', 'live')),
  created_at  TEXT NOT NULL,
  -- Changed by each readiness probe: a write that changes nothing would not reach the disk.
  probed_at   TEXT
) STRICT;
