/** The fixtures that users replay: each event ends in the state documented in its file. */
import { loadFixtures } from '../../src/simulator/events.ts';
import { deliver } from '../api/deliver.ts';
import { start } from '../api/start.ts';
import { FIXTURES } from '../cli/harness.ts';
import { onEachEngine } from '../support/engine.ts';
import { breaches } from '../support/oracle.ts';

onEachEngine('every event of fixtures/ ends in the state that its file documents', async (t) => {
  const fixtures = loadFixtures(FIXTURES);
  const { db, url, call } = await start(t);
  const events = fixtures.map(({ id, body }) => ({ id, body: JSON.stringify(body) }));
  await deliver(
    db,
    events.map(({ id, body }) => ({ eventId: id, body: Buffer.from(body) })),
  );
  for (const { id, file, becomes } of fixtures) {
    const { state, reason } = (await call({ url: `/v1/events/${id}` })).json;
    t.equal(state, becomes, file);
    t.equal(reason === null, becomes === 'applied', 'only applied events have no reason');
  }
  t.strictSame(await breaches({ databaseUrl: url, acknowledged: events }), []);
});
