/** The archive with the evidence for a payroll run, as the `tar` of the system reads it. */
import { execFileSync } from 'node:child_process';
import type { Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import type { ReceivedEvent } from '../../src/inbox/events.ts';
import { sha256 } from '../../src/inbox/inbox.ts';
import { acceptancesWith, insertAcceptances } from '../../src/payroll/lifecycle/acceptances.ts';
import { readsOf } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { EMPLOYER } from '../support/payroll.ts';
import { startPayroll } from './payroll-stage.ts';

const FILES = [
  ...['README.md', 'run.json', 'lines/00001.ndjson', 'versions/00001.ndjson', 'events/00001.ndjson'],
  ...['accepted-findings.ndjson', 'approvals.ndjson', 'audit-records.ndjson', 'audit-head.txt'],
];

const tar = (archive: Buffer, ...argv: string[]) =>
  execFileSync('tar', argv, { input: archive, encoding: 'utf8' });

const rowsOf = (archive: Buffer, name: string) =>
  tar(archive, '-xOf', '-', name)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

onEitherEngine('the evidence for a run leads from each line to its event', async (t: Test) => {
  const { call, get, finalized, personWith, db } = await startPayroll(t);
  const run = await finalized('r');
  await call({
    ...{ method: 'POST', url: '/v1/payroll-runs/r/approval', token: await personWith('ann', 'all') },
    body: { action: 'void', reason: 'reviewed' },
  });
  const before = (await readsOf(db)).length;
  const { status, text, headers } = await call({ url: '/v1/payroll-runs/r/evidence' });
  const bytes = Buffer.from(text);
  t.equal(status, 200);
  t.equal(headers['content-disposition'], 'attachment; filename="evidence-r.tar"');
  t.strictSame(tar(bytes, '-tf', '-').trim().split('\n'), FILES);
  const lines = rowsOf(bytes, 'lines/00001.ndjson');
  const versions = rowsOf(bytes, 'versions/00001.ndjson');
  const events: ReceivedEvent[] = rowsOf(bytes, 'events/00001.ndjson');
  t.equal(lines.length, run.json.totals.lines);
  for (const { deduction_id, version, explanation } of lines) {
    t.ok(explanation);
    const stored = versions.find((row) => row.deduction_id === deduction_id && row.version === version);
    const event = events.find(({ id }) => id === stored?.event_id);
    t.equal(event?.sha256, sha256(Buffer.from(event?.body ?? '')).toString('hex'));
    t.match(event?.body, `"${deduction_id}"`);
  }
  const approvals = rowsOf(bytes, 'approvals.ndjson');
  t.match(approvals, [{ run_id: 'r', action: 'void', reason: 'reviewed', approved_by: { kind: 'token' } }]);
  const listed = (await get('/r/approvals')).json.approvals;
  t.strictSame(
    approvals.map((approval) => ({ ...approval, is_yours: false, no_longer_counts: null })),
    listed,
  );
  t.match(rowsOf(bytes, 'audit-records.ndjson'), [
    { action: 'run.create' },
    { action: 'run.finalize' },
    { action: 'run.approve' },
    { action: 'run.read' },
  ]);
  t.match((await readsOf(db)).slice(before), [
    { action: 'run.read', resource_id: 'r', employer_id: EMPLOYER },
  ]);
});

onEitherEngine(
  'the evidence has no bodies without the scopes, or if the caller wants none',
  async (t: Test) => {
    const { call, put, finalized, tokenWith, db } = await startPayroll(t);
    await finalized('r');
    const token = await tokenWith('runs:read', 'events:read');
    const before = (await readsOf(db)).length;
    const url = '/v1/payroll-runs/r/evidence';
    for (const request of [{ url, token }, { url: `${url}?personal_data=false` }]) {
      const { text } = await call(request);
      const bytes = Buffer.from(text);
      const events: ReceivedEvent[] = rowsOf(bytes, 'events/00001.ndjson');
      t.ok(events.length > 0);
      for (const { sha256: hash, body } of events) {
        t.match(hash, /^[0-9a-f]{64}$/);
        t.equal(body, null);
      }
    }
    t.match(await call({ url: `${url}?personal_data=true`, token }), { status: 403, text: /pii:read/ });
    t.equal((await readsOf(db)).length, before);
    await put('open', { pay_date: '2026-07-31', period_start: '2026-07-11', period_end: '2026-07-24' });
    t.match(await call({ url: '/v1/payroll-runs/open/evidence' }), { status: 409 });
    t.match(await call({ url: '/v1/payroll-runs/unknown/evidence' }), { status: 404 });
  },
);

onEitherEngine(
  'a limited token sees accepted findings of the whole ledger without their facts',
  async (t) => {
    const { call, finalized, tokenFor, db, logged } = await startPayroll(t);
    await finalized('r');
    const findings = ['events-quarantined', 'overlap'].map((checkId) => ({
      ...{ checkId, employeeId: `e-${checkId}`, ids: [`id-${checkId}`] },
      finding: { check: checkId, text: 'other-employer', employee_id: `e-${checkId}` },
      ...{ result: 'fail' as const, recordId: 1 },
    }));
    const run = { runId: 'r', employerId: EMPLOYER };
    await transact(db, async (trx) =>
      insertAcceptances(trx, (await acceptancesWith(trx, run, findings)).rows),
    );
    const token = await tokenFor([EMPLOYER], 'runs:read');
    const shown = async (path: string, as?: string) =>
      (await call({ url: path, ...(as && { token: as }) })).text;
    for (const path of ['/v1/payroll-runs/r/evidence', '/v1/payroll-runs/r/findings']) {
      t.match(await shown(path), /other-employer.*"accepted_by":\{"kind"/s);
      const limited = await shown(path, token);
      t.match(limited, /id-overlap/);
      t.notMatch(limited, /other-employer|id-events|e-events/);
    }
    const other = await tokenFor(['other-employer'], 'runs:read');
    t.equal((await call({ url: '/v1/payroll-runs/r', token: other })).status, 404);
    const probe = {
      message: 'a caller was refused',
      fields: { status: 404, route: 'GET /v1/payroll-runs/:run_id' },
    };
    t.match(logged.at(-1), probe, 'a probe of an id of another employer leaves a line');
  },
);
