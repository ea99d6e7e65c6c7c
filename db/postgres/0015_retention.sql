-- What is kept for a while only. In the place of an event's body that was dropped stands its SHA-256, so that a duplicate
-- and a conflict are still told apart; an event that somebody may have to look at, or apply, keeps its body.
ALTER TABLE inbox ALTER COLUMN body DROP NOT NULL;
ALTER TABLE inbox ADD COLUMN body_hash BYTEA CHECK ((body IS NULL) = (body_hash IS NOT NULL) AND (body IS NOT NULL OR state IN ('applied', 'ignored')));
ALTER TABLE event_conflicts ALTER COLUMN body DROP NOT NULL;
ALTER TABLE event_conflicts ADD CONSTRAINT event_conflicts_keep_bodies CHECK (body IS NOT NULL OR dismissed_at IS NOT NULL);

-- When the attempts of a delivered or cancelled request, and what the service had answered to it, were erased.
ALTER TABLE outbox ADD COLUMN erased_at TEXT COLLATE "C" CHECK (erased_at IS NULL OR state IN ('delivered', 'cancelled'));
CREATE INDEX outbox_to_erase ON outbox (finished_at) WHERE finished_at IS NOT NULL AND erased_at IS NULL;

-- Up to which event, in order of receipt, bodies were looked at. Whoever changes an event before it, so that its body
-- may be dropped after all, sets it back.
CREATE TABLE retention (
  one            INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  events_through BIGINT NOT NULL
);

INSERT INTO retention (one, events_through) VALUES (1, 0);
