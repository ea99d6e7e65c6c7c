-- Only the SHA-256 of a token is stored. Tables that name a token have no foreign key to it: the configuration's own
-- token is in no table, and records outlive tokens. `person` identifies the person whose token it is; null for a program.
CREATE TABLE tokens (
  token_id   TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  token_hash BLOB NOT NULL UNIQUE,
  scopes     TEXT NOT NULL,
  person     TEXT,
  created_at TEXT NOT NULL,
  expires_at TEXT,
  revoked_at TEXT
) STRICT;

-- Console sessions. A session ends with its token, at `expires_at`, or after a time without use.
CREATE TABLE sessions (
  session_hash BLOB NOT NULL PRIMARY KEY,
  token_hash   BLOB NOT NULL,
  created_at   TEXT NOT NULL,
  expires_at   TEXT NOT NULL,
  last_used_at TEXT
) STRICT;

CREATE INDEX sessions_expiring ON sessions (expires_at);

-- Who did what, when, to which resource, and why: one row per action of a person, a token or a command, written in the
-- transaction of the change. Other tables refer to an actor by the record of the action. `actor_id` is the subject of a
-- person or the id of a token; it has no foreign key, because records outlive tokens. `acting_user` is the user that a
-- program said it acts for. `details` is a JSON object of ids and settings. `reason` is text that a person typed.
CREATE TABLE audit_records (
  record_id     INTEGER NOT NULL PRIMARY KEY,
  recorded_at   TEXT NOT NULL,
  actor_kind    TEXT NOT NULL CHECK (actor_kind = 'person' OR actor_kind = 'token' OR actor_kind = 'cli' OR actor_kind = 'system'),
  actor_issuer  TEXT,
  actor_id      TEXT,
  actor_name    TEXT NOT NULL,
  acting_user   TEXT,
  action        TEXT NOT NULL,
  resource_type TEXT NOT NULL,
  resource_id   TEXT,
  employer_id   TEXT,
  details       TEXT NOT NULL,
  reason        TEXT,
  CHECK ((actor_kind = 'person') = (actor_issuer IS NOT NULL)),
  CHECK ((actor_kind IN ('person', 'token')) = (actor_id IS NOT NULL))
) STRICT;

CREATE INDEX audit_records_of_resource ON audit_records (resource_type, resource_id, record_id);

CREATE TRIGGER audit_records_are_never_changed BEFORE UPDATE ON audit_records BEGIN SELECT RAISE(ABORT, 'audit_records are append-only'); END;
CREATE TRIGGER audit_records_are_never_removed BEFORE DELETE ON audit_records BEGIN SELECT RAISE(ABORT, 'audit_records are append-only'); END;

-- The id of the last record. The lock on this row makes ids follow the order of commits, without gaps.
CREATE TABLE audit_head (
  id        INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  record_id INTEGER NOT NULL
) STRICT;

INSERT INTO audit_head (id, record_id) VALUES (1, 0);

-- The key of keyed hashes, encrypted with a data key. It is created at the first use and never changes, so that hashes
-- stay comparable when data keys are rotated.
CREATE TABLE hash_keys (
  id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  key_id     TEXT NOT NULL,
  ciphertext BLOB NOT NULL
) STRICT;
