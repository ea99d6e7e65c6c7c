-- The payroll options of an employer, with history. A run uses the latest version whose effective_from is on or before its
-- pay date; of equal dates, the greatest version. `created_by` is the name of a token, null for the command line.
CREATE TABLE payroll_policies (
  employer_id    TEXT NOT NULL,
  version        INTEGER NOT NULL,
  effective_from TEXT NOT NULL,
  options        TEXT NOT NULL,
  created_at     TEXT NOT NULL,
  created_by     TEXT,
  PRIMARY KEY (employer_id, version)
) STRICT;

CREATE TRIGGER payroll_policies_are_never_changed BEFORE UPDATE ON payroll_policies BEGIN SELECT RAISE(ABORT, 'payroll policies are append-only'); END;
CREATE TRIGGER payroll_policies_are_never_removed BEFORE DELETE ON payroll_policies BEGIN SELECT RAISE(ABORT, 'payroll policies are append-only'); END;
