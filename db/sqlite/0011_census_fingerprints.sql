-- The census of an employer that the service took last: 'uploaded_at' of one row. What it said is kept as keyed hashes
-- of each field, made with the hash key named here, so that it can be told what a newer census would change.
ALTER TABLE staged_censuses ADD COLUMN uploaded_at TEXT;
ALTER TABLE staged_censuses ADD COLUMN fingerprint_key TEXT;

CREATE UNIQUE INDEX staged_censuses_one_uploaded ON staged_censuses (employer_id) WHERE uploaded_at IS NOT NULL;

-- A row an employee, and one without an employee id for the organization. 'fields' has 8 bytes a field, in an order
-- that never changes.
CREATE TABLE census_fingerprints (
  census_id   TEXT NOT NULL,
  employee_id TEXT NOT NULL,
  fields      BLOB NOT NULL,
  PRIMARY KEY (census_id, employee_id)
) STRICT, WITHOUT ROWID;
