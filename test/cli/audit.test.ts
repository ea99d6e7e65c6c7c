import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DataKey, readDataKeys } from '../../src/config.ts';
import { transact } from '../../src/database/transaction.ts';
import { record } from '../../src/security/audit.ts';
import { headText, readHead } from '../../src/security/audit-chain.ts';
import { signHead } from '../../src/security/signed-heads.ts';
import { ACTING } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { altering } from './alter.ts';
import { here, jsonOf, withFixtures } from './harness.ts';

onEitherEngine('records are listed, and verified against a kept head', async (t) => {
  const { env, db } = await withFixtures(t);
  const made = { action: 'event.dismiss', resource: 'evt-1', employer: 'acme', reason: 'a test' } as const;
  for (let count = 0; count < 2; count += 1) await transact(db, (trx) => record(trx, ACTING, made));
  const list = await here(t, env, ['audit', 'list', '--resource', 'evt-1', '--limit', '1', '--json']);
  t.match(jsonOf(list), { data: [{ action: 'event.dismiss', resource_id: 'evt-1' }], has_more: true });
  t.match((await here(t, env, ['audit', 'list', '--resource', 'other'])).stderr, /No matching records/);

  const head = headText(await readHead(db));
  const verify = (...argv: string[]) => here(t, env, ['audit', 'verify', ...argv]);
  t.match(await verify(), { code: 0, stdout: new RegExp(`${head}[^]*The chain is intact`) });
  t.match(jsonOf(await verify('--head', head, '--json')), { head, result: 'continues', difference_count: 0 });
  const missing = await verify('--head', `99:${'a'.repeat(64)}`);
  t.match(missing, { code: 1, stdout: /restored from an older state\n.*no restore is recorded/ });
  t.match(await verify('--head', 'a'), { code: 2, stderr: /--head must be the ID of a record/ });
  const by = await altering(t, env.DATABASE_URL as string);
  await by.run("update audit_records set resource_id = 'evt-2' where record_id = 1");
  const altered = await verify('--head', head);
  t.match(altered, { code: 1, stdout: /audit_records 1: hash: is not .*\n.*Altered: 1 difference/ });
  await by.run('delete from audit_records where record_id = 2');
  t.match(
    await verify('--head', head),
    { code: 1, stdout: /result +altered/ },
    'the record of the head is gone',
  );
  await by.run('delete from audit_head');
  t.match(await verify('--head', head), { code: 1, stdout: /head +missing[\s\S]*the head was removed/ });
});

onEitherEngine('signed heads are verified with DATA_KEYS or with a public key', async (t) => {
  const { env, db } = await withFixtures(t);
  const path = join(t.testdirName, 'heads.ndjson');
  mkdirSync(t.testdirName, { recursive: true });
  const [key] = readDataKeys(env);
  await transact(db, (trx) => record(trx, ACTING, { action: 'event.dismiss', resource: 'evt-1' }));
  writeFileSync(path, `${JSON.stringify(signHead(await readHead(db), new Date(), key as DataKey))}\n`);
  const verify = (...argv: string[]) => here(t, env, ['audit', 'verify', '--heads', path, ...argv]);
  t.match(await verify(), { code: 0, stdout: /signed heads +1\n[\s\S]*signed result +continues/ });
  const [{ public_key }] = jsonOf(await here(t, env, ['audit', 'keys', '--json']));
  t.match(await verify('--public-key', public_key), { code: 0 });
  const other = Buffer.alloc(32, 1).toString('base64');
  t.match(await verify('--public-key', other), {
    code: 1,
    stdout: /the signature is not valid by a known key/,
  });
  t.match(await verify('--public-key', 'x'), { code: 2 });
  appendFileSync(path, '{"audit_');
  t.match(await verify(), { code: 1, stdout: /damaged lines +1\n[\s\S]*line 2: is damaged/ });
  const missing = await here(t, env, ['audit', 'verify', '--heads', `${path}.none`]);
  t.match(missing, { code: 1, stderr: /cannot be read \(ENOENT\)/ });
  writeFileSync(path, '');
  t.match(await verify(), { code: 1, stdout: /no head with a valid signature/ });
});
