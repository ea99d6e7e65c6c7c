-- Identifies the database. A sandbox database never serves live payroll, nor the reverse.
CREATE TABLE instance (
  one         INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  environment TEXT NOT NULL CHECK (environment IN ('sandbox', 'live')),
  created_at  TEXT NOT NULL,
  -- Changed by each readiness probe: a write that changes nothing would not reach the disk.
  probed_at   TEXT
) STRICT;
