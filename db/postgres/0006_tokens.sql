-- Who may use the private listener. Only the SHA-256 of a token is kept.
CREATE TABLE tokens (
  token_id   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL,
  hash       BYTEA NOT NULL UNIQUE,
  scopes     TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  expires_at TEXT COLLATE "C",
  revoked_at TEXT COLLATE "C"
);
