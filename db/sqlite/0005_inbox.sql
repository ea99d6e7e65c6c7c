-- Every verified webhook message in order of receipt. The body is stored as received. Retention replaces it by its
-- SHA-256, which still distinguishes a duplicate from a conflict. An event that an operator may have to read or apply
-- keeps its body. Nothing here has a foreign key: storing an event must not depend on anything else.
CREATE TABLE inbox (
  seq              INTEGER NOT NULL PRIMARY KEY,
  event_id         TEXT NOT NULL UNIQUE,
  source           TEXT NOT NULL CHECK (source IN ('webhook', 'import')),
  received_at      TEXT NOT NULL,
  body             BLOB,
  state            TEXT NOT NULL CHECK (state = 'pending' OR state = 'applied' OR state = 'ignored' OR state = 'quarantined'),
  event_type       TEXT,
  envelope_id      TEXT,
  reason           TEXT,
  finished_at      TEXT,
  reprocessed      INTEGER NOT NULL DEFAULT 0,
  dismissed_at     TEXT,
  dismissed_reason TEXT,
  body_hash        BLOB,
  CHECK ((state = 'pending') = (finished_at IS NULL)),
  CHECK (state <> 'quarantined' OR reason IS NOT NULL),
  CHECK ((dismissed_at IS NULL) = (dismissed_reason IS NULL)),
  CHECK ((body IS NULL) = (body_hash IS NOT NULL)),
  CHECK (body IS NOT NULL OR state IN ('applied', 'ignored'))
) STRICT;

-- The apply loop's work list, and lists for the API; each stays small.
CREATE INDEX inbox_pending ON inbox (seq) WHERE state = 'pending';
CREATE INDEX inbox_quarantined ON inbox (seq) WHERE state = 'quarantined';
CREATE INDEX inbox_to_look_at ON inbox (seq) WHERE state = 'quarantined' AND dismissed_at IS NULL;
CREATE INDEX inbox_ignored ON inbox (seq) WHERE state = 'ignored';
CREATE INDEX inbox_dismissed ON inbox (seq) WHERE dismissed_at IS NOT NULL;
CREATE INDEX inbox_by_type ON inbox (event_type, seq) WHERE event_type IS NOT NULL;

-- The same event id with another body. The first body counts; an operator decides about later bodies.
CREATE TABLE event_conflicts (
  conflict_id      INTEGER NOT NULL PRIMARY KEY,
  event_id         TEXT NOT NULL,
  received_at      TEXT NOT NULL,
  body             BLOB,
  body_hash        BLOB NOT NULL,
  dismissed_at     TEXT,
  dismissed_reason TEXT,
  UNIQUE (event_id, body_hash),
  CHECK ((dismissed_at IS NULL) = (dismissed_reason IS NULL)),
  CHECK (body IS NOT NULL OR dismissed_at IS NOT NULL)
) STRICT;

-- The events with conflicts. Their first 20 other bodies are stored, and later ones counted. A dismissal ends when another
-- body arrives.
CREATE TABLE conflicted_events (
  event_id         TEXT NOT NULL PRIMARY KEY,
  stored_count     INTEGER NOT NULL,
  unstored_count   INTEGER NOT NULL,
  last_unstored_at TEXT,
  dismissed_at     TEXT,
  dismissed_reason TEXT,
  CHECK (stored_count BETWEEN 0 AND 20),
  CHECK (unstored_count = 0 OR (unstored_count > 0 AND stored_count = 20)),
  CHECK ((unstored_count = 0) = (last_unstored_at IS NULL)),
  CHECK ((dismissed_at IS NULL) = (dismissed_reason IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX conflicted_events_to_look_at ON conflicted_events (event_id) WHERE dismissed_at IS NULL;

-- Deliveries that were refused before anything of them was stored, counted by minute and cause.
CREATE TABLE refused_signatures (
  minute        TEXT NOT NULL,
  cause         TEXT NOT NULL,
  refused_count INTEGER NOT NULL,
  PRIMARY KEY (minute, cause)
) STRICT, WITHOUT ROWID;

-- Losses that a start found behind the high-water mark of a SQLite file, or a running sidecar after it reconnected to a
-- PostgreSQL server: how far the database had come, and the saved mark or what the sidecar had seen (`saved_*`). Only the
-- latter knows audit records.
CREATE TABLE data_losses (
  found_at          TEXT NOT NULL PRIMARY KEY,
  position          INTEGER NOT NULL,
  seq               INTEGER NOT NULL,
  received_at       TEXT,
  audit_head        INTEGER,
  saved_position    INTEGER NOT NULL,
  saved_seq         INTEGER NOT NULL,
  saved_received_at TEXT,
  saved_audit_head  INTEGER,
  accepted_at       TEXT,
  accepted_reason   TEXT,
  CHECK ((accepted_at IS NULL) = (accepted_reason IS NULL))
) STRICT;
