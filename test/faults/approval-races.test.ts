/** Approving, changing and finalizing a run at the same moment never finalizes unapproved lines. */
import type { Test } from 'tap';
import { RUNS, startPayroll } from '../api/payroll-stage.ts';
import { onEachEngine } from '../support/engine.ts';
import { deduct, EMPLOYER } from '../support/payroll.ts';
import fc from '../support/seeded.ts';

const RACES = 200;
const REASON = { reason: 'a test' };

onEachEngine('only approved lines become final, however approvals and changes race', async (t: Test) => {
  const { call, db, put, personWith } = await startPayroll(t);
  const [ann, bob] = [await personWith('ann', 'all'), await personWith('bob', 'all')];
  const post = (url: string, token: string, body: object, headers: Record<string, string> = {}) =>
    call({ method: 'POST', url, token, body, headers });
  const setting = `/v1/employers/${EMPLOYER}/second-approval`;
  await call({ method: 'PUT', url: setting, token: ann, body: { required: true, ...REASON } });
  const orders = fc.sample(fc.shuffledSubarray([0, 1, 2], { minLength: 3 }), RACES);
  let finalized = 0;
  for (let race = 0; race < RACES; race += 1) {
    const run = `${RUNS}/race-${race}`;
    await put(`race-${race}`);
    const etag = (await call({ url: `${run}/readiness` })).headers.etag as string;
    const approve = () =>
      post(`${run}/approval`, bob, { action: 'finalize', ...REASON }, { 'if-match': etag });
    const change = async () => {
      const sent = new Date(Date.UTC(2026, 1, 1) + race * 60_000).toISOString();
      await deduct(db, `evt-race-${race}`, { member_contribution: `${150 + race}.00` }, sent);
    };
    // Every other round approves first, and every third one changes nothing: SQLite decides most races in one way.
    if (race % 2 === 0) await approve();
    const finalize = async () => {
      const reviewed = (await call({ url: run })).headers.etag as string;
      return post(`${run}/finalize`, ann, {}, { 'if-match': reviewed });
    };
    const work = race % 3 === 0 ? [approve, finalize] : [approve, change, finalize];
    await Promise.all((orders[race] ?? []).map((place) => work[place]?.()));
    const { json } = await call({ url: run });
    if (json.state !== 'finalized') {
      t.equal((await call({ method: 'DELETE', url: run })).status, 204);
      continue;
    }
    finalized += 1;
    const { approvals } = (await call({ url: `${run}/approvals` })).json;
    const used = approvals.find(({ id }: { id: string }) => id === json.approval_id);
    t.match(used, { action: 'finalize', etag: json.etag, approved_by: json.approved_by });
    t.equal(`"${json.etag}`, etag.split('.')[0], 'the lines that were reviewed');
    await post(`${run}/approval`, bob, { action: 'void', ...REASON });
    t.equal((await post(`${run}/void`, ann, REASON)).status, 200);
  }
  t.ok(finalized > 0 && finalized < RACES, `${finalized} of ${RACES} were finalized`);
});
