/** The export of an employer over HTTP: who may, what it records, and what a client that goes away leaves behind. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { sql } from 'kysely';
import { insertRows } from '../../src/database/bulk.ts';
import { transact } from '../../src/database/transaction.ts';
import { engineOf, onEitherEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { EMPLOYER, employ } from '../support/payroll.ts';
import { startPayroll } from './payroll-stage.ts';
import { FIRST_TOKEN } from './start.ts';

const URL = `/v1/employers/${EMPLOYER}/export`;
const BOTH = ['audit:read', 'runs:read'];

onEitherEngine('an export is a tar that is recorded before it starts', async (t) => {
  const { call, finalized, tokenWith, tokenFor, db } = await startPayroll(t);
  await finalized('r');
  await employ(db, 'elsewhere', { employer_id: 'globex' });
  const exported = async (token: string, query = '', employer = EMPLOYER) =>
    call({ method: 'POST', url: `/v1/employers/${employer}/export${query}`, token });
  const records = async () =>
    (await db.selectFrom('audit_records').selectAll().orderBy('record_id').execute()).filter(
      ({ action }) => action === 'employer.export',
    );
  const tokens = {
    ...{ all: FIRST_TOKEN, both: await tokenWith(...BOTH), one: await tokenWith('audit:read') },
    limited: await tokenFor([EMPLOYER], ...BOTH, 'pii:read'),
    other: await tokenFor(['globex'], ...BOTH),
  };
  t.match(await exported(tokens.one), { status: 403, text: /runs:read/ });
  t.match(await exported(tokens.both, '?personal_data=true'), { status: 403, text: /pii:read/ });
  t.match(await exported(tokens.other), { status: 404 });
  t.match(await exported(tokens.all, '', 'unknown'), {
    status: 404,
    text: /Nothing is known of this employer/,
  });
  t.strictSame(await records(), []);
  for (const [token, personal_data] of [
    ['all', true],
    ['both', false],
    ['limited', true],
  ] as const) {
    const { status, text, headers } = await exported(tokens[token]);
    t.match({ status, headers }, { status: 200, headers: { 'content-type': 'application/x-tar' } });
    const read = (name: string) =>
      execFileSync('tar', ['-xOf', '-', name], { input: Buffer.from(text), encoding: 'utf8' });
    t.match(JSON.parse(read('manifest.json')), { employer_id: EMPLOYER, personal_data });
    t.match(read('payroll_runs/00001.ndjson'), '"run_id":"r"');
    t.match(read('audit_records/00001.ndjson'), '"action":"employer.export"');
    const [record] = (await records()).slice(-1);
    t.match(record, {
      employer_id: EMPLOYER,
      resource_id: EMPLOYER,
      details: `{"personal_data":${personal_data}}`,
    });
  }
});

onEitherEngine('a client that goes away frees the snapshot and the slot of an export', async (t) => {
  const { app, db } = await startPayroll(t);
  // Larger than the buffers between the database and a client that does not read.
  const details = JSON.stringify({ text: 'x'.repeat(200_000) });
  const rows = Array.from({ length: 100 }, (_, index) => ({
    ...{ record_id: 1_000 + index, recorded_at: '2026-07-01T00:00:00.000Z', actor_kind: 'cli' as const },
    ...{
      actor_name: 'a',
      action: 'run.read',
      resource_type: 'run',
      employer_id: EMPLOYER,
      details,
      hash: '',
    },
  }));
  await transact(db, (trx) => insertRows(trx, 'audit_records', rows));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const begin = async (): Promise<[ClientRequest, IncomingMessage]> => {
    const headers = { authorization: `Bearer ${FIRST_TOKEN}` };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path: URL, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.on('error', () => {});
    return [sent, response];
  };
  // Twice as many as there are slots: each later one gets the slot of an earlier one.
  for (let round = 0; round < 4; round += 1) {
    const [sent, response] = await begin();
    t.equal(response.statusCode, 200);
    sent.destroy();
  }
  const [, whole] = await begin();
  let bytes = 0;
  for await (const part of whole) bytes += part.length;
  t.ok(bytes > rows.length * details.length);
  if (engineOf(t) !== 'postgres') return;
  const open = sql`select 1 from pg_stat_activity where datname = current_database() and state like 'idle in tr%'`;
  await eventually('no snapshot is open', async () => (await open.execute(db)).rows.length, 0);
});
