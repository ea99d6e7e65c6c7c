-- Starts at which a SQLite file was behind what had been noted beside it. A server's database has no such note: the
-- table is here for what `copy` brings.
CREATE TABLE data_losses (
  found_at          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  position          BIGINT NOT NULL,
  seq               BIGINT NOT NULL,
  received_at       TEXT COLLATE "C",
  noted_position    BIGINT NOT NULL,
  noted_seq         BIGINT NOT NULL,
  noted_received_at TEXT COLLATE "C",
  accepted_at       TEXT COLLATE "C",
  accepted_reason   TEXT COLLATE "C",
  CHECK ((accepted_at IS NULL) = (accepted_reason IS NULL))
);
