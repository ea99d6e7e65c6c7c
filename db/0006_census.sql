-- Censuses that passed the check, or that are being written: until then, `staged_at` is the time of the last chunk by the
-- database's clock. An employer's newest one is 'current' and replaces the previous one. Only an abandoned census is
-- removed: a clean-up marks it under the lock of its row, which every writer takes, too. `uploaded_at` marks the census that the
-- service accepted last; its fingerprints, made with the hash key `fingerprint_key`, show what a newer census would change.
-- `released_at` marks a census that a person released from being held.
-- `limited_to` is a JSON list of the employers that its caller sees; null for all. `elsewhere` lists as JSON which employees of a
-- fetched census are another employer's: until a release, none of the census counts as the employer's.
CREATE TABLE staged_censuses (
  census_id         TEXT NOT NULL PRIMARY KEY,
  employer_id       TEXT NOT NULL,
  state             TEXT NOT NULL CHECK (state = 'staging' OR state = 'current' OR state = 'replaced' OR state = 'abandoned'),
  staged_at         TEXT NOT NULL,
  employee_count    INTEGER NOT NULL,
  body_bytes        INTEGER NOT NULL,
  roster_updated_at TEXT,
  replaced_at       TEXT,
  uploaded_at       TEXT,
  released_at       TEXT,
  fingerprint_key   TEXT NOT NULL,
  limited_to        TEXT,
  elsewhere         TEXT,
  CHECK (state <> 'replaced' OR replaced_at IS NOT NULL)
);

CREATE UNIQUE INDEX staged_censuses_one_current ON staged_censuses (employer_id) WHERE state = 'current';
CREATE UNIQUE INDEX staged_censuses_one_uploaded ON staged_censuses (employer_id) WHERE uploaded_at IS NOT NULL;
CREATE INDEX staged_censuses_to_tidy ON staged_censuses (staged_at) WHERE state <> 'current';
CREATE INDEX staged_censuses_for_roster ON staged_censuses (staged_at) WHERE state = 'current' AND roster_updated_at IS NULL;

CREATE TABLE census_chunks (
  census_id  TEXT NOT NULL REFERENCES staged_censuses (census_id),
  chunk      INTEGER NOT NULL,
  ciphertext BYTEA NOT NULL,
  PRIMARY KEY (census_id, chunk)
);

-- Key rotation may encrypt a chunk again.
-- on SQLite:
CREATE TRIGGER chunks_in_use_are_never_removed BEFORE DELETE ON census_chunks WHEN (SELECT state FROM staged_censuses WHERE census_id = OLD.census_id) <> 'abandoned' BEGIN SELECT RAISE(ABORT, 'chunks are only removed from an abandoned census'); END;
-- on PostgreSQL:
CREATE FUNCTION keep_chunks_in_use() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT 1 FROM staged_censuses WHERE census_id = OLD.census_id AND state <> 'abandoned') THEN RAISE EXCEPTION 'chunks are only removed from an abandoned census'; END IF; RETURN OLD; END $$;
CREATE TRIGGER chunks_in_use_are_never_removed BEFORE DELETE ON census_chunks FOR EACH ROW EXECUTE FUNCTION keep_chunks_in_use();
CREATE TRIGGER census_chunks_are_never_emptied BEFORE TRUNCATE ON census_chunks EXECUTE FUNCTION refuse_change();
-- on both:

-- One row per employee, and one without an employee id for the organization. `field_hashes` has 8 bytes per field, in an
-- order that never changes.
CREATE TABLE census_fingerprints (
  census_id    TEXT NOT NULL REFERENCES staged_censuses (census_id),
  employee_id  TEXT NOT NULL,
  field_hashes BYTEA NOT NULL,
  PRIMARY KEY (census_id, employee_id)
) WITHOUT ROWID;

-- One round: the service requests a census, the sidecar uploads it, the service reports completion. `event_id` has no
-- foreign key: applying an event writes it. `held_for` lists as JSON why the census `held_census_id` was held, and which
-- employees it is about.
CREATE TABLE census_syncs (
  sync_id           TEXT NOT NULL PRIMARY KEY,
  employer_id       TEXT NOT NULL,
  state             TEXT NOT NULL CHECK (state = 'requested' OR state = 'waiting' OR state = 'held' OR state = 'uploaded' OR state = 'completed' OR state = 'failed' OR state = 'dismissed'),
  event_id          TEXT UNIQUE,
  request_id        TEXT REFERENCES outbox (request_id),
  requested_at      TEXT NOT NULL,
  upload_started_at TEXT,
  uploaded_at       TEXT,
  completed_at      TEXT,
  dismissed_at      TEXT,
  dismissed_reason  TEXT,
  reason            TEXT,
  problem_count     INTEGER NOT NULL DEFAULT 0,
  problems          TEXT,
  held_census_id    TEXT,
  held_for          TEXT,
  CHECK (state <> 'failed' OR reason IS NOT NULL),
  CHECK (state <> 'held' OR (held_census_id IS NOT NULL AND held_for IS NOT NULL)),
  CHECK (state <> 'dismissed' OR dismissed_at IS NOT NULL),
  CHECK ((dismissed_at IS NULL) = (dismissed_reason IS NULL))
);

CREATE INDEX census_syncs_by_time ON census_syncs (requested_at, sync_id);
CREATE INDEX census_syncs_by_employer ON census_syncs (employer_id, requested_at, sync_id);
CREATE INDEX census_syncs_unfinished ON census_syncs (employer_id) WHERE state <> 'completed';
CREATE INDEX census_syncs_by_request ON census_syncs (request_id) WHERE request_id IS NOT NULL;

-- The employer for whom each applied event reported completion, also if no sync was completed.
CREATE TABLE census_completions (
  event_id    TEXT NOT NULL PRIMARY KEY,
  employer_id TEXT NOT NULL
) WITHOUT ROWID;
