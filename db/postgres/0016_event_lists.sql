-- Lists that people ask for, and that stay findable among millions of applied events. Both stay small.
CREATE INDEX inbox_ignored ON inbox (seq) WHERE state = 'ignored';
CREATE INDEX inbox_dismissed ON inbox (seq) WHERE dismissed_at IS NOT NULL;
