-- The name by which an employer's census or hire last called each employee, encrypted, and when that report was received: an
-- older one replaces nothing.
CREATE TABLE employee_names (
  employer_id TEXT NOT NULL,
  employee_id TEXT NOT NULL,
  noted_at    TEXT NOT NULL,
  ciphertext  BYTEA NOT NULL,
  PRIMARY KEY (employer_id, employee_id)
);

CREATE INDEX employee_names_of_employee ON employee_names (employee_id);

-- How many names an employer has and when the newest came, which the index of the search compares.
CREATE INDEX employee_names_of_employer ON employee_names (employer_id, noted_at);
