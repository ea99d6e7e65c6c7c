-- People signed in at the console. A session is worth what its token is worth: revoked or expired, it ends at once.
CREATE TABLE sessions (
  hash       BLOB NOT NULL PRIMARY KEY,
  token_hash BLOB NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;

CREATE INDEX sessions_expiring ON sessions (expires_at);
