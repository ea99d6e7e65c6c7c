/** What a sidecar did not compare before it was killed is told after its start. */
import t from 'tap';
import { CENSUS_SYNC_REQUEST } from '../../src/contract/events.ts';
import { json, stubService } from '../outbox/stub-service.ts';
import { eventually } from '../support/eventually.ts';
import { makeKeys } from '../support/settings.ts';
import { setStage } from '../support/stage.ts';

t.setTimeout(300_000);

t.test('readiness that changed is told after a kill', async (t) => {
  const { url, received } = await stubService(t, (response) => json(response, 204));
  const keys = makeKeys();
  const variables = {
    NOTIFY_URL: url,
    NOTIFY_SECRETS: keys.webhookSecret,
    NOTIFY_TYPES: 'census.needed readiness.changed',
  };
  const stage = await setStage(t, { keys, variables });
  const event_type = CENSUS_SYNC_REQUEST;
  const body = JSON.stringify({ event_type, data: { employer_id: 'acme' } });
  t.equal((await stage.send({ id: 'evt_1', body })).status, 204);
  const told = (type: string) =>
    received.map(({ body }) => JSON.parse(body)).find((notification) => notification.type === type);
  const isTold = (notification: unknown) => notification !== undefined;
  const needed = await eventually('the wait is told', () => told('census.needed'), isTold);
  t.match(needed, { data: { employer_id: 'acme', state: 'waiting', reason: 'no-census' } });
  await stage.sidecar.end('SIGKILL');
  await stage.start();
  const changed = await eventually('the readiness is told', () => told('readiness.changed'), isTold);
  t.match(changed, { data: { employer_id: 'acme', ready: false, failed_checks: ['census-syncs'] } });
});
