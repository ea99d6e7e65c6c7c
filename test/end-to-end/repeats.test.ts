/** Duplicate ids and equal times: which event wins, and how the console and readiness show it. */
import { onEachEngine } from '../support/engine.ts';
import { deliver, eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';

onEachEngine('an event delivered again', async (t) => {
  const { api, databaseUrl, settled, sidecar, keys } = await setStage(t);
  const send = (event: ReturnType<typeof eventOf>) => deliver(sidecar.port, keys.webhookSecret, event);

  await t.test(
    'an event delivered 200 times at once has one row and one effect, and every delivery is acknowledged',
    async (t) => {
      const [deduction, request] = [eventOf('again', 0), eventOf('again', 19)];
      const copies = Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? deduction : request));
      const answers = await Promise.all(copies.map(send));
      t.strictSame(
        answers.filter(({ status }) => status !== 204),
        [],
      );
      await settled();
      t.equal((await send(deduction)).status, 204, 'a later duplicate changes nothing');
      await settled();
      t.equal((await api.list('/v1/events')).length, 2);
      t.equal((await api.list('/v1/deduction-versions')).length, 1);
      t.equal((await api.list('/v1/census-syncs')).length, 1);
      t.strictSame(await breaches({ databaseUrl, acknowledged: [deduction, request] }), []);
    },
  );

  await t.test(
    'a second body under the same id is acknowledged and shown, and the first one is kept',
    async (t) => {
      const first = eventOf('conflict', 1);
      const second = { ...first, body: first.body.replace('0.01', '9999.00') };
      for (const event of [first, second, second]) t.equal((await send(event)).status, 204);
      await settled();
      t.match(await api.check('events-in-conflict'), { result: 'fail', count: 1, examples: [first.id] });
      const shown = await api.get(`/v1/events/${first.id}`);
      t.match(shown, { state: 'applied', body: first.body, conflicts: { open: true, stored: 1 } });
      t.match(await api.list(`/v1/events/${first.id}/conflicts`), [{ body: second.body }]);
      t.equal((await api.get('/v1/deductions/ded-1')).member_contribution, '0.01');
      t.strictSame(await breaches({ databaseUrl, acknowledged: [first] }), []);

      const dismissed = await api.call('POST', `/v1/events/${first.id}/dismiss`, {
        reason: 'asked the service',
      });
      t.equal(dismissed.status, 200);
      t.match(await api.check('events-in-conflict'), { result: 'pass' });
    },
  );

  await t.test(
    'if two events have the same time the later received one wins, and readiness shows the tie',
    async (t) => {
      const at = (index: number, amount: string) => {
        const { id, body } = eventOf('tie', index);
        const event = { ...JSON.parse(body), created_at: '2026-02-01T10:00:00Z' };
        Object.assign(event.data, { id: 'ded-tied', employee_id: 'emp-tied', member_contribution: amount });
        return { id, body: JSON.stringify(event) };
      };
      const events = [at(0, '10.00'), at(1, '10.00'), at(2, '12.00')];
      for (const event of events) t.equal((await send(event)).status, 204);
      await settled();
      t.equal((await api.get('/v1/deductions/ded-tied')).member_contribution, '12.00');
      t.match(await api.check('ties-changed-content'), { result: 'fail', count: 1 });
      const { data } = await api.get('/v1/deductions/ded-tied/versions');
      t.strictSame(
        data.map((version: { ordered_by: string }) => version.ordered_by),
        ['created_at', 'tie', 'tie'],
      );
      t.strictSame(await breaches({ databaseUrl, acknowledged: events }), []);
    },
  );
});
