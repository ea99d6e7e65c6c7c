-- Starts at which the database was behind what had been noted beside it: an older file stood in its place, or its log
-- was lost. What came since its newest event is gone here, until it is replayed and somebody says so.
CREATE TABLE data_losses (
  found_at          TEXT    NOT NULL PRIMARY KEY,
  position          INTEGER NOT NULL,
  seq               INTEGER NOT NULL,
  received_at       TEXT,
  noted_position    INTEGER NOT NULL,
  noted_seq         INTEGER NOT NULL,
  noted_received_at TEXT,
  accepted_at       TEXT,
  accepted_reason   TEXT,
  CHECK ((accepted_at IS NULL) = (accepted_reason IS NULL))
) STRICT;
