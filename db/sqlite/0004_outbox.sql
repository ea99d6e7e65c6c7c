-- Requests owed to the benefits service. `head` marks the one request of a subject that may be sent next, so that
-- claiming is cheap at any backlog; `holding` marks a rejected new hire whose later changes wait for an operator.
-- Bodies and responses are encrypted; `body_hash` is keyed and outlives the body. `effective_on` is the date from which
-- an employment change counts for payroll, if the caller stated one; it is not part of the body.
CREATE TABLE outbox (
  seq                   INTEGER NOT NULL PRIMARY KEY,
  request_id            TEXT NOT NULL UNIQUE,
  kind                  TEXT NOT NULL CHECK (kind = 'census' OR kind = 'new-hire' OR kind = 'termination' OR kind = 'demographic' OR kind = 'compensation-change'),
  subject               TEXT NOT NULL,
  state                 TEXT NOT NULL CHECK (state = 'pending' OR state = 'sending' OR state = 'delivered' OR state = 'rejected' OR state = 'canceled'),
  head                  INTEGER NOT NULL CHECK (head IN (0, 1)),
  holding               INTEGER NOT NULL DEFAULT 0 CHECK (holding IN (0, 1)),
  due_at                TEXT NOT NULL,
  body                  BLOB,
  body_hash             BLOB,
  attempts              INTEGER NOT NULL DEFAULT 0,
  claimed_by            TEXT,
  lease_until           TEXT,
  unknown_outcome       INTEGER NOT NULL DEFAULT 0 CHECK (unknown_outcome IN (0, 1)),
  may_have_been_applied INTEGER NOT NULL DEFAULT 0 CHECK (may_have_been_applied IN (0, 1)),
  status                INTEGER,
  reason                TEXT,
  answer                BLOB,
  created_at            TEXT NOT NULL,
  finished_at           TEXT,
  erased_at             TEXT CHECK (erased_at IS NULL OR state IN ('delivered', 'canceled')),
  effective_on          TEXT,
  CHECK ((state = 'sending') = (claimed_by IS NOT NULL)),
  CHECK ((claimed_by IS NULL) = (lease_until IS NULL)),
  CHECK ((state IN ('pending', 'sending')) = (finished_at IS NULL)),
  CHECK (state IN ('pending', 'sending') OR head = 0),
  CHECK (state <> 'sending' OR head = 1),
  CHECK (state = 'rejected' OR holding = 0)
) STRICT;

CREATE INDEX outbox_claimable ON outbox (due_at, seq) WHERE state = 'pending' AND head = 1;
CREATE INDEX outbox_leased ON outbox (lease_until) WHERE state = 'sending';
CREATE INDEX outbox_by_subject ON outbox (subject, seq);
CREATE INDEX outbox_unfinished ON outbox (subject, seq) WHERE finished_at IS NULL;
CREATE INDEX outbox_unfinished_in_order ON outbox (seq) WHERE finished_at IS NULL;
CREATE INDEX outbox_holding ON outbox (subject) WHERE holding = 1;
CREATE INDEX outbox_rejected ON outbox (seq) WHERE state = 'rejected';
CREATE INDEX outbox_to_erase ON outbox (finished_at) WHERE finished_at IS NOT NULL AND erased_at IS NULL;
CREATE UNIQUE INDEX outbox_one_head_per_subject ON outbox (subject) WHERE head = 1;
CREATE UNIQUE INDEX outbox_one_pending_census ON outbox (subject) WHERE kind = 'census' AND state = 'pending';

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
CREATE TABLE circuit_breaker (
  one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  state    TEXT NOT NULL CHECK (state IN ('active', 'paused')),
  reason   TEXT,
  since    TEXT,
  probe_at TEXT,
  probes   INTEGER NOT NULL DEFAULT 0,
  CHECK ((state = 'paused') = (probe_at IS NOT NULL))
) STRICT;

INSERT INTO circuit_breaker (one, state) VALUES (1, 'active');
