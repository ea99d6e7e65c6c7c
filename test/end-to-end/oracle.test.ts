/** Tests the oracle: each breach that it must find is created and found. */
import { CompiledQuery } from 'kysely';
import { loadFixtures } from '../../src/simulator/events.ts';
import { deliver } from '../api/deliver.ts';
import { start } from '../api/start.ts';
import { FIXTURES } from '../cli/harness.ts';
import { scratch } from '../database/scratch.ts';
import { onEachEngine } from '../support/engine.ts';
import { type Event, eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';

const deliveryOf = ({ id, body }: Event) => ({ eventId: id, body: Buffer.from(body) });

/** Where stored text is found, and how the trigger that keeps versions from being changed is dropped. */
const OF_ENGINE = {
  sqlite: {
    place: 'the database-wal',
    unguard: ['changed', 'removed'].map((end) => `drop trigger deduction_versions_are_never_${end}`),
  },
  postgres: {
    place: 'the table inbox',
    unguard: ['drop trigger deduction_versions_are_append_only on deduction_versions'],
  },
};

/** What the oracle finds, and the statement that causes it. */
const SPOILT = {
  'differs from the events':
    "update deduction_versions set member_contribution = '0' where position = (select max(position) from deduction_versions)",
  'is a gap in the positions': 'update ledger_head set position = position + 1',
  'counts its versions wrongly': 'update deductions set version_count = version_count + 1',
  'is not the greatest of its deduction': 'update deductions set position = 1 where position > 1',
  'has versions and no latest state': "delete from deductions where deduction_id = 'ded-5'",
  'has a latest state and no versions':
    "update deductions set deduction_id = 'ded-none' where deduction_id = 'ded-6'",
  'msg_judged_7.* is applied and took no effect':
    "delete from deduction_versions where event_id = 'msg_judged_7'",
  'msg_judged_19.* is applied and took no effect':
    "delete from census_syncs where event_id = 'msg_judged_19'",
  'msg_judged_1".* took effect and is not applied':
    "update inbox set state = 'ignored' where event_id = 'msg_judged_1'",
  'msg_judged_2".* has not ended':
    "update inbox set state = 'pending', finished_at = null where event_id = 'msg_judged_2'",
  'msg_judged_3.* took effect and is not stored': "delete from inbox where event_id = 'msg_judged_3'",
};

onEachEngine('a correct ledger has no breaches, and each breach is found', async (t, engine) => {
  const { place, unguard } = OF_ENGINE[engine];
  const { db, url: databaseUrl } = await scratch(t);
  const acknowledged = Array.from({ length: 120 }, (_, index) => eventOf('judged', index));
  await deliver(db, acknowledged.map(deliveryOf));
  const verdict = (others: object = {}) => breaches({ databaseUrl, acknowledged, ...others });
  t.strictSame(await verdict(), []);

  const lost = eventOf('judged', 120);
  t.match(await verdict({ acknowledged: [lost] }), [/^msg_judged_120 is acknowledged and not stored/]);
  const altered = { id: 'msg_judged_0', body: '{}' };
  t.match(await verdict({ acknowledged: [altered] }), [/^msg_judged_0 is acknowledged and not stored/]);
  t.strictSame(await verdict({ secrets: ['"member_contribution"'] }), [`secret 0 is in ${place}`]);
  t.strictSame(await verdict({ secrets: ['hush'], outputs: ['', 'a hush b'] }), ['secret 0 is in output 1']);

  const run = (text: string) => db.transaction().execute((trx) => trx.executeQuery(CompiledQuery.raw(text)));
  for (const text of unguard) await run(text);
  for (const [finding, spoil] of Object.entries(SPOILT)) {
    await run(spoil);
    const found = await verdict();
    t.ok(
      found.some((breach) => new RegExp(finding).test(breach)),
      `${finding}: ${found.join('; ')}`,
    );
  }
});

onEachEngine('every event of fixtures/ ends in the state that its file documents', async (t) => {
  const fixtures = loadFixtures(FIXTURES);
  const { db, url, call } = await start(t);
  const events = fixtures.map(({ id, body }) => ({ id, body: JSON.stringify(body) }));
  await deliver(db, events.map(deliveryOf));
  for (const { id, file, becomes } of fixtures) {
    const { state, reason } = (await call({ url: `/v1/events/${id}` })).json;
    t.equal(state, becomes, file);
    t.equal(reason === null, becomes === 'applied', 'only applied events have no reason');
  }
  t.strictSame(await breaches({ databaseUrl: url, acknowledged: events }), []);
});
