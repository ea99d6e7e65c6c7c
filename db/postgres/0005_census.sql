-- A census that passed the check, or that is being written. Its rows are sealed in chunks; the newest one of
-- an employer is 'current' and replaces the one before.
CREATE TABLE staged_censuses (
  census_id    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  employer_id  TEXT COLLATE "C" NOT NULL,
  state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('staging', 'current', 'replaced')),
  staged_at    TEXT COLLATE "C" NOT NULL,
  employees    INTEGER NOT NULL,
  body_bytes   INTEGER NOT NULL,
  learned_at   TEXT COLLATE "C",
  replaced_at  TEXT COLLATE "C",
  CHECK ((state = 'replaced') = (replaced_at IS NOT NULL))
);

CREATE UNIQUE INDEX staged_censuses_one_current ON staged_censuses (employer_id) WHERE state = 'current';
CREATE INDEX staged_censuses_to_tidy ON staged_censuses (staged_at) WHERE state <> 'current';
CREATE INDEX staged_censuses_to_learn ON staged_censuses (staged_at) WHERE state = 'current' AND learned_at IS NULL;

CREATE TABLE census_chunks (
  census_id TEXT COLLATE "C" NOT NULL,
  chunk     INTEGER NOT NULL,
  sealed    BYTEA    NOT NULL,
  PRIMARY KEY (census_id, chunk)
);

-- One round: the service asks, payroll uploads, the service says that it is done.
CREATE TABLE census_syncs (
  sync_id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  employer_id       TEXT COLLATE "C" NOT NULL,
  state             TEXT COLLATE "C" NOT NULL CHECK (state IN ('requested', 'waiting', 'uploaded', 'completed', 'failed')),
  event_id          TEXT COLLATE "C"    UNIQUE,
  request_id        TEXT COLLATE "C",
  requested_at      TEXT COLLATE "C" NOT NULL,
  upload_started_at TEXT COLLATE "C",
  uploaded_at       TEXT COLLATE "C",
  completed_at      TEXT COLLATE "C",
  reason            TEXT COLLATE "C",
  problem_count     INTEGER NOT NULL DEFAULT 0,
  problems          TEXT COLLATE "C",
  CHECK (state <> 'failed' OR reason IS NOT NULL)
);

CREATE INDEX census_syncs_by_time ON census_syncs (requested_at, sync_id);
CREATE INDEX census_syncs_by_employer ON census_syncs (employer_id, requested_at, sync_id);
CREATE INDEX census_syncs_unfinished ON census_syncs (employer_id) WHERE state <> 'completed';
CREATE INDEX census_syncs_by_request ON census_syncs (request_id) WHERE request_id IS NOT NULL;
