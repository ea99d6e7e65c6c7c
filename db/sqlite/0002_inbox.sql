-- What came in: every verified webhook message in order of receipt, its body kept as received.
CREATE TABLE inbox (
  seq              INTEGER NOT NULL PRIMARY KEY,
  event_id         TEXT    NOT NULL UNIQUE,
  source           TEXT    NOT NULL CHECK (source IN ('webhook', 'import')),
  received_at      TEXT    NOT NULL,
  body             BLOB    NOT NULL,
  state            TEXT    NOT NULL CHECK (state IN ('pending', 'applied', 'ignored', 'quarantined')),
  event_type       TEXT,
  envelope_id      TEXT,
  reason           TEXT,
  finished_at      TEXT,
  reprocessed      INTEGER NOT NULL DEFAULT 0,
  dismissed_at     TEXT,
  dismissed_reason TEXT,
  CHECK ((state = 'pending') = (finished_at IS NULL)),
  CHECK (state <> 'quarantined' OR reason IS NOT NULL),
  CHECK ((dismissed_at IS NULL) = (dismissed_reason IS NULL))
) STRICT;

-- The apply loop's work list, and the two lists that people ask for; each stays small.
CREATE INDEX inbox_pending ON inbox (seq) WHERE state = 'pending';
CREATE INDEX inbox_quarantined ON inbox (seq) WHERE state = 'quarantined';
CREATE INDEX inbox_by_type ON inbox (event_type, seq) WHERE event_type IS NOT NULL;

-- The same event id with another body. The first body stands; a person looks at the second.
CREATE TABLE event_conflicts (
  conflict_id      INTEGER NOT NULL PRIMARY KEY,
  event_id         TEXT    NOT NULL,
  received_at      TEXT    NOT NULL,
  body             BLOB    NOT NULL,
  body_hash        BLOB    NOT NULL,
  dismissed_at     TEXT,
  dismissed_reason TEXT,
  UNIQUE (event_id, body_hash),
  CHECK ((dismissed_at IS NULL) = (dismissed_reason IS NULL))
) STRICT;

-- Deliveries refused before anything of them was stored: only counted, by minute and cause.
CREATE TABLE refused_signatures (
  minute  TEXT    NOT NULL,
  cause   TEXT    NOT NULL,
  refused INTEGER NOT NULL,
  PRIMARY KEY (minute, cause)
) STRICT, WITHOUT ROWID;
