/** A kill between the commit of a notification and its delivery, and a receiver that hangs. */
import t from 'tap';
import { json, stubService } from '../outbox/stub-service.ts';
import { onEachEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { eventOf } from '../support/load.ts';
import { makeKeys } from '../support/settings.ts';
import { setStage } from '../support/stage.ts';

t.setTimeout(300_000);

onEachEngine(
  'a notification survives SIGKILL and arrives with its id, and a hung receiver delays no event',
  async (t) => {
    let hangs = true;
    const { url, received } = await stubService(t, (response) => {
      if (!hangs) json(response, 204);
    });
    const keys = makeKeys();
    const variables = {
      NOTIFY_URL: url,
      NOTIFY_SECRETS: keys.webhookSecret,
      NOTIFY_TYPES: 'notification.test',
    };
    const stage = await setStage(t, { keys, variables });
    const told = await stage.api.call('POST', '/v1/notifications/test');
    t.equal(told.status, 202);
    await eventually('the attempt arrives', () => received.length, 1);
    t.equal((await stage.send(eventOf('hung', 0))).status, 204);
    await stage.settled();
    t.equal(received.length, 1, 'the event was applied during the attempt');
    await stage.sidecar.end('SIGKILL');

    hangs = false;
    await stage.start();
    const [notification] = await eventually(
      'it is delivered',
      async () => (await stage.api.get('/v1/notifications')).data,
      ([one]) => one.state === 'delivered',
    );
    t.strictSame(
      received.map(({ headers }) => headers['webhook-id']),
      [notification.id, notification.id],
    );
  },
);
