/** The judge is judged: each thing that it promises to find is put there and found. */
import BetterSqlite3 from 'better-sqlite3';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { deliver } from '../api/deliver.ts';
import { scratch } from '../database/scratch.ts';
import { eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';

t.test('a good ledger has no breaches, and each breach is found', async (t) => {
  const { db, url } = await scratch(t);
  const databaseFile = sqlitePath(url);
  const acknowledged = Array.from({ length: 120 }, (_, index) => eventOf('judged', index));
  await deliver(
    db,
    acknowledged.map(({ id, body }) => ({ eventId: id, body: Buffer.from(body) })),
  );
  const verdict = (others: object = {}) => breaches({ databaseFile, acknowledged, ...others });
  t.strictSame(verdict(), []);

  const lost = eventOf('judged', 120);
  t.match(verdict({ acknowledged: [lost] }), [/^msg_judged_120 is acknowledged and not stored/]);
  const altered = { id: 'msg_judged_0', body: '{}' };
  t.match(verdict({ acknowledged: [altered] }), [/^msg_judged_0 is acknowledged and not stored/]);
  t.strictSame(verdict({ secrets: ['member_contribution'] }), ['secret 0 is in the database-wal']);
  t.strictSame(verdict({ secrets: ['hush'], outputs: ['', 'a hush b'] }), ['secret 0 is in output 1']);

  const handle = new BetterSqlite3(databaseFile);
  t.teardown(() => handle.close());
  handle.exec('drop trigger versions_are_never_changed; drop trigger versions_are_never_removed');
  const spoiled = (spoil: string, finding: RegExp): void => {
    handle.exec(spoil);
    t.ok(
      verdict().some((breach) => finding.test(breach)),
      `${spoil}: ${verdict().join('; ')}`,
    );
  };
  const last = '(select max(position) from versions)';
  spoiled(
    `update versions set member_contribution = '0' where position = ${last}`,
    /is not what the events say/,
  );
  spoiled('update ledger_head set position = position + 1', /is a gap in the positions/);
  spoiled('update deductions set versions = versions + 1', /counts its versions wrongly/);
  spoiled(`update deductions set position = 1 where position > 1`, /is not the greatest of its deduction/);
  spoiled(`delete from deductions where deduction_id = 'ded-5'`, /has versions and no latest state/);
  spoiled(
    `delete from versions where event_id = 'msg_judged_7'`,
    /msg_judged_7.* is applied and took no effect/,
  );
  spoiled(
    `delete from census_syncs where event_id = 'msg_judged_19'`,
    /msg_judged_19.* is applied and took no effect/,
  );
  spoiled(
    "update inbox set state = 'ignored' where event_id = 'msg_judged_1'",
    /msg_judged_1".* took effect and is not applied/,
  );
  spoiled(
    "update inbox set state = 'pending', finished_at = null where event_id = 'msg_judged_2'",
    /msg_judged_2".* has not ended/,
  );
  spoiled(
    "delete from inbox where event_id = 'msg_judged_3'",
    /msg_judged_3.* took effect and is not stored/,
  );
});
