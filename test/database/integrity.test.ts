import BetterSqlite3 from 'better-sqlite3';
import { checkEngine, type EngineCheck } from '../../src/database/integrity.ts';
import { sqlitePath } from '../../src/database/open.ts';
import { deductionOf, receive } from '../api/deliver.ts';
import { differencesOf } from '../support/differences.ts';
import { onSqlite } from '../support/engine.ts';
import { open, scratch } from './scratch.ts';

onSqlite('a row that an index lacks is reported with its table', async (t) => {
  const { db, url } = await scratch(t);
  await receive(db, [deductionOf('e-1', {})]);
  const handle = new BetterSqlite3(sqlitePath(url));
  handle.unsafeMode(true);
  const another = "select rootpage from sqlite_schema where name = 'outbox_claimable'";
  handle.exec(`pragma writable_schema = on;
    update sqlite_schema set rootpage = (${another}) where name = 'inbox_pending'`);
  handle.close();
  let checks: EngineCheck[] = [];
  const differences = await differencesOf(async (on) => {
    checks = await checkEngine(open(t, url), on);
  });
  t.match(differences, [{ table: 'inbox', rule: 'is damaged, according to the database engine' }]);
  t.match(checks[0], { name: 'integrity_check', result: 'fail', detail: /^inbox: row 1 missing from index/ });
});
