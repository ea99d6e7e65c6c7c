-- Only the SHA-256 of a token is stored. Tables that name a token have no foreign key to it: the configuration's own
-- token is in no table, and records outlive tokens.
CREATE TABLE tokens (
  token_id   TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  token_hash BLOB NOT NULL UNIQUE,
  scopes     TEXT NOT NULL,
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

-- Who was shown personal data, when, and whose.
CREATE TABLE pii_reads (
  read_id       INTEGER NOT NULL PRIMARY KEY,
  read_at       TEXT NOT NULL,
  token_id      TEXT NOT NULL,
  token_name    TEXT NOT NULL,
  resource_type TEXT NOT NULL CHECK (resource_type IN ('change', 'census')),
  resource_id   TEXT NOT NULL,
  subject_type  TEXT NOT NULL CHECK (subject_type IN ('employer', 'employee')),
  subject_id    TEXT NOT NULL
) STRICT;

CREATE TRIGGER pii_reads_are_never_changed BEFORE UPDATE ON pii_reads BEGIN SELECT RAISE(ABORT, 'pii_reads are append-only'); END;
CREATE TRIGGER pii_reads_are_never_removed BEFORE DELETE ON pii_reads BEGIN SELECT RAISE(ABORT, 'pii_reads are append-only'); END;

-- The key of keyed hashes, encrypted with a data key. It is created at the first use and never changes, so that hashes
-- stay comparable when data keys are rotated.
CREATE TABLE hash_keys (
  id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  key_id     TEXT NOT NULL,
  ciphertext BLOB NOT NULL
) STRICT;
