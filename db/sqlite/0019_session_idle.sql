-- A session also ends after a time without use. Sessions of an earlier release have none and end with the upgrade.
ALTER TABLE sessions ADD COLUMN last_used_at TEXT;
