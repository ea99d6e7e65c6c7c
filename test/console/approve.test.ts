import t from 'tap';
import { click, openPayroll } from './runs-stage.ts';
import { assertGood } from './stage.ts';

t.test('one person requires a second approval, and two persons stop requiring it', async (t) => {
  const { opened, personWith, call } = await openPayroll(t);
  const setting = async () => (await call({ url: '/v1/employers/acme/second-approval' })).json;
  const ann = await opened('/settings?employer_id=acme', {
    token: await personWith('ann@example.com', 'all'),
  });
  await ann.getByLabel('Reason').fill('audit');
  await click(ann, 'Require a second approval');
  await ann.getByText('Another person must approve each run').waitFor();
  await ann.getByLabel('Reason').fill('the audit is over');
  await click(ann, 'Request to stop requiring it');
  await ann.getByText('Stop requested by').waitFor();
  t.match(await setting(), { required: true, switching_off: { requested_by: { kind: 'token' } } });
  await assertGood(t, ann, 'settings with a request');
  const program = await opened('/settings?employer_id=acme');
  await program.getByText('your token names none').waitFor();
  const bob = await opened('/settings?employer_id=acme', {
    token: await personWith('bob@example.com', 'all'),
  });
  await bob.getByLabel('Reason').fill('agreed');
  await click(bob, 'Stop requiring it');
  await bob.getByText('finalized and voided by one person').waitFor();
  t.match(await setting(), { required: false, switching_off: null });
});
