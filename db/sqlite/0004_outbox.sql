-- Requests to the benefits service, sent in order per subject. `is_next` marks the one request of a subject that may be
-- sent next, so that claiming is cheap at any backlog. `holds_later` marks a rejected new hire whose later changes wait
-- for an operator. `body` and `response` are encrypted; `body_hash` is keyed and outlives the body. `status` is the HTTP
-- status of the last response. `refusals` counts the last responses in a row that refused the request and left it
-- unfinished: they hold its subject (401, 403, 404, 3xx), or report a failure with a 2xx. `effective_on` is the date from
-- which an employment change counts for payroll, and `pay_group` the employee's pay group, if the caller stated them; they
-- are not part of the body.
CREATE TABLE outbox (
  seq                   INTEGER NOT NULL PRIMARY KEY,
  request_id            TEXT NOT NULL UNIQUE,
  kind                  TEXT NOT NULL CHECK (kind = 'census' OR kind = 'new-hire' OR kind = 'termination' OR kind = 'demographic' OR kind = 'compensation-change'),
  subject_type          TEXT NOT NULL CHECK (subject_type IN ('employer', 'employee')),
  subject_id            TEXT NOT NULL,
  state                 TEXT NOT NULL CHECK (state = 'pending' OR state = 'sending' OR state = 'delivered' OR state = 'rejected' OR state = 'canceled'),
  is_next               INTEGER NOT NULL CHECK (is_next IN (0, 1)),
  holds_later           INTEGER NOT NULL DEFAULT 0 CHECK (holds_later IN (0, 1)),
  due_at                TEXT NOT NULL,
  body                  BLOB,
  body_hash             BLOB,
  attempts              INTEGER NOT NULL DEFAULT 0,
  claimed_by            TEXT,
  lease_expires_at      TEXT,
  unknown_outcome       INTEGER NOT NULL DEFAULT 0 CHECK (unknown_outcome IN (0, 1)),
  may_have_been_applied INTEGER NOT NULL DEFAULT 0 CHECK (may_have_been_applied IN (0, 1)),
  status                INTEGER,
  refusals              INTEGER NOT NULL DEFAULT 0,
  reason                TEXT,
  response              BLOB,
  created_at            TEXT NOT NULL,
  finished_at           TEXT,
  erased_at             TEXT CHECK (erased_at IS NULL OR state IN ('delivered', 'canceled')),
  effective_on          TEXT,
  pay_group             TEXT,
  CHECK ((kind = 'census') = (subject_type = 'employer')),
  CHECK ((state = 'sending') = (claimed_by IS NOT NULL)),
  CHECK ((claimed_by IS NULL) = (lease_expires_at IS NULL)),
  CHECK ((state IN ('pending', 'sending')) = (finished_at IS NULL)),
  CHECK (state IN ('pending', 'sending') OR is_next = 0),
  CHECK (state <> 'sending' OR is_next = 1),
  CHECK (state = 'rejected' OR holds_later = 0)
) STRICT;

CREATE INDEX outbox_claimable ON outbox (due_at, seq) WHERE state = 'pending' AND is_next = 1;
CREATE INDEX outbox_leased ON outbox (lease_expires_at) WHERE state = 'sending';
CREATE INDEX outbox_by_subject ON outbox (subject_type, subject_id, seq);
CREATE INDEX outbox_unfinished ON outbox (subject_type, subject_id, seq) WHERE finished_at IS NULL;
CREATE INDEX outbox_unfinished_in_order ON outbox (seq) WHERE finished_at IS NULL;
CREATE INDEX outbox_holding_later ON outbox (subject_type, subject_id) WHERE holds_later = 1;
CREATE INDEX outbox_rejected ON outbox (seq) WHERE state = 'rejected';
CREATE INDEX outbox_refused ON outbox (seq) WHERE refusals > 0 AND finished_at IS NULL;
CREATE INDEX outbox_to_erase ON outbox (finished_at) WHERE finished_at IS NOT NULL AND erased_at IS NULL;
CREATE UNIQUE INDEX outbox_one_next_per_subject ON outbox (subject_type, subject_id) WHERE is_next = 1;
CREATE UNIQUE INDEX outbox_one_pending_census ON outbox (subject_id) WHERE kind = 'census' AND state = 'pending';

-- Each attempt, without its body: when, with which status, and why it failed.
CREATE TABLE delivery_attempts (
  request_id  TEXT NOT NULL REFERENCES outbox (request_id),
  attempt     INTEGER NOT NULL,
  started_at  TEXT NOT NULL,
  finished_at TEXT,
  status      INTEGER,
  reason      TEXT,
  PRIMARY KEY (request_id, attempt)
) STRICT, WITHOUT ROWID;

-- Paused for all senders when the address or the API key is wrong. One probe at a time finds out when it is fixed.
-- `suspect` is the first subject since the last success whose response means that; a second one pauses sending.
CREATE TABLE circuit_breaker (
  id            INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  state         TEXT NOT NULL CHECK (state IN ('active', 'paused')),
  reason        TEXT,
  paused_at     TEXT,
  next_probe_at TEXT,
  probe_count   INTEGER NOT NULL DEFAULT 0,
  suspect       TEXT,
  CHECK ((state = 'paused') = (next_probe_at IS NOT NULL))
) STRICT;

INSERT INTO circuit_breaker (id, state) VALUES (1, 'active');
