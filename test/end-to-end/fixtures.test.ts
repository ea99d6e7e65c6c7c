/** The fixtures that users replay: each event ends in the state documented in its file. */
import { fileURLToPath } from 'node:url';
import { loadFixtures } from '../../src/simulator/events.ts';
import { onEachEngine } from '../support/engine.ts';
import { deliver } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';

onEachEngine(
  'every event of fixtures/ ends as applied, ignored or quarantined, as documented in its file',
  async (t) => {
    const fixtures = loadFixtures(fileURLToPath(new URL('../../fixtures', import.meta.url)));
    const stage = await setStage(t);
    const events = fixtures.map(({ id, body }) => ({ id, body: JSON.stringify(body) }));
    for (const event of events) {
      t.equal((await deliver(stage.sidecar.port, stage.keys.webhookSecret, event)).status, 204, event.id);
    }
    await stage.settled();
    for (const { id, file, becomes } of fixtures) {
      const { state, reason } = await stage.api.get(`/v1/events/${id}`);
      t.equal(state, becomes, file);
      t.equal(reason === null, becomes === 'applied', 'only applied events have no reason');
    }
    t.strictSame(await breaches({ databaseUrl: stage.databaseUrl, acknowledged: events }), []);
  },
);
