-- What people decided about deductions whose start was moved before it began (payroll.md, "Corrected starts"): facts on the
-- ledger's positions. The last decision on a version applies.
CREATE TABLE start_decisions (
  position         INTEGER NOT NULL PRIMARY KEY,
  deduction_id     TEXT    NOT NULL,
  version          INTEGER NOT NULL,
  version_position INTEGER NOT NULL,
  decision         TEXT    NOT NULL CHECK (decision = 'keep' OR decision = 'drop'),
  reason           TEXT    NOT NULL,
  decided_by       TEXT    NOT NULL,
  recorded_at      TEXT    NOT NULL
) STRICT;

CREATE INDEX start_decisions_by_deduction ON start_decisions (deduction_id, position);
CREATE TRIGGER start_decisions_are_never_changed BEFORE UPDATE ON start_decisions BEGIN SELECT RAISE(ABORT, 'start decisions are append-only'); END;
CREATE TRIGGER start_decisions_are_never_removed BEFORE DELETE ON start_decisions BEGIN SELECT RAISE(ABORT, 'start decisions are append-only'); END;
