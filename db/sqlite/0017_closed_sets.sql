-- The same closed sets, spelled so that SQLite checks a row at once: for a list of more than two it builds a tree in memory,
-- for each row that is written, which takes as long as the row itself. It has no statement that changes a check, so the text
-- of the schema is changed, in the way that its documentation gives; the driver allows it from the first PRAGMA on, in this
-- transaction. No row is read or written. Any other version of the schema makes other connections read it again.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'state IN (''pending'', ''applied'', ''ignored'', ''quarantined'')', 'state = ''pending'' OR state = ''applied'' OR state = ''ignored'' OR state = ''quarantined''')
  WHERE type = 'table' AND name = 'inbox';
UPDATE sqlite_schema SET sql = replace(sql, 'decided_by IN (''created_at'', ''tie'', ''receipt'')', 'decided_by = ''created_at'' OR decided_by = ''tie'' OR decided_by = ''receipt''')
  WHERE type = 'table' AND name = 'deduction_versions';
UPDATE sqlite_schema SET sql = replace(sql, 'source IN (''census'', ''new-hire'', ''termination'', ''compensation-change'')', 'source = ''census'' OR source = ''new-hire'' OR source = ''termination'' OR source = ''compensation-change''')
  WHERE type = 'table' AND name = 'roster_facts';
UPDATE sqlite_schema SET sql = replace(sql, 'kind IN (''census'', ''new-hire'', ''termination'', ''demographic'', ''compensation-change'')', 'kind = ''census'' OR kind = ''new-hire'' OR kind = ''termination'' OR kind = ''demographic'' OR kind = ''compensation-change''')
  WHERE type = 'table' AND name = 'outbox';
UPDATE sqlite_schema SET sql = replace(sql, 'state IN (''pending'', ''sending'', ''delivered'', ''rejected'', ''cancelled'')', 'state = ''pending'' OR state = ''sending'' OR state = ''delivered'' OR state = ''rejected'' OR state = ''cancelled''')
  WHERE type = 'table' AND name = 'outbox';
UPDATE sqlite_schema SET sql = replace(sql, 'state IN (''staging'', ''current'', ''replaced'')', 'state = ''staging'' OR state = ''current'' OR state = ''replaced''')
  WHERE type = 'table' AND name = 'staged_censuses';
UPDATE sqlite_schema SET sql = replace(sql, 'state IN (''requested'', ''waiting'', ''uploaded'', ''completed'', ''failed'')', 'state = ''requested'' OR state = ''waiting'' OR state = ''uploaded'' OR state = ''completed'' OR state = ''failed''')
  WHERE type = 'table' AND name = 'census_syncs';
UPDATE sqlite_schema SET sql = replace(sql, 'state IN (''open'', ''finalized'', ''voided'')', 'state = ''open'' OR state = ''finalized'' OR state = ''voided''')
  WHERE type = 'table' AND name = 'payroll_runs';
PRAGMA schema_version = 1017;
PRAGMA writable_schema = RESET;
