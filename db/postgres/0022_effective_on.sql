-- The date from which an employment change counts for payroll, if the caller stated one. It is not part of the body.
ALTER TABLE outbox ADD COLUMN effective_on TEXT COLLATE "C";
