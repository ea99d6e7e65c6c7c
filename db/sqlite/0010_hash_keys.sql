-- The key of keyed hashes, sealed with a data key: made at the first use, and the same ever after, so that hashes
-- can still be compared when the data keys were changed.
CREATE TABLE hash_keys (
  one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  key_id TEXT    NOT NULL,
  sealed BLOB    NOT NULL
) STRICT;
