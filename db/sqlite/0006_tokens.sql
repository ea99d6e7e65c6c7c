-- Who may use the private listener. Only the SHA-256 of a token is kept.
CREATE TABLE tokens (
  token_id   TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE,
  scopes     TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT,
  revoked_at TEXT
) STRICT;
