-- The payroll options of an employer, with history. A run uses the latest version whose effective_from is on or before its
-- pay date; of equal dates, the greatest version. `created_by` is the name of a token, null for the command line.
CREATE TABLE payroll_policies (
  employer_id    TEXT COLLATE "C" NOT NULL,
  version        INTEGER NOT NULL,
  effective_from TEXT COLLATE "C" NOT NULL,
  options        TEXT COLLATE "C" NOT NULL,
  created_at     TEXT COLLATE "C" NOT NULL,
  created_by     TEXT COLLATE "C",
  PRIMARY KEY (employer_id, version)
);

CREATE TRIGGER payroll_policies_are_append_only BEFORE UPDATE OR DELETE ON payroll_policies FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payroll_policies_are_never_emptied BEFORE TRUNCATE ON payroll_policies EXECUTE FUNCTION refuse_change();
