/** Tests the oracle: each breach that it must find is created and found. */
import { CompiledQuery } from 'kysely';
import { loadFixtures } from '../../src/simulator/events.ts';
import { deliver } from '../api/deliver.ts';
import { start } from '../api/start.ts';
import { FIXTURES } from '../cli/harness.ts';
import { scratch } from '../database/scratch.ts';
import { onEachEngine } from '../support/engine.ts';
import { eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';

/** Where stored text is found, and how the trigger that keeps versions from being changed is dropped. */
const OF_ENGINE = {
  sqlite: {
    place: 'the database-wal',
    unguard: [
      'drop trigger deduction_versions_are_never_changed',
      'drop trigger deduction_versions_are_never_removed',
    ],
  },
  postgres: {
    place: 'the table inbox',
    unguard: ['drop trigger deduction_versions_are_append_only on deduction_versions'],
  },
};

onEachEngine('a correct ledger has no breaches, and each breach is found', async (t, engine) => {
  const { place, unguard } = OF_ENGINE[engine];
  const { db, url: databaseUrl } = await scratch(t);
  const acknowledged = Array.from({ length: 120 }, (_, index) => eventOf('judged', index));
  const deliveries = acknowledged.map(({ id, body }) => ({ eventId: id, body: Buffer.from(body) }));
  await deliver(db, deliveries);
  const verdict = (others: object = {}) => breaches({ databaseUrl, acknowledged, ...others });
  t.strictSame(await verdict(), []);

  const lost = eventOf('judged', 120);
  t.match(await verdict({ acknowledged: [lost] }), [/^msg_judged_120 is acknowledged and not stored/]);
  const altered = { id: 'msg_judged_0', body: '{}' };
  t.match(await verdict({ acknowledged: [altered] }), [/^msg_judged_0 is acknowledged and not stored/]);
  t.strictSame(await verdict({ secrets: ['"member_contribution"'] }), [`secret 0 is in ${place}`]);
  t.strictSame(await verdict({ secrets: ['hush'], outputs: ['', 'a hush b'] }), ['secret 0 is in output 1']);

  const spoiled = async (spoil: string, finding: RegExp): Promise<void> => {
    await db.transaction().execute((trx) => trx.executeQuery(CompiledQuery.raw(spoil)));
    const found = await verdict();
    const isFound = found.some((breach) => finding.test(breach));
    t.ok(isFound, `${spoil}: ${found.join('; ')}`);
  };
  for (const text of unguard)
    await db.transaction().execute((trx) => trx.executeQuery(CompiledQuery.raw(text)));
  const last = '(select max(position) from deduction_versions)';
  await spoiled(
    `update deduction_versions set member_contribution = '0' where position = ${last}`,
    /differs from the events/,
  );
  await spoiled('update ledger_head set position = position + 1', /is a gap in the positions/);
  await spoiled('update deductions set version_count = version_count + 1', /counts its versions wrongly/);
  await spoiled(
    `update deductions set position = 1 where position > 1`,
    /is not the greatest of its deduction/,
  );
  await spoiled(`delete from deductions where deduction_id = 'ded-5'`, /has versions and no latest state/);
  await spoiled(
    `update deductions set deduction_id = 'ded-none' where deduction_id = 'ded-6'`,
    /has a latest state and no versions/,
  );
  await spoiled(
    `delete from deduction_versions where event_id = 'msg_judged_7'`,
    /msg_judged_7.* is applied and took no effect/,
  );
  await spoiled(
    `delete from census_syncs where event_id = 'msg_judged_19'`,
    /msg_judged_19.* is applied and took no effect/,
  );
  await spoiled(
    "update inbox set state = 'ignored' where event_id = 'msg_judged_1'",
    /msg_judged_1".* took effect and is not applied/,
  );
  await spoiled(
    "update inbox set state = 'pending', finished_at = null where event_id = 'msg_judged_2'",
    /msg_judged_2".* has not ended/,
  );
  await spoiled(
    "delete from inbox where event_id = 'msg_judged_3'",
    /msg_judged_3.* took effect and is not stored/,
  );
});

onEachEngine('every event of fixtures/ ends in the state that its file documents', async (t) => {
  const fixtures = loadFixtures(FIXTURES);
  const { db, url, call } = await start(t);
  const events = fixtures.map(({ id, body }) => ({ id, body: JSON.stringify(body) }));
  const deliveries = events.map(({ id, body }) => ({ eventId: id, body: Buffer.from(body) }));
  await deliver(db, deliveries);
  for (const { id, file, becomes } of fixtures) {
    const { state, reason } = (await call({ url: `/v1/events/${id}` })).json;
    t.equal(state, becomes, file);
    t.equal(reason === null, becomes === 'applied', 'only applied events have no reason');
  }
  t.strictSame(await breaches({ databaseUrl: url, acknowledged: events }), []);
});
