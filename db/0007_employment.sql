-- Idempotency keys of employment changes, kept permanently: a repeated key never creates a second change. A key may be
-- personal data, so only its keyed hash is stored. A repeat is compared by the request's kind and `body_hash`, which
-- outlive its body.
CREATE TABLE change_keys (
  key_hash   TEXT NOT NULL PRIMARY KEY,
  request_id TEXT NOT NULL UNIQUE REFERENCES outbox (request_id)
) WITHOUT ROWID;
