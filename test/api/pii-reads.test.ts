import { transact } from '../../src/database/transaction.ts';
import { census } from '../contract/samples.ts';
import { report } from '../employment/stage.ts';
import { encryptor, START } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';
import { start } from './start.ts';

onEitherEngine('each read of a census is recorded; a read of an unknown census is not', async (t) => {
  const { db, call, tokenWith } = await start(t, { encryptor, now: () => START });
  const url = '/v1/employers/acme%2F1/census';
  const token = await tokenWith('pii:read');
  const reads = () => db.selectFrom('pii_reads').selectAll().orderBy('read_id').execute();
  t.equal((await call({ url, token })).status, 404);
  t.strictSame(await reads(), []);
  const put = await call({ method: 'PUT', url, body: census });
  t.equal((await call({ url, token })).status, 200);
  t.match(await reads(), [
    {
      read_at: START.toISOString(),
      token_id: /^tok_/,
      token_name: 'token 1',
      resource_type: 'census',
      resource_id: put.json.id,
      subject_type: 'employer',
      subject_id: 'acme/1',
    },
  ]);
  t.equal((await call({ url, token: await tokenWith('census:read') })).status, 403);
  t.equal((await reads()).length, 1);
});

onEitherEngine('the audit log is append-only', async (t) => {
  const { db, call } = await start(t, { encryptor, now: () => START });
  const id = await report(db, 'demographic', 'e');
  await call({ url: `/v1/employee-changes/${id}?body=true` });
  const change = () => transact(db, (trx) => trx.updateTable('pii_reads').set({ subject_id: 'x' }).execute());
  const remove = () => transact(db, (trx) => trx.deleteFrom('pii_reads').execute());
  await t.rejects(change(), /pii_reads are append-only/);
  await t.rejects(remove(), /pii_reads are append-only/);
  t.match(await db.selectFrom('pii_reads').select('subject_id').execute(), [{ subject_id: 'e' }]);
});
