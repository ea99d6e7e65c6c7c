-- A census that passed the check, or that is being written. Its rows are sealed in chunks; the newest one of
-- an employer is 'current' and replaces the one before.
CREATE TABLE staged_censuses (
  census_id    TEXT    NOT NULL PRIMARY KEY,
  employer_id  TEXT    NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN ('staging', 'current', 'replaced')),
  staged_at    TEXT    NOT NULL,
  employees    INTEGER NOT NULL,
  body_bytes   INTEGER NOT NULL,
  learned_at   TEXT,
  replaced_at  TEXT,
  CHECK ((state = 'replaced') = (replaced_at IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX staged_censuses_one_current ON staged_censuses (employer_id) WHERE state = 'current';
CREATE INDEX staged_censuses_to_tidy ON staged_censuses (staged_at) WHERE state <> 'current';
CREATE INDEX staged_censuses_to_learn ON staged_censuses (staged_at) WHERE state = 'current' AND learned_at IS NULL;

CREATE TABLE census_chunks (
  census_id TEXT    NOT NULL,
  chunk     INTEGER NOT NULL,
  sealed    BLOB    NOT NULL,
  PRIMARY KEY (census_id, chunk)
) STRICT;

-- One round: the service asks, payroll uploads, the service says that it is done.
CREATE TABLE census_syncs (
  sync_id           TEXT    NOT NULL PRIMARY KEY,
  employer_id       TEXT    NOT NULL,
  state             TEXT    NOT NULL CHECK (state IN ('requested', 'waiting', 'uploaded', 'completed', 'failed')),
  event_id          TEXT    UNIQUE,
  request_id        TEXT,
  requested_at      TEXT    NOT NULL,
  upload_started_at TEXT,
  uploaded_at       TEXT,
  completed_at      TEXT,
  reason            TEXT,
  problem_count     INTEGER NOT NULL DEFAULT 0,
  problems          TEXT,
  CHECK (state <> 'failed' OR reason IS NOT NULL)
) STRICT;

CREATE INDEX census_syncs_by_time ON census_syncs (requested_at, sync_id);
CREATE INDEX census_syncs_by_employer ON census_syncs (employer_id, requested_at, sync_id);
CREATE INDEX census_syncs_unfinished ON census_syncs (employer_id) WHERE state <> 'completed';
CREATE INDEX census_syncs_by_request ON census_syncs (request_id) WHERE request_id IS NOT NULL;
