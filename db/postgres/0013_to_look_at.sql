-- What waits for a person, without what one has dismissed: counted each time that somebody looks at the overview or
-- metrics are read, so it must be found without going through all that was ever dismissed.
CREATE INDEX inbox_to_look_at ON inbox (seq) WHERE state = 'quarantined' AND dismissed_at IS NULL;
CREATE INDEX event_conflicts_to_look_at ON event_conflicts (event_id) WHERE dismissed_at IS NULL;
