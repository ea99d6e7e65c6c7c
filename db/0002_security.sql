-- Console sessions. A session ends at `expires_at`, after a time without use, or with the token that began it. The session of
-- a person who signed in with OpenID Connect has the issuer and subject, what the person may do, and in `rules` a hash of the
-- settings that decided it (src/security/claims.ts). `employers` is a JSON list of ids; null: all employers. `owner_hash` is the
-- SHA-256 of the token or the person.
CREATE TABLE sessions (
  session_hash BYTEA NOT NULL PRIMARY KEY,
  owner_hash   BYTEA NOT NULL,
  issuer       TEXT,
  subject      TEXT,
  name         TEXT,
  scopes       TEXT,
  employers    TEXT,
  rules        TEXT,
  created_at   TEXT NOT NULL,
  expires_at   TEXT NOT NULL,
  last_used_at TEXT,
  CHECK ((issuer IS NULL) = (subject IS NULL)),
  CHECK ((issuer IS NULL) = (name IS NULL)),
  CHECK ((issuer IS NULL) = (scopes IS NULL)),
  CHECK ((issuer IS NULL) = (rules IS NULL)),
  CHECK (issuer IS NOT NULL OR employers IS NULL)
);

CREATE INDEX sessions_expiring ON sessions (expires_at);

-- Who did what, when, to which resource, and why: one row per action of a person, a token or a command, written in the
-- transaction of the change. Other tables refer to an actor by the record of the action. `actor_id` is the subject of a
-- person or the id of a token; it has no foreign key, because records outlive tokens. `acting_user` is the user that a
-- program said it acts for. `details` is a JSON object of ids and settings. `reason` is text that a person typed. It can be
-- erased together with `reason_key`, the key of its HMAC, which stays. `hash` is the SHA-256 over the hash of the preceding
-- record and the text of this one without `reason` and `reason_key` (src/security/audit-chain.ts).
CREATE TABLE audit_records (
  record_id     BIGINT NOT NULL PRIMARY KEY,
  recorded_at   TEXT NOT NULL,
  actor_kind    TEXT NOT NULL CHECK (actor_kind = 'person' OR actor_kind = 'token' OR actor_kind = 'cli' OR actor_kind = 'system'),
  actor_issuer  TEXT,
  actor_id      TEXT,
  actor_name    TEXT NOT NULL,
  acting_user   TEXT,
  action        TEXT NOT NULL,
  resource_type TEXT NOT NULL,
  resource_id   TEXT,
  employer_id   TEXT,
  employee_id   TEXT,
  details       TEXT NOT NULL,
  reason_hash   TEXT,
  hash          TEXT NOT NULL,
  reason        TEXT,
  reason_key    BYTEA,
  CHECK ((reason IS NULL) = (reason_key IS NULL)),
  CHECK (reason IS NULL OR reason_hash IS NOT NULL),
  CHECK ((actor_kind = 'person') = (actor_issuer IS NOT NULL)),
  CHECK ((actor_kind IN ('person', 'token')) = (actor_id IS NOT NULL))
); -- never removed

CREATE INDEX audit_records_of_resource ON audit_records (resource_type, resource_id, record_id);
CREATE INDEX audit_records_of_employer ON audit_records (employer_id, record_id) WHERE employer_id IS NOT NULL;
CREATE INDEX audit_records_of_employee ON audit_records (employee_id, record_id) WHERE employee_id IS NOT NULL;

-- A record changes only by erasing its reason together with the key.
-- on SQLite:
CREATE TRIGGER audit_records_are_never_changed BEFORE UPDATE OF
  record_id, recorded_at, actor_kind, actor_issuer, actor_id, actor_name, acting_user, action,
  resource_type, resource_id, employer_id, employee_id, details, reason_hash, hash ON audit_records
BEGIN SELECT RAISE(ABORT, 'audit_records are append-only'); END;
CREATE TRIGGER audit_reasons_are_only_erased BEFORE UPDATE ON audit_records WHEN NEW.reason IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'audit_records are append-only'); END;
-- on PostgreSQL:
CREATE TRIGGER audit_records_are_never_changed BEFORE UPDATE ON audit_records FOR EACH ROW
  WHEN (NEW.reason IS NOT NULL OR to_jsonb(NEW) - 'reason' - 'reason_key' <> to_jsonb(OLD) - 'reason' - 'reason_key')
  EXECUTE FUNCTION refuse_change();
-- on both:

-- The id and the hash of the last record. The lock on this row makes ids follow the order of commits, without gaps.
CREATE TABLE audit_head (
  id        INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  record_id BIGINT NOT NULL,
  hash      TEXT NOT NULL
);

INSERT INTO audit_head (id, record_id, hash) VALUES (1, 0, '');

-- Only the SHA-256 of a token is stored. Tables that name a token have no foreign key to it: the configuration's own
-- token is in no table, and records outlive tokens. `person` identifies the person whose token it is; null for a program.
-- `employers` is a JSON list of the employers to which the token is limited; null for all.
CREATE TABLE tokens (
  token_id   TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL,
  token_hash BYTEA NOT NULL UNIQUE,
  scopes     TEXT NOT NULL,
  person     TEXT,
  employers  TEXT,
  created_at TEXT NOT NULL,
  expires_at TEXT,
  revoked_at TEXT,
  record_id  BIGINT NOT NULL REFERENCES audit_records (record_id)
);

-- The key of keyed hashes, encrypted with a data key. It is created at the first use and never changes, so that hashes
-- stay comparable when data keys are rotated.
CREATE TABLE hash_keys (
  id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  key_id     TEXT NOT NULL,
  ciphertext BYTEA NOT NULL
);
