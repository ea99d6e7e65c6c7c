-- A finalize that is repeated with its idempotency key returns the run. The key is kept as a SHA-256 hash.
ALTER TABLE payroll_runs ADD COLUMN finalize_key TEXT;

-- Weekly and biweekly checks may share a pay date. A run without a pay group conflicts with every group, which is checked
-- under the lock of payroll_head.
DROP INDEX payroll_runs_one_finalized;
CREATE UNIQUE INDEX payroll_runs_one_finalized ON payroll_runs (employer_id, pay_frequency, coalesce(pay_group, ''), pay_date) WHERE state = 'finalized' AND kind = 'regular';
