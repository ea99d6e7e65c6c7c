import t from 'tap';
import { EMPLOYER } from '../support/payroll.ts';
import { click, open, openPayroll } from './runs-stage.ts';

t.test('a person approves a run on a phone, and another person then finalizes it', async (t) => {
  const { signedIn, put, call, personWith, run } = await openPayroll(t);
  await put('r', '2026-07-17');
  const body = { required: true, reason: 'a test' };
  await call({ method: 'PUT', url: `/v1/employers/${EMPLOYER}/second-approval`, body });
  const page = await signedIn({ token: await personWith('bob@example.com', 'all'), width: 390 });
  await open(page, '/runs/r/approve');
  await page.getByLabel('Reason').fill('reviewed');
  await click(page, 'Approve finalizing');
  await page.getByText('Approvals, newest first').waitFor();
  const token = await personWith('ann@example.com', 'all');
  t.equal((await call({ method: 'POST', url: '/v1/payroll-runs/r/finalize', token })).status, 200);
  t.match(await run('r'), { state: 'finalized', approved_by: { kind: 'token' } });
});
