-- Finds what a late event ties with: the versions of its deduction at its own event time. The time comes first because
-- events arrive roughly in that order, so entries are appended near the end of the index; with the random deduction id
-- first, applying an event costs about a third more (docs/decisions/0017-history-as-a-chain.md).
CREATE INDEX deduction_versions_by_time ON deduction_versions (event_time, deduction_id, position);
