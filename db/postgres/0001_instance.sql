-- What this database is. A sandbox database never serves live payroll, nor the other way round.
CREATE TABLE instance (
  one         INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('sandbox', 'live')),
  created_at  TEXT COLLATE "C" NOT NULL,
  -- Changed by each look whether a commit is possible: a write that changes nothing would not reach the disk.
  probed_at   TEXT COLLATE "C"
);
