-- People signed in at the console. A session is worth what its token is worth: revoked or expired, it ends at once.
CREATE TABLE sessions (
  hash       BYTEA NOT NULL PRIMARY KEY,
  token_hash BYTEA NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  expires_at TEXT COLLATE "C" NOT NULL
);

CREATE INDEX sessions_expiring ON sessions (expires_at);
