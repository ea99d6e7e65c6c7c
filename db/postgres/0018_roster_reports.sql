-- A row is one report by one source: a null is what the source did not state. effective_on is the date from which it counts,
-- if the caller stated one.
ALTER TABLE roster_facts ALTER COLUMN absent DROP NOT NULL;
ALTER TABLE roster_facts ADD COLUMN effective_on TEXT COLLATE "C";
