-- What people decided about deductions whose start was moved before it began (payroll.md, "Corrected starts"): facts on the
-- ledger's positions. The last decision on a version applies.
CREATE TABLE start_decisions (
  position         BIGINT NOT NULL PRIMARY KEY,
  deduction_id     TEXT COLLATE "C" NOT NULL,
  version          INTEGER NOT NULL,
  version_position BIGINT NOT NULL,
  decision         TEXT COLLATE "C" NOT NULL CHECK (decision IN ('keep', 'drop')),
  reason           TEXT COLLATE "C" NOT NULL,
  decided_by       TEXT COLLATE "C" NOT NULL,
  recorded_at      TEXT COLLATE "C" NOT NULL
);

CREATE INDEX start_decisions_by_deduction ON start_decisions (deduction_id, position);
CREATE TRIGGER start_decisions_are_append_only BEFORE UPDATE OR DELETE ON start_decisions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER start_decisions_are_never_emptied BEFORE TRUNCATE ON start_decisions EXECUTE FUNCTION refuse_change();
