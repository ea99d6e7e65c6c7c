-- Idempotency keys that employment changes came with, kept for ever: the same key never leads to a second change. A key
-- may be somebody's number, so only its keyed hash is here. Whether the same change comes again is told by the request's
-- kind and `body_hash`, which outlive its body.
CREATE TABLE change_keys (
  key_hash   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  request_id TEXT COLLATE "C" NOT NULL UNIQUE
);
