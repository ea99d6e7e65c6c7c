-- The audit log: who was shown personal data, when, of what, and whose. `subject` is an employee or an employer, as in
-- the outbox. A token's name is kept beside its id: the configuration's own token is in no table.
CREATE TABLE pii_reads (
  seq        INTEGER NOT NULL PRIMARY KEY,
  read_at    TEXT    NOT NULL,
  token_id   TEXT    NOT NULL,
  token_name TEXT    NOT NULL,
  what       TEXT    NOT NULL CHECK (what IN ('change', 'census')),
  what_id    TEXT    NOT NULL,
  subject    TEXT    NOT NULL
) STRICT;

CREATE TRIGGER pii_reads_are_never_changed BEFORE UPDATE ON pii_reads BEGIN SELECT RAISE(ABORT, 'pii_reads are append-only'); END;
CREATE TRIGGER pii_reads_are_never_removed BEFORE DELETE ON pii_reads BEGIN SELECT RAISE(ABORT, 'pii_reads are append-only'); END;

-- What is not finished yet, in its order: a list that people ask for, and that stays findable among millions of others.
CREATE INDEX outbox_unfinished_in_order ON outbox (seq) WHERE finished_at IS NULL;
